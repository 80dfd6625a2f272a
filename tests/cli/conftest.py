"""A user's graph as two tables, and a run that was trained on it."""

from __future__ import annotations

import csv
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from confgcn.data.synthetic import block_model

Command = Callable[..., "subprocess.CompletedProcess[str]"]
WriteTable = Callable[[Path, list[str], list[list[str]]], None]

HOSTILE = ("<b>bold</b>", '=cmd("x")', 'naïve, “quoted” "twice"', "line\nbreak", "שלום 👩‍🔬", "{{7*7}}", "'; --")
NEW = 10


@pytest.fixture(scope="session")
def hostile_names() -> tuple[str, ...]:
    """Names of nodes that are hard to print."""
    return HOSTILE


@pytest.fixture(scope="session")
def write_table() -> WriteTable:
    """Write a CSV file."""

    def write(path: Path, header: list[str], rows: list[list[str]]) -> None:
        with path.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream)
            writer.writerow(header)
            writer.writerows(rows)

    return write


@pytest.fixture(scope="session")
def read_table() -> Callable[[Path], list[dict[str, str]]]:
    """Read a CSV file."""

    def read(path: Path) -> list[dict[str, str]]:
        with path.open(newline="", encoding="utf-8") as stream:
            return list(csv.DictReader(stream))

    return read


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory, write_table: WriteTable) -> Path:
    """A graph of 150 people; a third are labelled; the last ten come later. Some names are hard to print."""
    folder = tmp_path_factory.mktemp("people")
    graph = block_model(150, seed=2, num_features=6)
    names = [f"person {node}" for node in range(150)]
    names[: len(HOSTILE)] = HOSTILE
    teams = ["red", "<green>", "blue", "white"]
    labelled = np.random.default_rng(0).random(150) < 0.4
    rows = []
    for node, name in enumerate(names):
        label = teams[int(graph.labels[node])] if labelled[node] or node >= 150 - NEW else ""
        values = [f"{value:.9g}" for value in graph.features[node].tolist()]
        rows.append([name, label, *values, ("north", "south")[node % 2]])
    header = ["id", "team", *(f"x{column}" for column in range(6)), "region"]
    ends = list(zip(graph.neighbours.rows.tolist(), graph.neighbours.indices.tolist(), strict=True))
    edges = [(names[a], names[b]) for a, b in ends if a < b]
    is_new = set(names[-NEW:])
    write_table(folder / "nodes.csv", header, rows[:-NEW])
    write_table(folder / "edges.csv", ["from", "to"], [pair for pair in edges if not is_new & set(pair)])
    write_table(folder / "new_nodes.csv", header, rows[-NEW:])
    write_table(folder / "new_edges.csv", ["from", "to"], [pair for pair in edges if is_new & set(pair)])
    return folder


@pytest.fixture(scope="session")
def trained(tables: Path, command_in: Command) -> Path:
    """A run of the command that a newcomer starts with."""
    words = ("--edges", "edges.csv", "--nodes", "nodes.csv", "--label", "team", "--epochs", "20", "--out", "run")
    result = command_in(tables, "train", *words)
    assert result.returncode == 0, result.stderr
    assert "held out in turn" in result.stdout
    return tables / "run"
