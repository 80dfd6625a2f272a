"""The prior by hand: predictions of nodes without information, and ties."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
import torch
from torch import Tensor

from confgcn.graph import Graph, Shard
from confgcn.models.prior import class_prior, log_probabilities, prior_where_uninformed, reached_by_labels

LABELS = [0, 0, 1, 2, 2, 2]  # of which 0, 0, 1 are for training


@pytest.fixture
def graph() -> Graph:
    return Graph.build([(0, 1)], np.eye(6), LABELS, train=[0, 1, 2])


def prior_of(shares: list[float]) -> Tensor:
    """Of two labels of class 0, one of class 1 and none of class 2."""
    weights = torch.tensor([n * (1 + 0.05 * s) for n, s in zip((3, 2, 1), shares, strict=True)], dtype=torch.double)
    return weights / weights.sum()


def test_the_prior_by_hand(graph: Graph) -> None:
    known = torch.tensor([[0.5, 0.5, 0.0], [0.1, 0.2, 0.7]], dtype=torch.double)
    torch.testing.assert_close(class_prior(graph, known), prior_of([0.3, 0.35, 0.35]))
    torch.testing.assert_close(class_prior(graph, known[:0]), prior_of([0.0, 0.0, 0.0]))


def test_scores_are_divided_by_their_sum_and_mixed_with_a_thousandth_of_the_prior(graph: Graph) -> None:
    scores = torch.tensor([[4.0, 0, 0], [1, 1, 2], [0, 0, 5], [9, 9, 9], [0, 0, 0], [1, 0, 0]], dtype=torch.double)
    reached = torch.tensor([True, True, True, False, False, False])
    found = torch.tensor([[1, 0, 0], [0.25, 0.25, 0.5], [0, 0, 1]], dtype=torch.double)
    prior = prior_of([1.25 / 3, 0.25 / 3, 1.5 / 3])
    ours = log_probabilities(graph, scores, reached).exp()
    torch.testing.assert_close(ours[:3], 0.999 * found + 0.001 * prior)
    torch.testing.assert_close(ours[3:], prior.expand(3, 3))
    torch.testing.assert_close(ours.sum(1), torch.ones(6, dtype=torch.double))


def test_where_nothing_is_reached_the_prior_is_the_smoothed_share_of_labels(graph: Graph) -> None:
    ours = log_probabilities(graph, torch.ones(6, 3), torch.zeros(6, dtype=torch.bool))
    torch.testing.assert_close(ours.exp(), torch.tensor([3 / 6, 2 / 6, 1 / 6]).expand(6, 3))


def test_a_reached_node_without_scores_stays_finite(graph: Graph) -> None:
    ours = log_probabilities(graph, torch.zeros(6, 3), torch.ones(6, dtype=torch.bool))
    assert torch.isfinite(ours).all()


@pytest.mark.parametrize("often", [0, 1, 2])
def test_of_equally_frequent_classes_the_one_predicted_more_often_is_preferred(often: int) -> None:
    graph = Graph.build([], np.eye(6), [0, 1, 2, 0, 1, 2], train=[0, 1, 2])
    scores = torch.ones(6, 3)
    scores[3, often] = 1.5
    reached = torch.tensor([True, True, True, True, True, False])
    ours = log_probabilities(graph, scores, reached)
    assert ours[5].argmax() == often
    assert ours[4].argmax() == often  # a tie at a reached node
    assert (ours[4].exp() - 1 / 3).abs().max() < 1e-3


@pytest.mark.parametrize("frequent", [0, 1, 2])
def test_more_labels_count_more_than_being_found_more_often(frequent: int) -> None:
    labels = [0, 1, 2, frequent, 0, 0]
    graph = Graph.build([], np.eye(6), labels, train=[0, 1, 2, 3])
    scores = torch.zeros(6, 3)
    scores[:, (frequent + 1) % 3] = 1.0
    reached = torch.tensor([True] * 5 + [False])
    assert log_probabilities(graph, scores, reached)[5].argmax() == frequent


def test_gradients_flow_through_the_scores_and_not_the_prior(graph: Graph) -> None:
    scores = torch.rand(6, 3, requires_grad=True)
    reached = torch.tensor([True, True, True, False, False, False])
    (gradient,) = torch.autograd.grad(log_probabilities(graph, scores, reached)[3:, 0].sum(), scores, retain_graph=True)
    assert not gradient.any()
    (gradient,) = torch.autograd.grad(log_probabilities(graph, scores, reached)[1, 0], scores)
    assert gradient[1].all()
    assert not gradient[[0, 2, 3, 4, 5]].any()


def test_where_all_logits_of_a_node_are_equal_the_prior_is_predicted(graph: Graph) -> None:
    logits = torch.randn(6, 3, dtype=torch.double)
    logits[1], logits[4] = 0.0, 7.0
    ours = prior_where_uninformed(graph, logits, None)
    spoken = [0, 2, 3, 5]
    assert torch.equal(ours[spoken], logits[spoken])
    expected = prior_of(logits[spoken].softmax(1).mean(0).tolist())
    torch.testing.assert_close(ours[[1, 4]].softmax(1), expected.expand(2, 3))


def test_where_no_node_says_anything_all_get_the_shares_of_labels(graph: Graph) -> None:
    ours = prior_where_uninformed(graph, torch.zeros(6, 3), None)
    torch.testing.assert_close(ours.exp(), torch.tensor([3 / 6, 2 / 6, 1 / 6]).expand(6, 3))


def test_logits_that_are_equal_but_for_one_stay(graph: Graph) -> None:
    logits = torch.tensor([0.0, 0.0, 1e-6]).repeat(6, 1)
    assert torch.equal(prior_where_uninformed(graph, logits, None), logits)


def test_a_label_reaches_its_component_and_no_other(six_nodes: Graph) -> None:
    assert reached_by_labels(six_nodes).tolist() == [True] * 5 + [False]
    edges = [(0, 1), (2, 3), (3, 4)]
    graph = Graph.build(edges, np.eye(6), [0] * 6, train=[4, 5])
    assert reached_by_labels(graph).tolist() == [False, False, True, True, True, True]


def test_without_labels_nothing_is_reached() -> None:
    assert not reached_by_labels(Graph.build([(0, 1)], np.eye(3), [0, 0, 0])).any()


def test_a_node_without_features_neighbours_and_label_gets_the_prior_whatever_its_logits_are() -> None:
    features = np.eye(5)
    features[[1, 2, 3, 4]] = 0.0
    graph = Graph.build([(0, 1)], features, [0, 1, 1, 0, 1], train=[0, 2], test=[3, 4])  # 2 has a label, 1 a neighbour
    assert graph.is_uninformative.tolist() == [False, False, False, True, True]
    logits = torch.tensor([[1.0, 2.0]]).repeat(5, 1)
    ours = prior_where_uninformed(graph, logits, None)
    assert torch.equal(ours[:3], logits[:3])
    prior = class_prior(graph, logits[:3].softmax(-1))
    torch.testing.assert_close(ours[3:].exp(), prior.expand(2, 2))
    of_some = prior_where_uninformed(graph, logits[:2], torch.tensor([4, 0]))
    assert torch.equal(of_some[1], logits[0])
    assert not torch.equal(of_some[0], logits[0])


class TwoShards:
    """Another shard has two labels of class 2 and one informed node, of class 1."""

    def all_reduce(self, numbers: Tensor) -> Tensor:
        return numbers + torch.tensor([0.0, 1.0, 0.0, 0.0, 0.0, 2.0, 1.0], dtype=torch.double)


def test_the_prior_of_a_shard_is_that_of_the_whole_graph(graph: Graph) -> None:
    shard = replace(graph, shard=Shard(cast("Any", TwoShards()), torch.arange(6), torch.tensor([]), 12))
    known = torch.tensor([[1.0, 0.0, 0.0]], dtype=torch.double)
    weights = torch.tensor([3 * (1 + 0.05 * 0.5), 2 * (1 + 0.05 * 0.5), 3], dtype=torch.double)
    torch.testing.assert_close(class_prior(shard, known), weights / weights.sum())
