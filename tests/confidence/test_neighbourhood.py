"""Sums and means over neighbours, counted by hand."""

from __future__ import annotations

import pytest
import torch

from confgcn.confidence.neighbourhood import neighbour_mean, neighbour_sum
from confgcn.graph import Graph


def test_sum_and_mean_leave_the_node_itself_out(six_nodes: Graph) -> None:
    values = torch.tensor([[1.0], [2], [4], [8], [16], [32]])
    assert neighbour_sum(six_nodes, values).squeeze(1).tolist() == [18, 13, 10, 6, 1, 0]
    expected = [9, 13 / 3, 5, 3, 1, 32]  # who has no neighbour keeps its own
    assert neighbour_mean(six_nodes, values).squeeze(1).tolist() == pytest.approx(expected)
