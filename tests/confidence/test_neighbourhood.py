"""Sums and means over neighbours, counted by hand."""

from __future__ import annotations

import pytest
import torch

from confgcn.confidence import neighbourhood
from confgcn.confidence.neighbourhood import neighbour_mean, neighbour_sum
from confgcn.graph import Graph


def test_sum_and_mean_leave_the_node_itself_out(six_nodes: Graph) -> None:
    values = torch.tensor([[1.0], [2], [4], [8], [16], [32]])
    assert neighbour_sum(six_nodes, values).squeeze(1).tolist() == [18, 13, 10, 6, 1, 0]
    expected = [9, 13 / 3, 5, 3, 1, 32]  # who has no neighbour keeps its own
    assert neighbour_mean(six_nodes, values).squeeze(1).tolist() == pytest.approx(expected)


def test_the_sums_of_some_nodes_are_those_of_all(six_nodes: Graph) -> None:
    values, nodes = torch.randn(6, 3), torch.tensor([5, 1, 0])
    assert torch.equal(neighbour_sum(six_nodes, values, nodes), neighbour_sum(six_nodes, values)[nodes])


@pytest.mark.parametrize("numbers", [1, 5, 100])
def test_blocks_of_edges_add_up_to_the_same_bits(
    small_graph: Graph, numbers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = torch.randn(120, 4)
    edges, expected = small_graph.neighbours, torch.zeros(120, 4, dtype=torch.float64)
    expected.index_add_(0, edges.rows, values.double()[edges.indices])
    monkeypatch.setattr(neighbourhood, "BLOCK_NUMBERS", numbers)
    assert torch.equal(neighbour_sum(small_graph, values), expected)
