"""Sums and means over the neighbours of a node, without the node itself."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from confgcn.graph import Graph

BLOCK_NUMBERS = 2**20  # gathered from the ends of edges at once


def neighbour_sum(graph: Graph, values: Tensor, nodes: Tensor | None = None) -> Tensor:
    """The sum of the rows of the neighbours of ``nodes`` (n,), in double precision; zero without neighbours.

    Shapes: ``values`` (N, C), the result (n, C). Without ``nodes``, of all nodes.
    """
    edges = graph.neighbours if nodes is None else graph.neighbours.at_rows(nodes)[0]
    total = torch.zeros(edges.shape[0], values.shape[1], dtype=torch.float64)
    for target, source in edge_blocks(edges.rows, edges.indices, width=values.shape[1]):
        total.index_add_(0, target, values[source].double())
    return total


def neighbour_mean(graph: Graph, values: Tensor) -> Tensor:
    """The mean of the neighbours' rows of ``values`` (N, C), (N, C); a node without neighbours keeps its own."""
    mean = neighbour_sum(graph, values) / graph.degrees.clamp(min=1)[:, None]
    return torch.where((graph.degrees == 0)[:, None], values.double(), mean)


def edge_blocks(first: Tensor, second: Tensor, *, width: int) -> Iterator[tuple[Tensor, Tensor]]:
    """The two ends (E,) of the edges in blocks, small enough to gather a row of this width for each."""
    size = max(1, BLOCK_NUMBERS // max(1, width))
    return zip(first.split(size), second.split(size), strict=True)
