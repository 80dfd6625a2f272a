"""Distances in edges, on a path with a chord and a node apart."""

from __future__ import annotations

import numpy as np
import torch

from confgcn.graph import Graph
from confgcn.graph.distances import distances_from


def test_distances_are_the_smallest_numbers_of_edges() -> None:
    graph = Graph.build([(0, 1), (1, 2), (2, 3), (3, 4), (0, 2)], np.eye(6), [0, 1] * 3)
    nodes = torch.tensor([4, 1, 3, 0, 5, 2])
    assert distances_from(graph.neighbours, 0, nodes).tolist() == [3, 1, 2, 0, -1, 1]
    assert distances_from(graph.adjacency, 0, nodes).tolist() == [3, 1, 2, 0, -1, 1]  # loops do not matter
    assert distances_from(graph.neighbours, 0, nodes[:0]).tolist() == []
