"""The commands that ``confgcn convert --help`` suggests do what it says."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from confgcn import load_graph
from confgcn.cli.convert import convert
from confgcn.cli.main import app
from confgcn.data.formats.registry import write_graph
from confgcn.data.raw import raw_from_graph
from confgcn.data.synthetic import block_model

SUGGESTED = [shlex.split(words) for words in re.findall(r"confgcn (convert [^,\n]+)", convert.__doc__ or "")]

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a graph as tables and one as arrays."""
    graph = block_model(100, seed=1)
    write_graph(raw_from_graph(graph), tmp_path / "mygraph")
    (tmp_path / "arrays").mkdir()
    np.save(tmp_path / "arrays" / "edges.npy", np.array([[0, 1], [1, 2]]))
    np.save(tmp_path / "arrays" / "labels.npy", np.array([0, 1, 0]))
    np.save(tmp_path / "arrays" / "features.npy", np.eye(3, dtype=np.float32))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("words", SUGGESTED, ids=" ".join)
def test_a_suggested_command_writes_the_same_graph(place: Path, words: list[str]) -> None:
    given, out = words[1], words[words.index("--out") + 1]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert load_graph(Path(out)).fingerprint == load_graph(Path(given) if Path(given).exists() else given).fingerprint


def test_training_reads_the_folder_that_the_help_suggests(place: Path) -> None:
    suggested = re.search(r"and then: confgcn (train \S+)", convert.__doc__ or "")
    assert suggested is not None
    write_graph(raw_from_graph(block_model(120, seed=3)), Path(shlex.split(suggested[1])[1]))
    done = CliRunner().invoke(app, [*shlex.split(suggested[1]), "--set", "epochs=2", "--out", "run"])
    assert done.exit_code == 0, done.output
    assert load_graph("run/graph.npz").num_nodes == 120


def test_a_folder_with_the_name_of_a_data_set_is_pointed_out(place: Path) -> None:
    (place / "demo").mkdir()
    done = CliRunner().invoke(app, ["inspect", "demo"])
    assert done.exit_code == 0
    assert "demo is the data set of that name; for the file or folder here, give ./demo" in done.stderr


def test_converting_there_and_back_keeps_every_byte(command: Command, tables: Path, tmp_path: Path) -> None:
    source = ("--edges", tables / "edges.csv", "--nodes", tables / "nodes.csv", "--label", "team")
    assert command("convert", *source, "--out", "a").returncode == 0
    for start, end in (("a", "b.npz"), ("b.npz", "c.graphml"), ("c.graphml", "d")):
        result = command("convert", start, "--out", end)
        assert result.returncode == 0, result.stderr
    for file in ("nodes.csv", "edges.csv"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "d" / file).read_bytes()


def test_a_graph_is_not_written_over_itself(command: Command, tables: Path, tmp_path: Path) -> None:
    shutil.copytree(tables, tmp_path / "g", ignore=shutil.ignore_patterns("run", "new_*"))
    before = (tmp_path / "g" / "nodes.csv").read_bytes()
    for words in (("g",), ("--edges", "g/edges.csv", "--nodes", "g/nodes.csv")):
        result = command("convert", *words, "--label", "team", "--out", "g", "--overwrite")
        assert result.returncode == 2
        assert "not written over itself" in result.stderr
    assert (tmp_path / "g" / "nodes.csv").read_bytes() == before
