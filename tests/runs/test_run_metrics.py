"""The numbers of metrics.json: those by class, and the notices, with and without held-out labels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from confgcn.data.synthetic import block_model
from confgcn.evaluation.metrics import balanced_accuracy, roc_auc
from confgcn.graph import Graph
from confgcn.runs.request import RunRequest, run_config
from confgcn.runs.run import Run
from confgcn.runs.train import fit_in_memory

NONE = dict.fromkeys(("balanced_accuracy", "roc_auc"))


def trained(graph: Graph, *, method: str = "gcn", **settings: Any) -> Run:
    request = RunRequest(graph, method, overrides={"epochs": 3, **settings})
    return fit_in_memory(graph, request.settings(), run_config(request), notify=lambda _: None)


def by_class(run: Run, split: str) -> dict[str, float | None]:
    return {name: run.metrics[f"{split}_{name}"] for name in NONE}


@pytest.fixture(scope="module")
def two_classes() -> Graph:
    random = np.random.default_rng(0)
    labels = np.arange(120) % 2
    edges = random.integers(0, 120, (300, 2))
    features = random.normal(size=(120, 4)) + labels[:, None]
    return Graph.build(edges, features, labels, train=range(40), validation=range(40, 80), test=range(80, 120))


def test_two_classes_have_balanced_accuracy_and_roc_auc_of_the_calibrated_probabilities(two_classes: Graph) -> None:
    run = trained(two_classes)
    for split in ("test", "validation"):
        nodes = getattr(two_classes, split)
        probabilities, labels = run.probabilities[nodes], two_classes.labels[nodes]
        expected = balanced_accuracy(probabilities, labels), roc_auc(probabilities, labels)
        assert tuple(by_class(run, split).values()) == expected
        assert None not in expected
    assert by_class(run, "held_out") == NONE
    assert run.metrics["imbalanced"] is False


def test_labels_held_out_in_turn_are_evaluated(two_classes: Graph) -> None:
    none = two_classes.validation[:0]
    run = trained(replace(two_classes, validation=none, test=none))
    assert run.held_out is not None
    found = by_class(run, "held_out")
    assert found["balanced_accuracy"] == pytest.approx(run.metrics["held_out_accuracy"], abs=0.02)
    assert 0.0 <= found["roc_auc"] <= 1.0
    assert by_class(run, "test") == by_class(run, "validation") == NONE


def test_more_classes_have_no_roc_auc_and_can_be_imbalanced(small_graph: Graph) -> None:
    run = trained(small_graph)
    assert by_class(run, "test")["roc_auc"] is None
    assert by_class(run, "test")["balanced_accuracy"] is not None
    held_out = torch.cat([small_graph.validation, small_graph.test])
    uneven = replace(small_graph, labels=small_graph.labels.index_fill(0, held_out[2:], 0))
    assert trained(uneven).metrics["imbalanced"] is True


def test_a_prediction_of_one_class_is_in_the_notices() -> None:
    labels = np.array([0] * 90 + [1] * 30)
    order = np.random.default_rng(1).permutation(120)
    features = np.ones((120, 2))  # without information
    graph = Graph.build([], features, labels, train=order[:60], validation=order[60:90], test=order[90:])
    records = {record["code"]: record for record in trained(graph).metrics["notices"]}
    assert records["one_class"] == {"code": "one_class", "label": "0", "nodes": 60}
    reached = records["no_better_than_majority"]
    assert reached["accuracy"] == reached["majority_accuracy"]


def test_features_alone_are_compared_with() -> None:
    labels = np.arange(200) % 2
    random = np.random.default_rng(0)
    edges = np.stack([np.arange(0, 200, 2), random.permutation(np.arange(1, 200, 2))], 1)  # between classes only
    features = np.stack([1.0 - labels, 1.0 * labels], 1) + 0.01
    order = random.permutation(200)
    graph = Graph.build(edges, features, labels, train=order[:60], validation=order[60:130], test=order[130:])
    codes = [record["code"] for record in trained(graph).metrics["notices"]]
    assert "no_better_than_features" in codes


def test_without_held_out_labels_nothing_is_compared() -> None:
    graph = block_model(60, num_classes=2)
    run = trained(replace(graph, validation=graph.validation[:0]), select="last", stop="never")
    assert {record["code"] for record in run.metrics["notices"]} <= {"one_class"}


def test_the_summary_of_a_run_has_the_roc_auc_and_its_notices(two_classes: Graph) -> None:
    run = trained(two_classes)
    assert f"validation_roc_auc={round(run.metrics['validation_roc_auc'], 4)}" in repr(run)
    assert "balanced_accuracy" not in repr(run)
    run.metrics["notices"] = [{"code": "one_class", "label": "<b>", "nodes": 80}]
    assert "<li>all 80 nodes that were not trained on are predicted as class &lt;b&gt;</li>" in run._repr_html_()
