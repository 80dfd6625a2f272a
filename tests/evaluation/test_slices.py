"""Distances against scipy's shortest paths, and parts of a graph that is drawn in full."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from scipy.sparse.csgraph import dijkstra

from confgcn.evaluation.slices import label_distance, quartile, slices
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


def test_slices_by_hand(path_and_pair: Graph) -> None:
    nodes = torch.tensor([8, 1, 2, 3, 4, 5, 6, 7, 0])
    found = {name: nodes[mask].tolist() for name, mask in slices(path_and_pair, nodes).items()}
    assert found == {
        "degree_q1": [8, 5, 6, 7, 0],  # nine nodes: a quarter is reached with the third, whose degree is 1
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
    found = slices(path_and_pair, torch.tensor([9]))
    assert "isolated" in found
    assert "no_label_in_component" not in found
    assert slices(path_and_pair, torch.tensor([], dtype=torch.long)) == {}


@pytest.mark.parametrize(
    "values", [[3, 1, 2, 0, 5, 4, 7, 6], [0, 0, 0, 1, 2], [4, 4], [1, 2, 3], [0, 1, 1, 1, 1, 1, 2]]
)
def test_a_cut_is_the_least_value_with_so_many_at_or_below_it(values: list[int]) -> None:
    cuts = [min(x for x in values if 4 * sum(y <= x for y in values) >= k * len(values)) for k in (1, 2, 3)]
    assert quartile(torch.tensor(values)).tolist() == [sum(x > cut for cut in cuts) for x in values]


def test_quartiles_without_ties_are_of_equal_size_and_follow_the_nodes() -> None:
    values, order = torch.randn(40), torch.randperm(40)
    assert quartile(values).bincount().tolist() == [10] * 4
    assert torch.equal(quartile(values[order]), quartile(values)[order])
