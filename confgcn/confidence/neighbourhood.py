"""Means over the neighbours of a node, the node itself left out."""

from __future__ import annotations

import torch
from torch import Tensor

from confgcn.graph import Graph


def neighbour_sum(graph: Graph, values: Tensor) -> Tensor:
    """The sum of the neighbours' rows, (N, C), in double precision; zero without neighbours."""
    edges = graph.neighbours
    wide = values.double()
    return torch.zeros_like(wide).index_add_(0, edges.rows, wide[edges.indices])


def neighbour_mean(graph: Graph, values: Tensor) -> Tensor:
    """The mean of the neighbours' rows, (N, C); a node without neighbours keeps its own."""
    mean = neighbour_sum(graph, values) / graph.degrees.clamp(min=1)[:, None]
    return torch.where((graph.degrees == 0)[:, None], values.double(), mean)
