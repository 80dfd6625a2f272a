"""An edge index as it was given, and the simple graph that it stands for."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from confgcn.exceptions import DataError
from confgcn.sparse import SparseStructure


@dataclass(frozen=True, eq=False)
class MessageEdges:
    """Masks of explainers belong to the edges as given; influences to the graph with every edge and loop once.

    Shapes: ``adjacency`` (N, N) by target, with one self loop per node; ``places`` (E,): the entry of each given edge;
    ``shares`` (E,): of that entry, which falls to each of its copies, none to a loop; ``loops`` (N,): entries of loops.
    """

    adjacency: SparseStructure
    places: Tensor
    shares: Tensor
    loops: Tensor

    @classmethod
    def read(cls, edge_index: Tensor, num_nodes: int) -> MessageEdges:
        """Sources in the first row, targets in the second, in any order."""
        _check(edge_index, num_nodes)
        source, target = edge_index.long()
        of_loops = torch.arange(num_nodes) * (num_nodes + 1)
        keys, places, counts = torch.cat([target * num_nodes + source, of_loops]).unique(
            return_inverse=True, return_counts=True
        )
        indptr = torch.searchsorted(keys, torch.arange(num_nodes + 1) * num_nodes)
        adjacency = SparseStructure(indptr, keys % num_nodes, (num_nodes, num_nodes))
        places, loops = places.split([len(source), num_nodes])
        shares = counts.double().reciprocal().index_select(0, places).masked_fill_(source == target, 0.0)
        return cls(adjacency, places, shares, loops)

    def spread(self, influence: Tensor) -> tuple[Tensor, Tensor]:
        """Influence over the adjacency as that of each given edge (E,) and of each node on itself (N,)."""
        shared = influence.index_select(0, self.places) * self.shares.to(influence.dtype)
        return shared, influence.index_select(0, self.loops)


def _check(edge_index: Tensor, num_nodes: int) -> None:
    if not isinstance(edge_index, Tensor) or edge_index.dim() != 2 or edge_index.shape[0] != 2:
        found = tuple(edge_index.shape) if isinstance(edge_index, Tensor) else type(edge_index).__name__
        raise DataError(f"edge_index: expected a tensor of shape (2, edges), got {found}")
    if edge_index.is_floating_point() or edge_index.is_complex() or edge_index.dtype == torch.bool:
        raise DataError(f"edge_index: expected whole numbers, the positions of nodes, got {edge_index.dtype}")
    if edge_index.numel() and not 0 <= int(edge_index.min()) <= int(edge_index.max()) < num_nodes:
        raise DataError(
            f"edge_index: nodes are numbered 0 to {num_nodes - 1}, the rows of x; "
            f"got {int(edge_index.min())} to {int(edge_index.max())}"
        )
