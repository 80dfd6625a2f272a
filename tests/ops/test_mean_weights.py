"""Weights that average over some edges of a target, against loops."""

from __future__ import annotations

import pytest
import torch

from confgcn.graph import Graph
from confgcn.ops import aggregate, mean_weights
from confgcn.sparse import SparseStructure

pytestmark = pytest.mark.usefixtures("each_kernels")


def test_weights_equal_loops(structure: SparseStructure) -> None:
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
