"""Distances and constant weights of edges against loops."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck

from confgcn.graph import Graph
from confgcn.ops import aggregate, degree_weights, edge_distance, mean_weights
from confgcn.sparse import SparseStructure

pytestmark = pytest.mark.usefixtures("each_kernels")


def slow_distance(adjacency: SparseStructure, mu: Tensor, precision: Tensor) -> Tensor:
    distance = mu.new_zeros(adjacency.num_entries)
    for v in range(adjacency.shape[0]):
        for e in range(int(adjacency.indptr[v]), int(adjacency.indptr[v + 1])):
            u = int(adjacency.indices[e])
            for c in range(mu.shape[1]):
                distance[e] += (mu[u, c] - mu[v, c]) ** 2 * (precision[u, c] + precision[v, c])
    return distance


@pytest.mark.parametrize("classes", [1, 3, 17])
def test_distance_equals_loops(adjacency: SparseStructure, classes: int) -> None:
    mu, precision = torch.randn(2, adjacency.shape[0], classes, dtype=torch.float64)
    assert (precision < 0).any()
    expected = slow_distance(adjacency, mu, precision)
    torch.testing.assert_close(edge_distance(adjacency, mu, precision), expected, rtol=1e-12, atol=1e-12)


def test_gradient_of_distance(adjacency: SparseStructure) -> None:
    mu, precision = torch.randn(2, adjacency.shape[0], 3, dtype=torch.float64)
    assert gradcheck(partial(edge_distance, adjacency), (mu.requires_grad_(), precision.requires_grad_()))


def test_degree_weights_are_those_of_kipf_and_welling_in_the_type_asked_for(six_nodes: Graph) -> None:
    adjacency = six_nodes.adjacency
    size = (six_nodes.degrees + 1).double()
    expected = 1 / (size[adjacency.indices] * size[adjacency.rows]).sqrt()
    for dtype in (torch.float64, torch.float32, torch.float64):
        torch.testing.assert_close(degree_weights(adjacency, dtype), expected.to(dtype))
    assert degree_weights(adjacency, torch.float64) is degree_weights(adjacency, torch.float64)


def test_degree_weights_found_where_nothing_is_trained_serve_training_too(six_nodes: Graph) -> None:
    with torch.inference_mode():
        weights = degree_weights(six_nodes.adjacency, torch.float32)
    assert not weights.is_inference()
    assert degree_weights(six_nodes.adjacency, torch.float32) is weights


def test_mean_weights_equal_loops(structure: SparseStructure) -> None:
    chosen = torch.rand(structure.num_entries) < 0.5
    rows = structure.rows.tolist()
    counts = [sum(c for c, row in zip(chosen.tolist(), rows, strict=True) if row == v) for v in range(len(rows))]
    expected = [1 / counts[row] if c else 0.0 for c, row in zip(chosen.tolist(), rows, strict=True)]
    weights = mean_weights(structure, chosen, torch.float64)
    torch.testing.assert_close(weights, torch.tensor(expected, dtype=torch.float64))


def test_the_sum_they_make_is_the_mean_of_the_chosen_neighbours(six_nodes: Graph) -> None:
    adjacency = six_nodes.adjacency
    values = torch.randn(6, 3)
    is_neighbour = adjacency.rows != adjacency.indices
    means = aggregate(adjacency, mean_weights(adjacency, is_neighbour, torch.float32), values)
    torch.testing.assert_close(means[1], values[[0, 2, 3]].mean(0))
    torch.testing.assert_close(means[4], values[0])
    assert not means[5].any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_where_nothing_is_chosen_all_weights_are_zero(adjacency: SparseStructure, dtype: torch.dtype) -> None:
    weights = mean_weights(adjacency, torch.zeros(adjacency.num_entries, dtype=torch.bool), dtype)
    assert weights.dtype == dtype
    assert weights.shape == (adjacency.num_entries,)
    assert not weights.any()


def test_an_edge_weight_scales_both(six_nodes: Graph) -> None:
    adjacency = six_nodes.adjacency
    weights = 1 + (torch.arange(adjacency.num_entries) % 3).double()
    dense = torch.zeros(6, 6, dtype=torch.float64)
    dense[adjacency.rows, adjacency.indices] = weights
    root = dense.sum(1).rsqrt()
    expected = (root[:, None] * dense * root)[adjacency.rows, adjacency.indices]
    torch.testing.assert_close(degree_weights(adjacency, torch.float64, weights), expected)
    assert degree_weights(adjacency, torch.float64, weights) is degree_weights(adjacency, torch.float64, weights)
    assert not torch.equal(degree_weights(adjacency, torch.float64), expected)
    means = (dense / dense.sum(1, keepdim=True))[adjacency.rows, adjacency.indices]
    everything = torch.ones(adjacency.num_entries, dtype=torch.bool)
    torch.testing.assert_close(mean_weights(adjacency, everything, torch.float64, weights), means)
