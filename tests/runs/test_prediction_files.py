"""Predictions as tables: of the run's own nodes, of new ones, as CSV and Parquet."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from confgcn.data.formats.parquet import read_parquet
from confgcn.data.formats.registry import write_graph
from confgcn.data.raw import raw_from_graph
from confgcn.exceptions import UsageError
from confgcn.graph import Graph
from confgcn.runs.graph_input import GraphFiles
from confgcn.runs.prediction_files import write_new_predictions
from confgcn.runs.request import RunRequest
from confgcn.runs.train import train


@pytest.fixture
def run(small_graph: Graph, tmp_path: Path) -> Path:
    train(RunRequest(small_graph, overrides={"epochs": 5}, out=tmp_path / "run"), notify=lambda _: None)
    return tmp_path / "run"


def test_the_table_of_the_runs_own_nodes_is_the_same_in_both_formats(run: Path, tmp_path: Path) -> None:
    summary = write_new_predictions(run, tmp_path / "again.csv")
    assert (summary.rows, summary.new, summary.accuracy) == (120, 0, None)
    assert (tmp_path / "again.csv").read_bytes() == (run / "predictions.csv").read_bytes()
    write_new_predictions(run, tmp_path / "again.parquet")
    table = read_parquet(tmp_path / "again.parquet")
    with (tmp_path / "again.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert list(table.columns) == list(rows[0])
    assert list(table.texts("node")) == [row["node"] for row in rows]
    assert [float(value) for value in table.columns["probability"]] == [float(row["probability"]) for row in rows]
    blank = [row["label_error_score"] == "" for row in rows]
    assert [text == "" for text in table.texts("label_error_score")] == blank
    assert any(blank)


def test_a_graph_with_all_nodes_known_adds_nothing(run: Path, small_graph: Graph, tmp_path: Path) -> None:
    write_graph(raw_from_graph(small_graph), tmp_path / "g.npz")
    summary = write_new_predictions(run, tmp_path / "out.csv", GraphFiles(tmp_path / "g.npz"))
    assert (summary.rows, summary.new) == (120, 0)


def test_nothing_is_overwritten_unasked_and_other_formats_are_refused(run: Path, tmp_path: Path) -> None:
    (tmp_path / "there.csv").write_text("mine")
    with pytest.raises(UsageError, match="exists already"):
        write_new_predictions(run, tmp_path / "there.csv")
    assert (tmp_path / "there.csv").read_text() == "mine"
    write_new_predictions(run, tmp_path / "there.csv", overwrite=True)
    assert (tmp_path / "there.csv").read_text() != "mine"
    before = (run / "predictions.csv").read_bytes()
    with pytest.raises(UsageError, match=r"only new_nodes\.csv is kept"):
        write_new_predictions(run, run / "predictions.csv", overwrite=True)
    assert (run / "predictions.csv").read_bytes() == before
    with pytest.raises(UsageError, match=r"\.csv or \.parquet"):
        write_new_predictions(run, tmp_path / "table.xlsx")
