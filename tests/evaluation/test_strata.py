"""Entropy of neighbourhoods by counting, and quarters against every order of the tied ones."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
import torch

from confgcn.evaluation.strata import neighbour_label_entropy, quarter_means
from confgcn.graph import Graph


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
    """The quarters of every order that sorts the items; an item across a border is cut in proportion."""
    count = len(outcome)
    orders = [
        order
        for order in itertools.permutations(range(count))
        if all(rank_by[a] <= rank_by[b] for a, b in itertools.pairwise(order))
    ]
    means = []
    for quarter in range(4):
        start, end = quarter * count / 4, (quarter + 1) * count / 4
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
    ids=["no ties", "a tie over two quarters", "seven", "all tied", "five", "fewer than quarters"],
)
def test_a_quarter_is_the_mean_over_all_orders_of_the_tied(rank_by: list[int]) -> None:
    outcome = torch.rand(len(rank_by), dtype=torch.float64)
    expected = mean_over_orders(outcome.tolist(), rank_by)
    assert quarter_means(outcome, torch.tensor(rank_by)) == pytest.approx(expected)


def test_quarters_do_not_depend_on_the_order_of_the_nodes() -> None:
    outcome, rank_by = torch.rand(30, dtype=torch.float64), torch.randint(0, 5, (30,))
    order = torch.randperm(30)
    assert quarter_means(outcome[order], rank_by[order]) == pytest.approx(quarter_means(outcome, rank_by))


def test_quarters_of_equal_size_have_the_mean_of_all() -> None:
    outcome, rank_by = torch.rand(13, dtype=torch.float64), torch.randint(0, 3, (13,))
    assert sum(quarter_means(outcome, rank_by)) / 4 == pytest.approx(float(outcome.mean()))
