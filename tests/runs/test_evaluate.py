"""The flat numbers of a run: against the parts they are made of, and for a method without confidences."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from confgcn.data.load import load_graph
from confgcn.evaluation.edges import edge_aurocs
from confgcn.graph import Graph
from confgcn.models.base import Prediction
from confgcn.runs.evaluate import (
    RETRAINED,
    SCORES,
    EvaluatedNodes,
    class_scores,
    curves,
    evaluate,
    evaluate_run,
    on_test_nodes,
)
from confgcn.runs.request import RunRequest
from confgcn.runs.saved import load_run
from confgcn.runs.train import train


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("runs")
    for method in ("confgcn", "feat"):
        preset = "consensus" if method == "confgcn" else "default"
        request = RunRequest("demo", method, preset, overrides={"epochs": 6}, out=folder / method)
        train(request, notify=lambda _: None)
    return {"confgcn": folder / "confgcn", "feat": folder / "feat"}


def test_every_score_is_there_and_is_that_of_the_predictions(runs: dict[str, Path]) -> None:
    graph, run = load_graph("demo"), load_run(runs["confgcn"])
    found = evaluate(run, on_test_nodes(run))
    assert set(SCORES) <= found.keys()
    assert found[RETRAINED] is None
    prediction = run.prediction
    right = (prediction.logits.argmax(1) == graph.labels)[graph.test].double().mean()
    assert found["accuracy"] == pytest.approx(float(right))
    assert found["calibrated_accuracy"] == pytest.approx(found["accuracy"])
    prepared = run.prepared
    assert prediction.influence is not None
    assert prediction.distance is not None
    assert found["auroc_edge"] == edge_aurocs(prepared, prediction.influence, prediction.distance).auroc_edge
    control = run.method.with_uniform_influence()
    assert control is not None
    logits = control.predict(prepared.training_view()).logits
    expected = float((logits.argmax(1) == graph.labels)[graph.test].double().mean())
    assert found["uniform_accuracy"] == pytest.approx(expected)


def test_calibration_lowers_the_log_loss_of_validation_nodes(runs: dict[str, Path]) -> None:
    graph, run = load_graph("demo"), load_run(runs["confgcn"])
    nodes, labels = graph.validation, graph.labels[graph.validation]
    scaled = run.probabilities[nodes].log()
    raw = run.prediction.logits.double().log_softmax(1)[nodes]
    losses = [torch.nn.functional.nll_loss(values, labels) for values in (scaled, raw)]
    assert losses[0] < losses[1]


def test_a_method_without_confidences_has_none(runs: dict[str, Path]) -> None:
    run = load_run(runs["feat"])
    found = evaluate(run, on_test_nodes(run))
    assert [found[name] for name in ("auroc_precision", "mu_accuracy", "auroc_edge", "uniform_accuracy")] == [None] * 4
    assert found["auroc_correct"] is not None


def test_balanced_accuracy_and_roc_auc_are_those_of_the_evaluated_nodes() -> None:
    graph = Graph.build([], np.eye(6), [0, 0, 0, 0, 1, -1], class_names=["a", "b"])
    logits = torch.tensor([[2.0, 0], [2, 0], [2, 0], [0, 1], [0, 2], [0, 9]])
    on = EvaluatedNodes(graph, Prediction(logits), logits.softmax(1), torch.arange(6), "test nodes")
    expected = {"balanced_accuracy": 0.875, "roc_auc": 1.0}
    calibrated = {f"calibrated_{name}": value for name, value in expected.items()}
    assert class_scores(on) == {**expected, **calibrated, "imbalanced": True}


def test_curves_are_of_the_test_nodes(runs: dict[str, Path]) -> None:
    graph = load_graph("demo")
    found = curves(on_test_nodes(load_run(runs["confgcn"])))
    for kind in ("raw", "calibrated"):
        assert sum(part["count"] for part in found[kind]["reliability"]) == len(graph.test)
        assert found[kind]["risk_coverage"]["coverage"][-1] == pytest.approx(1.0)
    assert {"degree_q1", "no_label_in_component"} <= {part["name"] for part in found["groups"]}


def test_numbers_and_pictures_are_written_beside_the_run(runs: dict[str, Path]) -> None:
    found, files, notices = evaluate_run(runs["confgcn"])
    (underfitted,) = notices  # six epochs
    assert underfitted.startswith("no better than the features alone")
    assert [file.name for file in files] == ["evaluation.json", "reliability.svg", "risk_coverage.svg", "groups.svg"]
    assert json.loads(files[0].read_text()) == found
    assert all(b"<svg" in file.read_bytes() for file in files[1:])
