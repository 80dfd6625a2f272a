"""``confgcn predict``: new nodes, changed ones, and tables that do not fit the run."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

Command = Callable[..., "subprocess.CompletedProcess[str]"]


WriteTable = Callable[[Path, list[str], list[Any]], None]
ReadTable = Callable[[Path], list[dict[str, str]]]


def test_new_nodes_are_predicted_and_known_ones_keep_their_predictions(
    command: Command, trained: Path, tables: Path, tmp_path: Path, read_table: ReadTable
) -> None:
    new = ("--edges", tables / "new_edges.csv", "--nodes", tables / "new_nodes.csv")
    result = command("predict", trained, *new, "--out", tmp_path / "new.csv", "--json")
    assert result.returncode == 0, result.stderr
    summary = json.loads(result.stdout)
    assert summary["new"] == 10
    assert summary["accuracy"] >= 0.5
    before = {row["node"]: row for row in read_table(trained / "predictions.csv")}
    rows = read_table(tmp_path / "new.csv")
    assert {row["node"] for row in rows if row["is_new"] == "yes"} == {f"person {node}" for node in range(140, 150)}
    for row in rows:
        if row["is_new"] == "no":
            assert row["probability"] == before[row["node"]]["probability"]
    again = command("predict", trained, *new, "--out", tmp_path / "new.csv")
    assert again.returncode == 2
    assert "exists already" in again.stderr


def test_predicting_nothing_new_gives_the_same_bytes_in_another_process(
    command: Command, trained: Path, tmp_path: Path
) -> None:
    assert command("predict", trained, "--out", tmp_path / "again.csv").returncode == 0
    assert (tmp_path / "again.csv").read_bytes() == (trained / "predictions.csv").read_bytes()


def test_a_wrong_table_of_new_nodes_is_named_and_nothing_is_written(
    command: Command, trained: Path, tables: Path, tmp_path: Path, write_table: WriteTable, read_table: ReadTable
) -> None:
    rows = [[row["id"], row["x0"]] for row in read_table(tables / "new_nodes.csv")]
    write_table(tmp_path / "few.csv", ["id", "x0"], rows)
    result = command("predict", trained, "--edges", tables / "new_edges.csv", "--nodes", "few.csv", "--out", "o.csv")
    assert result.returncode == 3
    assert "few.csv" in result.stderr
    assert "x1" in result.stderr
    assert not (tmp_path / "o.csv").exists()
    misspelt = command("predict", trained, "--edges", tables / "new_edges.csv", "--nodes", "few.csv", "--label", "taem")
    assert misspelt.returncode == 2
    assert "taem" in misspelt.stderr


def test_changed_features_of_a_known_node_are_refused_unless_asked_for(
    command: Command, trained: Path, tables: Path, tmp_path: Path, write_table: WriteTable, read_table: ReadTable
) -> None:
    rows = read_table(tables / "nodes.csv")
    person = next(row for row in rows if row["id"] == "person 20")
    write_table(tmp_path / "n.csv", list(person), [[*{**person, "x0": "9"}.values()]])
    (tmp_path / "e.csv").write_text("from,to\n")
    new = ("--edges", "e.csv", "--nodes", "n.csv", "--out", "o.csv")
    refused = command("predict", trained, *new)
    assert refused.returncode == 3
    assert "'person 20'" in refused.stderr
    assert not (tmp_path / "o.csv").exists()
    assert command("predict", trained, *new, "--update-existing").returncode == 0
    after = {row["node"]: row["probability"] for row in read_table(tmp_path / "o.csv")}
    before = {row["node"]: row["probability"] for row in read_table(trained / "predictions.csv")}
    assert after["person 20"] != before["person 20"]


def test_gaps_of_new_nodes_are_filled_with_the_means_of_the_training(
    command: Command, tmp_path: Path, write_table: WriteTable
) -> None:
    people = [[f"p{i}", "ab"[i % 2], str(i % 2 * 10), ""] for i in range(30)]
    for row in people[:29]:
        row[3] = "4"
    write_table(tmp_path / "nodes.csv", ["id", "label", "x", "z"], people)
    write_table(tmp_path / "edges.csv", ["source", "target"], [(f"p{i}", f"p{(i + 2) % 30}") for i in range(30)])
    assert command("train", ".", "--impute", "--epochs", "3", "--out", "run").returncode == 0
    write_table(tmp_path / "new.csv", ["id", "x", "z"], [["q", "0", ""]])
    write_table(tmp_path / "more.csv", ["source", "target"], [("q", "p0")])
    result = command("predict", "run", "--edges", "more.csv", "--nodes", "new.csv", "--json")
    assert result.returncode == 0, result.stderr
    assert "filled with the mean, 4" in result.stderr
