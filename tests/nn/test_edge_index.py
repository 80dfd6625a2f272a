"""An edge index as an adjacency, and propagation over its edges, on three nodes."""

from __future__ import annotations

import warnings

import pytest
import torch

from confgcn.ops import propagate

with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # torch.jit, which PyG still uses
    from confgcn.nn.edge_index import EdgeIndexAdjacency, MaskablePropagation

# 0 -> 1 twice, 1 -> 0, 2 -> 1, and a loop of node 2 that every node has anyway
EDGES = torch.tensor([[0, 1, 0, 2, 2], [1, 0, 1, 1, 2]])


def test_copies_are_one_entry_and_every_node_has_a_loop() -> None:
    adjacency = EdgeIndexAdjacency.read(EDGES, 3)
    entries = list(zip(adjacency.indices.tolist(), adjacency.rows.tolist(), strict=True))
    assert entries == [(0, 0), (1, 0), (0, 1), (1, 1), (2, 1), (2, 2)]
    assert adjacency.entries.tolist() == [2, 1, 2, 4, 5]
    assert adjacency.shares.tolist() == [0.5, 1.0, 0.5, 1.0, 0.0]
    assert adjacency.loops.tolist() == [0, 3, 5]


@pytest.mark.parametrize("steps", [1, 3])
def test_without_a_mask_it_is_the_operator_of_the_library(steps: int) -> None:
    adjacency = EdgeIndexAdjacency.read(EDGES, 3)
    influence, values = torch.rand(6, dtype=torch.float64), torch.rand(3, 2, dtype=torch.float64)
    found = MaskablePropagation()(adjacency, influence, values, steps=steps)
    torch.testing.assert_close(found, propagate(adjacency, influence, values, steps=steps))


def test_a_graph_without_edges() -> None:
    adjacency = EdgeIndexAdjacency.read(torch.empty(2, 0, dtype=torch.long), 2)
    assert adjacency.indices.tolist() == [0, 1]
    values = torch.rand(2, 3)
    torch.testing.assert_close(MaskablePropagation()(adjacency, torch.ones(2), values, steps=2), values)
