"""Nodes gained and lost by influences, and the neighbourhood of a node, with hand-written predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from confgcn.graph import Graph
from confgcn.models.base import Prediction
from reproduction.node_comparison import VISIBLE, Counts, ModelComparison

CLASSES = ["theory", "rules", "networks"]


def nodes(mask: Tensor) -> list[int]:
    return mask.nonzero().flatten().tolist()


def test_only_test_nodes_count_as_correct(comparison: ModelComparison) -> None:
    assert nodes(comparison.correct(comparison.gcn)) == [4, 5]
    assert nodes(comparison.correct(comparison.confgcn)) == [1, 2, 3, 4]


def test_gained_is_wrong_in_gcn_and_right_in_confgcn(comparison: ModelComparison) -> None:
    assert nodes(comparison.gained()) == [1, 2, 3]


def test_gained_by_influence_is_lost_without_it(comparison: ModelComparison) -> None:
    assert nodes(comparison.gained_by_influence()) == [1, 2]


def test_a_near_tie_is_not_visible(comparison: ModelComparison) -> None:
    assert nodes(comparison.visibly_gained_by_influence()) == [1]


@pytest.mark.parametrize(("away", "seen"), [(VISIBLE * 1.01, [1, 2]), (VISIBLE * 0.99, [1])])
def test_an_influence_far_from_the_mean_of_the_neighbourhood_is_visible(
    comparison: ModelComparison, away: float, seen: list[int]
) -> None:
    influence = comparison.confgcn.influence
    assert influence is not None
    influence[comparison.graph.adjacency.rows == 2] = torch.tensor([1.0, 1.0 - away, 1.0 + away])
    assert nodes(comparison.visibly_gained_by_influence()) == seen


def test_counts(comparison: ModelComparison) -> None:
    assert comparison.counts() == Counts("ConfGCN", 3, 3, 2, 1)


def test_any_node_is_every_node(comparison: ModelComparison) -> None:
    assert nodes(comparison.any_node()) == list(range(7))


@pytest.fixture
def graph() -> Graph:
    """Node 1 has neighbours 0, 2 and 3; node 3 has another, 4."""
    return Graph.build(
        [(0, 1), (1, 2), (1, 3), (3, 4)],
        np.eye(5),
        [0, 0, 1, 2, 2],
        node_names=["p", "q", "r", "s", "t"],
        class_names=CLASSES,
    )


def prediction(labels: list[int], **quantities: Any) -> Prediction:
    """Logits of two at the given labels; the second choice is the label before."""
    logits = torch.zeros(5, 3)
    for node, label in enumerate(labels):
        logits[node, label], logits[node, label - 1] = 2.0, 1.0
    return Prediction(logits, **quantities)


@pytest.fixture
def confgcn(graph: Graph) -> Prediction:
    """Influences on node 1: 1 from node 0, 2 from itself, 3 from node 2, 2 from node 3."""
    influence = torch.ones(graph.adjacency.num_entries)
    influence[2:6] = torch.tensor([1.0, 2.0, 3.0, 2.0])
    mu, precision = torch.arange(15.0).reshape(5, 3), torch.arange(15.0).reshape(5, 3) / 10
    return prediction([0, 0, 0, 0, 0], mu=mu, precision=precision, influence=influence)


def described(graph: Graph, gcn: Prediction, confgcn: Prediction, uniform: Prediction) -> dict[str, Any]:
    """Node 1."""
    return ModelComparison("ConfGCN", 0, graph, gcn, confgcn, uniform).describe_node(1)


def test_a_node_is_described_by_the_prediction_of_each_model(graph: Graph, confgcn: Prediction) -> None:
    found = described(graph, prediction([0, 2, 0, 0, 0]), confgcn, prediction([0, 1, 0, 0, 0]))
    assert (found["name"], found["labels"]) == ("q", ["theory", "networks"])
    labels = [found[key]["label"] for key in ("gcn_prediction", "confgcn_prediction", "uniform_prediction")]
    assert labels == ["networks", "theory", "rules"]
    highest = np.exp(2) / (np.exp(2) + np.exp(1) + 1)
    assert found["gcn_prediction"]["probability"] == pytest.approx(highest)


def test_where_gcn_is_right_the_other_label_is_its_second_choice(graph: Graph, confgcn: Prediction) -> None:
    right = prediction([0, 0, 0, 0, 0])
    assert described(graph, right, confgcn, right)["labels"] == ["theory", "networks"]


def test_weights_are_over_the_mean_of_the_neighbourhood(graph: Graph, confgcn: Prediction) -> None:
    gcn = prediction([0, 2, 0, 0, 0])
    neighbours = described(graph, gcn, confgcn, gcn)["neighbours"]
    assert [n["name"] for n in neighbours] == ["p", "q", "r", "s"]
    assert [n["is_node"] for n in neighbours] == [False, True, False, False]
    assert [n["true_label"] for n in neighbours] == ["theory", "theory", "rules", "networks"]
    assert [n["influence"] for n in neighbours] == pytest.approx([0.5, 1.0, 1.5, 1.0])
    sizes = [2, 4, 2, 3]  # of N(u), u included
    weights = [(4 * size) ** -0.5 for size in sizes]
    assert [n["gcn_weight"] for n in neighbours] == pytest.approx([4 * w / sum(weights) for w in weights])


def test_scores_are_those_of_the_two_labels_in_question(graph: Graph, confgcn: Prediction) -> None:
    gcn = prediction([0, 2, 0, 0, 0])  # so the labels are 0 and 2
    neighbours = described(graph, gcn, confgcn, gcn)["neighbours"]
    assert [n["scores"] for n in neighbours] == [[0, 2], [3, 5], [6, 8], [9, 11]]
    assert [n["precision"] for n in neighbours] == [
        pytest.approx(p) for p in ([0, 0.2], [0.3, 0.5], [0.6, 0.8], [0.9, 1.1])
    ]
    assert neighbours[0]["gcn_scores"] == pytest.approx(gcn.raw_probabilities[0, [0, 2]].tolist())


def test_a_method_without_confidences_cannot_be_drawn(graph: Graph) -> None:
    gcn = prediction([0, 2, 0, 0, 0])
    with pytest.raises(TypeError, match="no label scores"):
        described(graph, gcn, gcn, gcn)
