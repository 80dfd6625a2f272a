"""``confgcn inspect``."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Command = Callable[..., "subprocess.CompletedProcess[str]"]


def test_inspect_prints_statistics_as_text_and_as_json(command: Command) -> None:
    people = command("inspect", "demo").stdout
    assert "5,278" in people
    assert "label mismatch" in people
    statistics = json.loads(command("inspect", "demo", "--json").stdout)
    assert (statistics["nodes"], statistics["edges"]["unique"], statistics["classes"]) == (2708, 5278, 7)


def test_the_first_line_sums_up_a_graph_in_files(command: Command, tables: Path) -> None:
    result = command("inspect", "--edges", tables / "edges.csv", "--nodes", tables / "nodes.csv", "--label", "team")
    assert result.returncode == 0, result.stderr
    first = result.stdout.splitlines()[0]
    assert "140 nodes" in first
    assert "8 features, 4 classes (<green>, blue, red, white)" in first


@pytest.mark.real_data
def test_inspect_counts_cora_as_the_paper_does(command: Command, data_dir: Path) -> None:
    statistics = json.loads(command("inspect", "cora", "--json", "--data-dir", data_dir).stdout)
    assert (statistics["nodes"], statistics["listed_halved"], statistics["features"]) == (2708, 5429, 1433)
