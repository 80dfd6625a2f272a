"""The table of predictions: the same block by block as at once, its cells found by loops."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from confgcn.confidence.assessment import Assessment, assess
from confgcn.graph import Graph
from confgcn.io.atomic_files import write_blocks
from confgcn.models.base import Prediction
from confgcn.runs import prediction_table as module
from confgcn.runs.csv_table import csv_blocks, table_bytes
from confgcn.runs.prediction_table import prediction_blocks, prediction_table
from confgcn.runs.request import RunRequest
from confgcn.runs.saved import graph_of, load_run
from confgcn.runs.train import train

Found = tuple[Graph, Prediction, Assessment]


@pytest.fixture
def found(small_graph: Graph) -> Found:
    """Something to say in every column; many influences are equal."""
    nodes, classes = small_graph.num_nodes, small_graph.num_classes
    tables = [torch.randn(nodes, classes) for _ in range(3)]
    influence = torch.randint(0, 3, (small_graph.adjacency.num_entries,)) / 3
    prediction = Prediction(*tables, influence=influence, evidence=torch.rand(nodes))
    return small_graph, prediction, assess(small_graph, prediction, small_graph.validation)


@pytest.mark.parametrize("rows", [1, 7, 120, 1000])
def test_the_streamed_file_is_the_table_made_at_once(
    found: Found, rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = table_bytes(prediction_table(*found, torch.arange(120)))
    monkeypatch.setattr(module, "ROWS_AT_ONCE", rows)
    write_blocks(tmp_path / "table.csv", csv_blocks(prediction_blocks(*found)))
    assert (tmp_path / "table.csv").read_bytes() == whole


def test_a_run_writes_the_same_file_whatever_the_blocks(
    small_graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 11)
    train(RunRequest(small_graph, overrides={"epochs": 3}, out=tmp_path / "run"), notify=lambda _: None)
    run = load_run(tmp_path / "run")
    assessed = run.assessed(graph_of(tmp_path / "run", run))
    assert (tmp_path / "run" / "predictions.csv").read_bytes() == table_bytes(
        prediction_table(*assessed, torch.arange(120))
    )


def test_nodes_may_be_asked_for_in_any_order(found: Found) -> None:
    whole, nodes = prediction_table(*found, torch.arange(120)), torch.tensor([5, 119, 0, 5])
    some = prediction_table(*found, nodes)
    assert some == {name: [column[node] for node in nodes.tolist()] for name, column in whole.items()}
    nobody = prediction_table(*found, torch.empty(0, dtype=torch.long))
    assert nobody == {name: [] for name in whole}


def test_cells_are_those_found_by_loops(found: Found) -> None:
    graph, prediction, assessment = found
    assert prediction.influence is not None
    assert assessment.sets is not None
    table = prediction_table(*found, torch.arange(120))
    scores = dict(zip(assessment.label_errors.nodes.tolist(), assessment.label_errors.score.tolist(), strict=True))
    parts = {part: set(getattr(graph, part).tolist()) for part in ("train", "validation", "test")}
    for node in range(120):
        inside = [name for name, chosen in zip(graph.class_names, assessment.sets[node], strict=True) if chosen]
        assert table["set"][node] == "|".join(inside)
        accepted = "yes" if assessment.accepted[node] else "no"
        assert table["accepted"][node] == ("" if node in parts["train"] else accepted)
        assert table["label_error_score"][node] == (format(scores[node], ".9g") if node in scores else "")
        assert table["split"][node] == next((part for part, members in parts.items() if node in members), "")
        row = range(int(graph.adjacency.indptr[node]), int(graph.adjacency.indptr[node + 1]))
        heard = [(-float(prediction.influence[place]), int(graph.adjacency.indices[place])) for place in row]
        most = min((pair for pair in heard if pair[1] != node), default=None)
        assert table["top_neighbour"][node] == ("" if most is None else graph.node_names[most[1]])


def test_nobody_is_heard_without_edges() -> None:
    graph = Graph.build([], torch.eye(2), [0, 1], train=[0])
    prediction = Prediction(torch.eye(2), influence=torch.ones(2))
    table = prediction_table(graph, prediction, assess(graph, prediction, graph.validation), torch.arange(2))
    assert (table["top_neighbour"], table["set"], table["accepted"]) == (["", ""], ["", ""], ["", ""])
