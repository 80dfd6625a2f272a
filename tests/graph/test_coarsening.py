"""Clusters of a graph, and the graph of its clusters."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from confgcn.data.synthetic import block_model
from confgcn.graph import coarsening, symmetric_adjacency
from confgcn.graph.coarsening import clusters, coarsen
from confgcn.io import blocks
from confgcn.sparse import SparseStructure
from confgcn.training.seed import seeded


def cliques(*sizes: int) -> SparseStructure:
    """Complete graphs in a row, each joined to the next by one edge."""
    edges, first = [], 0
    for size in sizes:
        edges += [(first + i, first + j) for i in range(size) for j in range(i)]
        edges += [(first - 1, first)] if first else []
        first += size
    return symmetric_adjacency(np.array(edges), first)[0]


@pytest.mark.parametrize("block", [4, 1000])
def test_cliques_become_clusters(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(blocks, "BLOCK", block)
    with seeded(0):
        found = clusters(cliques(6, 5, 7), largest=8, rounds=6)
    assert found.tolist() == [0] * 6 + [1] * 5 + [2] * 7


def test_no_cluster_grows_once_it_is_large_enough() -> None:
    with seeded(0):
        found = clusters(cliques(40), largest=1, rounds=3)
    assert np.array_equal(found, np.arange(40))


def test_a_node_without_neighbours_stays_alone() -> None:
    adjacency, _ = symmetric_adjacency(np.array([(0, 1)]), 3)
    with seeded(0):
        found = clusters(adjacency, largest=3, rounds=2)
    assert np.count_nonzero(found == found[2]) == 1


@pytest.mark.parametrize("block", [7, 10_000])
def test_edges_between_clusters_are_counted(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(blocks, "BLOCK", block)
    monkeypatch.setattr(coarsening, "BLOCK", block)
    adjacency = block_model(100, seed=3).adjacency
    with seeded(1):
        coarse = coarsen(adjacency, largest=10, rounds=2)
    expected = torch.zeros(len(coarse.sizes), len(coarse.sizes), dtype=torch.long)
    ends = [coarse.cluster[nodes.numpy()] for nodes in (adjacency.rows, adjacency.indices)]
    np.add.at(expected.numpy(), tuple(ends), 1)
    expected.fill_diagonal_(0)
    found = torch.zeros_like(expected)
    rows = np.repeat(np.arange(len(coarse.sizes)), np.diff(coarse.indptr))
    found[rows, coarse.indices] = torch.from_numpy(coarse.weights)
    assert torch.equal(found, expected)
    assert coarse.sizes.sum() == 100
    assert len(coarse.weights) == int((expected > 0).sum())


def test_one_cluster_has_no_edges() -> None:
    with seeded(0):
        coarse = coarsen(symmetric_adjacency(np.array([(0, 1)]), 2)[0], largest=1, rounds=0)
    assert coarse.weights.tolist() == [1, 1]
    lonely, _ = symmetric_adjacency(np.empty((0, 2), dtype=np.int64), 1)
    assert len(coarsen(lonely, largest=1, rounds=1).weights) == 0
