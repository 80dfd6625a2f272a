"""Options about a graph: errors name the option and the file that it may have been read from."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from confgcn.cli.main import app
from confgcn.exceptions import UsageError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "edges.csv").write_text("source,target\na,b\n")
    (tmp_path / "nodes.csv").write_text("id,label,x\na,p,1\nb,q,2\n")
    return tmp_path


def refusal(*words: object) -> str:
    ended = CliRunner().invoke(app, ["inspect", *map(str, words)])
    assert isinstance(ended.exception, UsageError), ended.output
    return str(ended.exception)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ('label = "team"', "unknown column of nodes.csv 'team'"),
        ("validation = 2.0", "validation share = 2.0"),
        ('add-features = "depth"', "depth"),
    ],
)
def test_an_error_of_an_option_names_the_file_of_options(folder: Path, options: str, problem: str) -> None:
    config = folder / "options.toml"
    config.write_text(options)
    message = refusal(folder, "--config", config)
    assert problem in message
    assert message.count(str(config)) == 1
    assert str(config) not in refusal(folder, "--label", "team")


def test_without_a_graph_the_file_is_named_too(folder: Path) -> None:
    config = folder / "options.toml"
    config.write_text('label = "team"')
    assert refusal("--config", config).endswith(f"(options are read from {config} too)")
