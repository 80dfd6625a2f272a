"""The table of predictions: the same block by block as at once, its cells found by loops."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from confgcn.data.formats.registry import write_graph
from confgcn.data.raw import raw_from_graph
from confgcn.exceptions import UsageError
from confgcn.graph import Graph
from confgcn.io.atomic_files import write_blocks
from confgcn.models.base import Prediction
from confgcn.runs import predictions as module
from confgcn.runs.graph_input import GraphFiles
from confgcn.runs.new_nodes import write_predictions
from confgcn.runs.predictions import COLUMNS, prediction_blocks, prediction_table
from confgcn.runs.request import RunRequest, run_config
from confgcn.runs.run import Run
from confgcn.runs.saved import load_run
from confgcn.runs.settings import make_method
from confgcn.runs.tables import csv_blocks, csv_bytes
from confgcn.runs.train import train


def run_of(graph: Graph, prediction: Prediction) -> Run:
    """A run that predicts this."""
    request = RunRequest(graph)
    settings = request.settings()
    run = Run(run_config(request), settings, make_method(graph, settings), graph=graph, history=[])
    run.prepared, run.prediction = graph, prediction
    return run


@pytest.fixture
def found(small_graph: Graph) -> Run:
    """A value in every column; many influences are equal."""
    nodes, classes = small_graph.num_nodes, small_graph.num_classes
    tables = [torch.randn(nodes, classes) for _ in range(3)]
    influence = torch.randint(0, 3, (small_graph.adjacency.num_entries,)) / 3
    return run_of(small_graph, Prediction(*tables, influence=influence, evidence=torch.rand(nodes)))


def listed(table: module.Columns) -> dict[str, list[Any]]:
    """Blank numbers as None, so that tables can be compared."""
    return {
        name: column if isinstance(column, list) else [None if math.isnan(x) else x for x in column.tolist()]
        for name, column in table.items()
    }


def test_columns_have_names_of_their_own() -> None:
    keys = [column.key for column in COLUMNS]
    assert len(set(keys)) == len(keys)
    assert all(column.title for column in COLUMNS)


@pytest.mark.parametrize("rows", [1, 7, 120, 1000])
def test_the_streamed_file_is_the_table_made_at_once(
    found: Run, rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = csv_bytes(prediction_table(found, torch.arange(120)))
    monkeypatch.setattr(module, "ROWS_AT_ONCE", rows)
    write_blocks(tmp_path / "table.csv", csv_blocks(prediction_blocks(found)))
    assert (tmp_path / "table.csv").read_bytes() == whole


def test_a_run_writes_the_same_file_whatever_the_blocks(
    small_graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 11)
    train(RunRequest(small_graph, overrides={"epochs": 3}, out=tmp_path / "run"), notify=lambda _: None)
    whole = csv_bytes(prediction_table(load_run(tmp_path / "run"), torch.arange(120)))
    assert (tmp_path / "run" / "predictions.csv").read_bytes() == whole


def test_nodes_may_be_asked_for_in_any_order(found: Run) -> None:
    whole, nodes = listed(prediction_table(found, torch.arange(120))), torch.tensor([5, 119, 0, 5])
    some = listed(prediction_table(found, nodes))
    assert some == {name: [column[node] for node in nodes.tolist()] for name, column in whole.items()}
    nobody = listed(prediction_table(found, torch.empty(0, dtype=torch.long)))
    assert nobody == {name: [] for name in whole}


def test_cells_are_those_found_by_loops(found: Run) -> None:
    graph, prediction, assessment = found.prepared, found.prediction, found.assessment
    assert prediction.influence is not None
    assert assessment.sets is not None
    table = listed(prediction_table(found, torch.arange(120)))
    scores = dict(zip(assessment.label_errors.nodes.tolist(), assessment.label_errors.score.tolist(), strict=True))
    splits = {split: set(getattr(graph, split).tolist()) for split in ("train", "validation", "test")}
    for node in range(120):
        inside = [name for name, chosen in zip(graph.class_names, assessment.sets[node], strict=True) if chosen]
        assert table["set"][node] == "|".join(inside)
        accepted = "yes" if assessment.accepted[node] else "no"
        assert table["accepted"][node] == ("" if node in splits["train"] else accepted)
        assert table["label_error_score"][node] == (pytest.approx(scores[node]) if node in scores else None)
        assert table["split"][node] == next((split for split, members in splits.items() if node in members), "")
        row = range(int(graph.adjacency.indptr[node]), int(graph.adjacency.indptr[node + 1]))
        of_edges = [(-float(prediction.influence[place]), int(graph.adjacency.indices[place])) for place in row]
        most = min((pair for pair in of_edges if pair[1] != node), default=None)
        assert table["most_influential_neighbour"][node] == ("" if most is None else graph.node_names[most[1]])


def test_a_node_without_edges_has_no_most_influential_neighbour() -> None:
    graph = Graph.build([], torch.eye(2), [0, 1], train=[0])
    table = prediction_table(run_of(graph, Prediction(torch.eye(2), influence=torch.ones(2))), torch.arange(2))
    columns = [table[name] for name in ("most_influential_neighbour", "set", "accepted")]
    assert columns == [["", ""]] * 3


def test_exported_precision_is_never_negative_and_names_survive(tmp_path: Path) -> None:
    names = ["=cmd()", 'a "quoted", name']
    graph = Graph.build([(0, 1)], torch.eye(2), [0, 1], node_names=["ünï", "<b>"], class_names=names)
    values = torch.tensor([[-1.0, 2.0], [0.5, -3.0]])
    prediction = Prediction(values, mu=values, precision=values)
    (tmp_path / "p.csv").write_bytes(csv_bytes(prediction_table(run_of(graph, prediction), torch.arange(2))))
    with (tmp_path / "p.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["node"] for row in rows] == ["ünï", "<b>"]
    assert [row["label"] for row in rows] == [names[1], names[0]]
    assert [float(row[f"precision_{name}"]) for row in rows for name in names] == [0.0, 2.0, 0.5, 0.0]
    assert [float(row[f"mu_{name}"]) for row in rows for name in names] == [-1.0, 2.0, 0.5, -3.0]


def test_labels_of_a_set_are_told_apart() -> None:
    chosen = torch.tensor([[True, False, True], [False, True, False]])
    assert module._joined_labels(chosen, ("a", "b|d", "c\\")) == ["a|c\\\\", "b\\|d"]


@pytest.fixture
def run(small_graph: Graph, tmp_path: Path) -> Path:
    request = RunRequest(small_graph, preset="consensus", overrides={"epochs": 5}, out=tmp_path / "run")
    train(request, notify=lambda _: None)
    return tmp_path / "run"


def test_the_table_of_the_runs_own_nodes_is_the_same_in_both_formats(run: Path, tmp_path: Path) -> None:
    summary = write_predictions(run, tmp_path / "again.csv")
    assert (summary.rows, summary.new, summary.accuracy) == (120, 0, None)
    assert (tmp_path / "again.csv").read_bytes() == (run / "predictions.csv").read_bytes()
    write_predictions(run, tmp_path / "again.parquet")
    table = pq.read_table(tmp_path / "again.parquet").to_pydict()
    with (tmp_path / "again.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert list(table) == list(rows[0])
    assert table["node"] == [row["node"] for row in rows]
    written = np.array([row["probability"] for row in rows], dtype=np.float32)
    assert np.array_equal(np.array(table["probability"], dtype=np.float32), written)
    blank = [row["label_error_score"] == "" for row in rows]
    assert [value is None for value in table["label_error_score"]] == blank
    assert any(blank)


def test_other_targets_change_sets_and_decisions_and_nothing_else(run: Path, tmp_path: Path) -> None:
    targets = {"coverage": 0.5, "max_error": 0.3, "delta": 0.2}
    summary = write_predictions(run, tmp_path / "other.csv", targets=targets)
    (decision,) = summary.decisions
    assert (decision["max_error"], decision["delta"]) == (0.3, 0.2)
    with (tmp_path / "other.csv").open() as other, (run / "predictions.csv").open() as before:
        pairs = list(zip(csv.DictReader(other), csv.DictReader(before), strict=True))
    changed = {name for one, two in pairs for name in one if one[name] != two[name]}
    assert "set" in changed
    assert changed <= {"set", "accepted"}
    with pytest.raises(UsageError, match=r"coverage = 1\.5"):
        write_predictions(run, tmp_path / "wrong.csv", targets={"coverage": 1.5})


def test_a_graph_with_all_nodes_known_adds_nothing(run: Path, small_graph: Graph, tmp_path: Path) -> None:
    write_graph(raw_from_graph(small_graph), tmp_path / "g.npz")
    summary = write_predictions(run, tmp_path / "out.csv", GraphFiles(tmp_path / "g.npz"))
    assert (summary.rows, summary.new) == (120, 0)


def test_nothing_is_overwritten_unasked_and_other_formats_are_refused(run: Path, tmp_path: Path) -> None:
    (tmp_path / "there.csv").write_text("mine")
    with pytest.raises(UsageError, match="exists already"):
        write_predictions(run, tmp_path / "there.csv")
    assert (tmp_path / "there.csv").read_text() == "mine"
    write_predictions(run, tmp_path / "there.csv", overwrite=True)
    assert (tmp_path / "there.csv").read_text() != "mine"
    before = (run / "predictions.csv").read_bytes()
    with pytest.raises(UsageError, match=r"only new_nodes\.csv can be written"):
        write_predictions(run, run / "predictions.csv", overwrite=True)
    assert (run / "predictions.csv").read_bytes() == before
    with pytest.raises(UsageError, match=r"\.csv or \.parquet"):
        write_predictions(run, tmp_path / "table.xlsx")


def test_every_column_is_described_in_the_documentation() -> None:
    page = (Path(__file__).parents[2] / "docs" / "run_directory.md").read_text()
    names = [f"`{column.name}_<label>`" if column.per_class else f"`{column.name}`" for column in COLUMNS]
    assert [name for name in names if name not in page] == []
