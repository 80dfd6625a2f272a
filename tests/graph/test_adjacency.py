"""Edge lists become one symmetric adjacency; weights follow their edges."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from confgcn.exceptions import DataError
from confgcn.graph import Graph, distinct, symmetric_adjacency, symmetric_weights

PAIRS = np.array([[0, 1], [2, 1], [3, 3]])


def weighted(weights: Any, edges: Any = PAIRS) -> Graph:
    return Graph.build(edges, np.eye(4), [0, 1, 0, 1], edge_weight=weights)


def test_distinct_values_are_sorted() -> None:
    assert distinct(np.array([3, 1, 3, 2])).tolist() == [1, 2, 3]
    assert distinct(np.empty(0, dtype=np.int64)).tolist() == []


def test_both_directions_have_the_weight_of_the_edge_and_self_loops_have_one() -> None:
    adjacency, _ = symmetric_adjacency(PAIRS, 4)
    weights = symmetric_weights(adjacency, PAIRS, np.array([0.5, 2.0, 7.0], dtype=np.float32))
    found = dict(
        zip(zip(adjacency.rows.tolist(), adjacency.indices.tolist(), strict=True), weights.tolist(), strict=True)
    )
    assert found == {(0, 0): 1, (0, 1): 0.5, (1, 0): 0.5, (1, 1): 1, (1, 2): 2, (2, 1): 2, (2, 2): 1, (3, 3): 1}


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 2.0], r"one per listed edge, shape \(3,\), got \(2,\)"),
        ([[1.0], [2.0], [3.0]], r"got \(3, 1\)"),
        ([1.0, -2.0, 3.0], "row 1 is -2.0, expected a finite number of zero or more"),
        ([1.0, 2.0, float("nan")], "row 2 is nan"),
        ([1.0, float("inf"), 3.0], "row 1 is inf"),
        ([1.0, 1e300, 3.0], "row 1 is 1e[+]300"),
        (["a", "b", "c"], "expected numbers"),
    ],
)
def test_wrong_weights_are_refused(weights: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        weighted(weights)


@pytest.mark.parametrize("again", [(0, 1), (1, 0)])
def test_an_edge_with_two_weights_is_refused(again: tuple[int, int]) -> None:
    edges = [(0, 1), (1, 2), again]
    with pytest.raises(DataError, match=r"nodes 0 and 1 are listed with weights 1 and 2; list"):
        weighted([1.0, 5.0, 2.0], edges)
    assert weighted([2.0, 5.0, 2.0], edges).edge_weight is not None


def test_weights_are_part_of_the_fingerprint() -> None:
    fingerprints = {Graph.build(PAIRS, np.eye(4), [0, 1, 0, 1]).fingerprint}
    fingerprints |= {weighted(weights).fingerprint for weights in ([1, 1, 1], [1, 2, 1])}
    assert len(fingerprints) == 3
    assert weighted([1, 2, 1]).fingerprint == weighted([2, 1, 5], PAIRS[[1, 0, 2]]).fingerprint


def test_weights_without_self_loops_are_those_of_the_neighbours() -> None:
    dense = weighted([0.5, 2.0, 7.0]).neighbour_weights.to_scipy().toarray()
    np.testing.assert_array_equal(dense, [[0, 0.5, 0, 0], [0.5, 0, 2, 0], [0, 2, 0, 0], [0, 0, 0, 0]])


def test_a_weight_of_the_wrong_length_is_refused_wherever_the_graph_is_changed() -> None:
    with pytest.raises(DataError, match=r"one per entry of the adjacency, shape \(8,\), got \(2,\)"):
        replace(weighted([1, 1, 1]), edge_weight=torch.ones(2))


def test_the_training_view_keeps_the_weights() -> None:
    graph = weighted([0.5, 2.0, 7.0])
    assert graph.training_view().edge_weight is graph.edge_weight
