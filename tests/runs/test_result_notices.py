"""Notices about a result: when each of them appears, and what it holds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from confgcn.confidence.assessment import HeldOutLabels
from confgcn.graph import Graph
from confgcn.runs.result_notices import is_clearly_better, result_notices

HELD_OUT = 40
FIRST, SECOND = (0.9, 0.1), (0.1, 0.9)


def graph_of(labels: list[int], *, unlabelled: int = 0) -> Graph:
    """Two training nodes of the first class and one of the second, then validation nodes with these labels."""
    nodes = 3 + len(labels) + unlabelled
    return Graph.build(
        [(0, 1)],
        np.eye(nodes),
        [0, 0, 1, *labels, *[-1] * unlabelled],
        train=[0, 1, 2],
        validation=range(3, 3 + len(labels)),
        class_names=["a", "b"],
    )


def codes(graph: Graph, predicted: list[tuple[float, float]], by_features: Tensor | None = None) -> list[str]:
    return [record["code"] for record in notices(graph, predicted, by_features)]


def notices(graph: Graph, predicted: list[tuple[float, float]], by_features: Tensor | None = None) -> list[dict]:
    """The training nodes are predicted correctly, the others as given."""
    rows = torch.tensor([FIRST, FIRST, SECOND, *predicted])
    held_out = HeldOutLabels(graph.validation, graph.labels[graph.validation], rows[graph.validation], True)
    return result_notices(graph, rows.log(), held_out, by_features)


def test_a_good_prediction_has_no_notices() -> None:
    labels = [0, 1] * (HELD_OUT // 2)
    assert notices(graph_of(labels), [FIRST, SECOND] * (HELD_OUT // 2)) == []


def test_one_class_for_every_node_that_was_not_trained_on() -> None:
    graph = graph_of([0, 1, 1, 1] * 10, unlabelled=5)
    found, majority = notices(graph, [SECOND] * 45)[0], codes(graph, [SECOND] * 45)[1:]
    assert found == {"code": "one_class", "label": "b", "nodes": 45}
    assert majority == []  # the largest class of the training labels is the other one
    assert codes(graph, [SECOND] * 44 + [FIRST]) == []


def test_an_accuracy_of_the_majority_class_or_below() -> None:
    graph = graph_of([0] * 30 + [1] * 10)
    expected = {"label": "a", "accuracy": 0.75, "majority_accuracy": 0.75, "held_out_labels": 40}
    as_good = [FIRST] * 29 + [SECOND] * 2 + [FIRST] * 9
    assert notices(graph, as_good) == [{"code": "no_better_than_majority", **expected}]
    better = [FIRST] * 30 + [SECOND] + [FIRST] * 9
    assert notices(graph, better) == []


def test_of_equally_large_classes_the_majority_is_the_one_with_most_held_out_labels() -> None:
    graph = graph_of([0] * 10 + [1] * 30)
    balanced = replace(graph, train=graph.train[1:])  # one training node of each class
    (found,) = notices(balanced, [FIRST] * 10 + [FIRST] * 20 + [SECOND] * 10)
    assert found["label"] == "b"
    assert (found["accuracy"], found["majority_accuracy"]) == (0.5, 0.75)


def test_features_alone_that_are_better() -> None:
    labels = [0, 1] * (HELD_OUT // 2)
    graph = graph_of(labels)
    predicted = [FIRST, SECOND, SECOND, SECOND] * 10  # 75 % correct
    by_features = torch.tensor([FIRST, SECOND] * 20)
    (found,) = notices(graph, predicted, by_features)
    assert found.pop("code") == "no_better_than_features"
    assert found == {
        "accuracy": 0.75,
        "features_accuracy": 1.0,
        "log_loss": pytest.approx(-(0.75 * np.log(0.9) + 0.25 * np.log(0.1))),
        "features_log_loss": pytest.approx(-np.log(0.9)),
        "held_out_labels": 40,
    }
    assert codes(graph, [FIRST, SECOND] * 20, torch.tensor(predicted)) == []


def test_few_held_out_labels_and_few_nodes_are_no_evidence() -> None:
    assert notices(graph_of([1] * 19), [FIRST] * 19, torch.tensor([SECOND] * 19)) == []
    assert codes(graph_of([1] * 20), [FIRST] * 20, torch.tensor([SECOND] * 20)) == [
        "one_class",
        "no_better_than_majority",
        "no_better_than_features",
    ]


def test_without_held_out_labels_only_the_predicted_classes_count() -> None:
    graph = graph_of([], unlabelled=30)
    assert codes(graph, [FIRST] * 30) == ["one_class"]


def test_a_difference_within_one_standard_error_is_not_clear() -> None:
    labels = torch.zeros(40, dtype=torch.long)
    right, wrong = torch.tensor([FIRST]), torch.tensor([SECOND])
    other = torch.cat([right.expand(20, 2), wrong.expand(20, 2)])
    one_better = torch.cat([right.expand(21, 2), wrong.expand(19, 2)])
    two_better = torch.cat([right.expand(22, 2), wrong.expand(18, 2)])
    assert not is_clearly_better(one_better, other, labels)  # the mean difference and its standard error are 1 / 40
    assert is_clearly_better(two_better, other, labels)
    assert not is_clearly_better(other, two_better, labels)


def test_of_equal_accuracies_the_log_loss_decides() -> None:
    labels = torch.tensor([0, 1] * 20)
    other = torch.tensor([FIRST, SECOND] * 20)
    surer = torch.tensor([(0.95, 0.05), (0.05, 0.95)] * 20)
    assert is_clearly_better(surer, other, labels)
    assert not is_clearly_better(other, surer, labels)
    assert not is_clearly_better(other, other, labels)


def test_a_clearly_lower_accuracy_is_not_made_up_for_by_the_log_loss() -> None:
    labels = torch.zeros(40, dtype=torch.long)
    cautious = torch.tensor([(0.49, 0.51)] * 10 + [(0.9, 0.1)] * 30)
    wrong_once = torch.tensor([(1e-9, 1.0)] + [(0.9, 0.1)] * 39)
    assert not is_clearly_better(cautious, wrong_once, labels)
