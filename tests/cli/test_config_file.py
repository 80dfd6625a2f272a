"""``--config``: options from a file."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

Command = Callable[..., "subprocess.CompletedProcess[str]"]


def test_options_may_come_from_a_file_and_the_command_line_takes_precedence(
    command: Command, tables: Path, tmp_path: Path
) -> None:
    (tmp_path / "run.toml").write_text(
        f'edges = "{tables}/edges.csv"\nnodes = "{tables}/nodes.csv"\nlabel = "team"\nignore = "region"\n'
        'seed = 7\nout = "here"\nadd-features = ["degree"]\n[settings]\nepochs = 2\nhidden_dim = 5\n'
    )
    result = command("train", "--config", "run.toml", "--seed", "8")
    assert result.returncode == 0, result.stderr
    config = json.loads((tmp_path / "here" / "config.json").read_text())
    assert (config["seed"], config["recipe"]["epochs"], config["model"]["hidden_dim"]) == (8, 2, 5)
    assert config["input"]["ignore"] == ["region"]
    assert config["input"]["structural"] == ["degree"]
    for text, message in (
        ("sed = 7", "did you mean 'seed'"),
        ("epochs = true", "bad.toml: epochs = True"),
        ("epochs = [1]", "bad.toml: epochs is a list"),
        ("resume = 1", "expected true or false"),
    ):
        (tmp_path / "bad.toml").write_text(text)
        wrong = command("train", "demo", "--config", "bad.toml")
        assert wrong.returncode == 2
        assert message in wrong.stderr
    assert not (tmp_path / "runs").exists()
