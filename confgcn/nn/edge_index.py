"""PyG's edge index as an adjacency of this library, and propagation whose messages an explainer of PyG can mask."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.nn import MessagePassing

from confgcn.exceptions import DataError
from confgcn.ops import Halo
from confgcn.sparse import SparseStructure


@dataclass(frozen=True, eq=False, kw_only=True)
class EdgeIndexAdjacency(SparseStructure):
    """The simple graph of an edge index: every edge once, by target, and one self loop per node.

    Explainers mask the edges of the index, which may hold copies and loops; influences belong to the simple graph.

    Shapes: ``edge_index`` (2, E); ``entries`` (E,): the entry of each of these edges; ``shares`` (E,): its share of
    the entry, 1 / number of copies, zero for a loop; ``loops`` (N,): the entries of the self loops.
    """

    edge_index: Tensor
    entries: Tensor
    shares: Tensor
    loops: Tensor

    @classmethod
    def read(cls, edge_index: Tensor, num_nodes: int) -> EdgeIndexAdjacency:
        """From sources in the first row and targets in the second."""
        _check(edge_index, num_nodes)
        source, target = edge_index.long()
        own = torch.arange(num_nodes) * (num_nodes + 1)
        keys, entries, counts = torch.cat([target * num_nodes + source, own]).unique(
            return_inverse=True, return_counts=True
        )
        indptr = torch.searchsorted(keys, torch.arange(num_nodes + 1) * num_nodes)
        entries, loops = entries.split([len(source), num_nodes])
        shares = counts.double().reciprocal().index_select(0, entries).masked_fill_(source == target, 0.0)
        return cls(
            indptr,
            keys % num_nodes,
            (num_nodes, num_nodes),
            edge_index=edge_index,
            entries=entries,
            shares=shares,
            loops=loops,
        )


class MaskablePropagation(MessagePassing):  # type: ignore[misc]  # PyG has no annotations
    """:func:`confgcn.ops.propagate`, with a message for every edge of the edge index.

    Shapes: adjacency (N, N), influence over its entries, values (N, width) -> (N, width).
    """

    def __init__(self) -> None:
        super().__init__(aggr="add")

    def forward(
        self, adjacency: EdgeIndexAdjacency, influence: Tensor, values: Tensor, *, steps: int, halo: Halo | None = None
    ) -> Tensor:
        weights = influence.index_select(0, adjacency.entries) * adjacency.shares.to(influence.dtype)
        own = influence.index_select(0, adjacency.loops)[:, None]
        total = values
        for _ in range(steps):
            total = self.propagate(adjacency.edge_index, x=total, weights=weights) + own * total + values
        return total / (steps + 1)

    def message(self, x_j: Tensor, weights: Tensor) -> Tensor:
        return weights[:, None] * x_j


def _check(edge_index: Tensor, num_nodes: int) -> None:
    if not isinstance(edge_index, Tensor) or edge_index.dim() != 2 or edge_index.shape[0] != 2:
        got = tuple(edge_index.shape) if isinstance(edge_index, Tensor) else type(edge_index).__name__
        raise DataError(f"edge_index: expected a tensor of shape (2, edges), got {got}")
    if edge_index.is_floating_point() or edge_index.is_complex() or edge_index.dtype == torch.bool:
        raise DataError(f"edge_index: expected whole numbers, the positions of nodes, got {edge_index.dtype}")
    if edge_index.numel() and not 0 <= int(edge_index.min()) <= int(edge_index.max()) < num_nodes:
        raise DataError(
            f"edge_index: nodes are numbered 0 to {num_nodes - 1}, the rows of x; "
            f"got {int(edge_index.min())} to {int(edge_index.max())}"
        )
