"""The distance over every edge against loops, with negative precisions, and its gradient."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck

from confgcn.ops import edge_distance
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


def test_gradient(adjacency: SparseStructure) -> None:
    mu, precision = torch.randn(2, adjacency.shape[0], 3, dtype=torch.float64)
    assert gradcheck(partial(edge_distance, adjacency), (mu.requires_grad_(), precision.requires_grad_()))
