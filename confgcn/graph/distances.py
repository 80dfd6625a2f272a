"""Distances between nodes of a graph, in edges."""

from __future__ import annotations

import torch
from torch import Tensor

from confgcn.sparse import SparseStructure


def distances_from(structure: SparseStructure, node: int, nodes: Tensor) -> Tensor:
    """The smallest number of edges from ``nodes`` to a node, (n,); -1 where there is no path.

    ``structure`` has the sources of edges in the row of their target. The search ends when every one of ``nodes`` is
    reached.
    """
    distances = torch.full((structure.shape[0],), -1)
    distances[node] = 0
    reached, distance = torch.tensor([node]), 0
    while len(reached) and bool((distances[nodes] < 0).any()):
        distance += 1
        sources = structure.at_rows(reached)[0].indices.unique()
        reached = sources[distances[sources] < 0]
        distances[reached] = distance
    return distances[nodes]
