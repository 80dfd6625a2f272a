"""Doubt that is shared, on a graph where it can be pointed at."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from confgcn.confidence.novelty import STEPS, novelty, share_below
from confgcn.graph import Graph


def uncertain(doubt: list[float]) -> Tensor:
    """Probabilities of two classes whose larger one is as much below one."""
    column = torch.tensor(doubt)
    return torch.stack([1 - column, column], 1)


@pytest.fixture
def two_triangles() -> Graph:
    """0 1 2 and 3 4 5, and 6 alone."""
    return Graph.build([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)], np.eye(7), [0, 1] * 3 + [0])


def test_shared_uncertainty_is_more_novel_than_that_of_one_node(two_triangles: Graph) -> None:
    found = novelty(two_triangles, uncertain([0.3, 0.3, 0.3, 0.01, 0.01, 0.45, 0.2]))
    assert found[:3].min() > found[3:6].max()
    assert found[0] == found[1] == found[2]
    assert found[6] > found[5]  # it has its own doubt alone, 0.2; the other triangle shares 0.157


def test_the_diffusion_by_a_power_of_a_matrix(small_graph: Graph) -> None:
    doubt = torch.rand(120, dtype=torch.float64) / 2
    walk = torch.zeros(120, 120, dtype=torch.float64)
    walk[small_graph.neighbours.rows, small_graph.neighbours.indices] = 1
    walk[small_graph.degrees == 0] += torch.eye(120, dtype=torch.float64)[small_graph.degrees == 0]
    step = (torch.eye(120, dtype=torch.float64) + walk / walk.sum(1, keepdim=True)) / 2
    spread = torch.linalg.matrix_power(step, STEPS) @ doubt
    probabilities = torch.stack([1 - doubt, *[doubt / 3] * 3], 1)
    torch.testing.assert_close(novelty(small_graph, probabilities), share_below(spread))
    fewer = torch.linalg.matrix_power(step, STEPS - 1) @ doubt
    assert not torch.equal(share_below(fewer), share_below(spread))


def test_shares_are_counted_with_ties_as_halves() -> None:
    assert share_below(torch.tensor([3.0, 1, 1, 2])).tolist() == [0.875, 0.25, 0.25, 0.625]
    assert share_below(torch.zeros(5)).tolist() == [0.5] * 5


def test_the_order_of_nodes_does_not_matter(six_nodes: Graph) -> None:
    probabilities = torch.rand(6, 3).mul(3).softmax(1)
    order = np.array([3, 5, 0, 1, 4, 2])
    place = np.argsort(order)
    edges = place[np.array([(0, 1), (1, 2), (2, 3), (3, 1), (0, 4)])]
    twin = Graph.build(edges, np.eye(6), six_nodes.labels.numpy()[order])
    found = novelty(twin, probabilities[torch.from_numpy(order)])
    torch.testing.assert_close(found, novelty(six_nodes, probabilities)[torch.from_numpy(order)])


def test_with_one_class_all_nodes_are_equally_novel() -> None:
    graph = Graph.build([(0, 1)], np.eye(3), [0, 0, 0])
    assert novelty(graph, torch.ones(3, 1)).tolist() == [0.5] * 3


def test_uncertainty_diffuses_over_eight_edges() -> None:
    path = Graph.build([(v, v + 1) for v in range(10)], np.ones((11, 1)), [0, 1] * 5 + [0])
    found = novelty(path, uncertain([0.5] + [0.0] * 10))
    assert found[8] > found[9] == found[10] == pytest.approx(1 / 11)
