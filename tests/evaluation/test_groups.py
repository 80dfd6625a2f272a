"""Quartiles, ties, label distances and entropies against loops and scipy."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
import torch
from scipy.sparse.csgraph import dijkstra

from confgcn.evaluation.groups import (
    label_distance,
    neighbour_label_entropy,
    node_groups,
    quartile,
    quartile_means,
    share_ties,
    sort_by_confidence,
)
from confgcn.graph import Graph


@pytest.fixture
def path_and_pair() -> Graph:
    """0 - 1 - 2 - 3 - 4 - 5 in a path, 6 - 7 apart, 8 and 9 isolated; 0 and 9 are training nodes."""
    edges = [*itertools.pairwise(range(6)), (6, 7)]
    return Graph.build(edges, np.eye(10), [0, 0, 1, 0, 1, 1, 0, 1, 0, 1], train=[0, 9])


@pytest.mark.parametrize("seed", range(3))
def test_distance_is_that_of_the_shortest_path(seed: int) -> None:
    random = np.random.default_rng(seed)
    edges = random.integers(0, 40, size=(35, 2))
    graph = Graph.build(edges, np.eye(40), random.integers(0, 2, size=40), train=[1, 2, 3])
    paths = dijkstra(graph.adjacency.with_ones().to_scipy(), indices=graph.train.numpy(), unweighted=True).min(0)
    expected = [-1 if np.isinf(path) else int(path) for path in paths]
    assert max(expected) >= 4
    assert -1 in expected
    assert label_distance(graph).tolist() == expected


def test_distance_without_training_nodes() -> None:
    assert label_distance(Graph.build([(0, 1)], np.eye(3), [0, 1, 0])).tolist() == [-1, -1, -1]


def test_groups_by_hand(path_and_pair: Graph) -> None:
    nodes = torch.tensor([8, 1, 2, 3, 4, 5, 6, 7, 0])
    found = {name: nodes[mask].tolist() for name, mask in node_groups(path_and_pair, nodes).items()}
    assert found == {
        "degree_q1": [8, 5, 6, 7, 0],  # nine nodes: a quartile is reached with the third, whose degree is 1
        "degree_q3": [1, 2, 3, 4],
        "entropy_q1": [8, 2, 3, 5, 6, 7, 0],
        "entropy_q4": [1, 4],
        "distance_1": [1],
        "distance_2": [2],
        "distance_3": [3],
        "distance_4_or_more": [4, 5],
        "no_label_in_component": [8, 6, 7],
        "isolated": [8],
    }


def test_an_isolated_training_node_has_a_label_in_its_component(path_and_pair: Graph) -> None:
    found = node_groups(path_and_pair, torch.tensor([9]))
    assert "isolated" in found
    assert "no_label_in_component" not in found
    assert node_groups(path_and_pair, torch.tensor([], dtype=torch.long)) == {}


@pytest.mark.parametrize(
    "values", [[3, 1, 2, 0, 5, 4, 7, 6], [0, 0, 0, 1, 2], [4, 4], [1, 2, 3], [0, 1, 1, 1, 1, 1, 2]]
)
def test_a_boundary_is_the_least_value_with_so_many_at_or_below_it(values: list[int]) -> None:
    cuts = [min(x for x in values if 4 * sum(y <= x for y in values) >= k * len(values)) for k in (1, 2, 3)]
    assert quartile(torch.tensor(values)).tolist() == [sum(x > cut for cut in cuts) for x in values]


def test_quartiles_without_ties_are_of_equal_size_and_follow_the_nodes() -> None:
    values, order = torch.randn(40), torch.randperm(40)
    assert quartile(values).bincount().tolist() == [10] * 4
    assert torch.equal(quartile(values[order]), quartile(values)[order])


def counted_entropy(graph: Graph, edges: list[tuple[int, int]], node: int) -> float:
    """Section 7.2 with loops: the labels across every edge at the node."""
    labels = graph.labels.tolist()
    around = [{a, b} - {node} for a, b in {tuple(sorted(edge)) for edge in edges} if node in (a, b) and a != b]
    known = [labels[neighbour] for (neighbour,) in around if labels[neighbour] >= 0]
    return -sum(n / len(known) * math.log(n / len(known)) for n in Counter(known).values())


@pytest.mark.parametrize("seed", range(4))
def test_entropy_is_that_of_the_labels_around_a_node(seed: int) -> None:
    random = np.random.default_rng(seed)
    edges = [(int(a), int(b)) for a, b in random.integers(0, 7, size=(10, 2))]  # node 7 stays isolated
    graph = Graph.build(edges, np.eye(8), random.integers(-1, 3, size=8), class_names=["a", "b", "c"])
    expected = [counted_entropy(graph, edges, node) for node in range(8)]
    assert neighbour_label_entropy(graph).tolist() == pytest.approx(expected, abs=1e-12)


def test_entropy_counts_neither_the_node_itself_nor_unknown_labels() -> None:
    edges = [(0, 1), (0, 2), (0, 3), (3, 4)]
    graph = Graph.build(edges, np.eye(6), [2, 0, 1, -1, 0, 0])
    entropy = neighbour_label_entropy(graph).tolist()
    assert entropy[0] == pytest.approx(math.log(2))  # a, b and one unknown
    assert entropy[3] == pytest.approx(math.log(2))  # its own label is not known, and it need not be
    assert entropy[4] == 0.0  # its only neighbour is unknown
    assert entropy[5] == 0.0  # no neighbour at all


def test_equally_mixed_neighbourhoods_are_tied_to_the_last_bit() -> None:
    ways = list(itertools.permutations((5, 3, 2, 1)))  # neighbours of each class, in every way there is
    edges, labels = [], [0] * len(ways)
    for node, way in enumerate(ways):
        for label, count in enumerate(way):
            edges += [(node, len(labels) + place) for place in range(count)]
            labels += [label] * count
    graph = Graph.build(edges, np.ones((len(labels), 1)), labels)
    entropy = neighbour_label_entropy(graph)[: len(ways)].tolist()
    assert len(set(entropy)) == 1
    shares = (5 / 11, 3 / 11, 2 / 11, 1 / 11)
    assert entropy[0] == pytest.approx(-sum(share * math.log(share) for share in shares))


def test_other_names_of_the_classes_leave_every_tie_as_it_is() -> None:
    random = np.random.default_rng(3)
    edges, labels = random.integers(0, 60, size=(200, 2)), random.integers(0, 5, size=60)
    entropy = neighbour_label_entropy(Graph.build(edges, np.eye(60), labels))
    for order in itertools.permutations(range(5)):
        renamed = Graph.build(edges, np.eye(60), np.array(order)[labels])
        assert torch.equal(neighbour_label_entropy(renamed), entropy)


def mean_over_orders(outcome: list[float], rank_by: list[int]) -> list[float]:
    """The quartiles of every order that sorts the items; an item across a border is cut in proportion."""
    count = len(outcome)
    orders = [
        order
        for order in itertools.permutations(range(count))
        if all(rank_by[a] <= rank_by[b] for a, b in itertools.pairwise(order))
    ]
    means = []
    for k in range(4):
        start, end = k * count / 4, (k + 1) * count / 4
        shares = [max(0.0, min(end, place + 1) - max(start, place)) for place in range(count)]
        sums = [sum(share * outcome[item] for share, item in zip(shares, order, strict=True)) for order in orders]
        means.append(sum(sums) / len(orders) / (count / 4))
    return means


@pytest.mark.parametrize(
    "rank_by",
    [
        [3, 1, 2, 0, 5, 4, 7, 6],
        [0, 0, 0, 0, 0, 1, 1, 2],
        [1, 0, 1, 0, 1, 0, 1],
        [2, 2, 2, 2, 2, 2],
        [0, 3, 3, 1, 3],
        [1, 0, 1],
    ],
    ids=["no ties", "a tie over two quartiles", "seven", "all tied", "five", "fewer than quartiles"],
)
def test_a_quartile_mean_is_the_mean_over_all_orders_of_the_tied(rank_by: list[int]) -> None:
    outcome = torch.rand(len(rank_by), dtype=torch.float64)
    expected = mean_over_orders(outcome.tolist(), rank_by)
    assert quartile_means(outcome, torch.tensor(rank_by)) == pytest.approx(expected)


def test_quartile_means_do_not_depend_on_the_order_of_the_nodes() -> None:
    outcome, rank_by = torch.rand(30, dtype=torch.float64), torch.randint(0, 5, (30,))
    order = torch.randperm(30)
    assert quartile_means(outcome[order], rank_by[order]) == pytest.approx(quartile_means(outcome, rank_by))


def test_quartiles_of_equal_size_have_the_mean_of_all() -> None:
    outcome, rank_by = torch.rand(13, dtype=torch.float64), torch.randint(0, 3, (13,))
    assert sum(quartile_means(outcome, rank_by)) / 4 == pytest.approx(float(outcome.mean()))


def test_tied_items_share_within_their_row() -> None:
    confidence = torch.tensor([[0.2, 0.5, 0.5, 0.5], [0.1, 0.1, 0.3, 0.5]])
    outcome = torch.tensor([[1.0, 1.0, 0.0, 0.5], [1.0, 0.0, 0.0, 1.0]], dtype=torch.float64)
    assert share_ties(confidence, outcome).tolist() == [[1.0, 0.5, 0.5, 0.5], [0.5, 0.5, 0.0, 1.0]]


def test_one_item_keeps_its_outcome() -> None:
    assert share_ties(torch.tensor([0.3]), torch.tensor([1.0])).tolist() == [1.0]


def test_the_order_by_confidence_does_not_depend_on_the_order_of_the_nodes() -> None:
    confidence = torch.tensor([0.5, 0.9, 0.5, 0.2, 0.5])
    correct = torch.tensor([True, False, False, True, True])
    for _ in range(5):
        order = torch.randperm(5)
        confidences, outcomes = sort_by_confidence(confidence[order], correct[order])
        assert torch.equal(confidences, confidence.sort().values.double())
        assert outcomes.tolist() == [1, 0, 1, 1, 0]


def test_quartiles_of_other_values_use_the_boundaries_of_the_reference() -> None:
    reference = torch.tensor([8, 2, 4, 6])  # boundaries 2, 4 and 6
    assert quartile(torch.tensor([0, 2, 3, 5, 6, 9]), reference).tolist() == [0, 0, 1, 2, 2, 3]
