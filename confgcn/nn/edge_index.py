"""PyG's edge index as an adjacency of this library, and propagation whose messages an explainer of PyG can mask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

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

    @cached_property
    def _reverse(self) -> Tensor:
        """The position of entry (u, v) for every entry (v, u), -1 where there is none."""
        count = self.shape[0]
        keys, wanted = self.rows * count + self.indices, self.indices * count + self.rows
        places = torch.searchsorted(keys, wanted).clamp(max=len(keys) - 1)
        return torch.where(keys[places] == wanted, places, -1)

    def at_reverse_entries(self, values: Tensor) -> Tensor:
        """For every entry the value of the reverse one, zero where there is none."""
        return values.index_select(0, self._reverse.clamp(min=0)) * (self._reverse >= 0)

    def of_reverse(self, values: Tensor) -> Tensor:
        """For every edge of the edge index the value of the reverse entry."""
        return self.at_reverse_entries(values).index_select(0, self.entries)


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


class MaskableWalk(MessagePassing):  # type: ignore[misc]  # PyG has no annotations
    """Sums of powers of a propagation matrix, with a message for every edge of the edge index.

    What ``confgcn.graph.propagation_rows`` gives for rows of all nodes, differentiable in the mask of an explainer. A
    mask scales messages; sums are divided by those of the unmasked rows.
    """

    def __init__(self) -> None:
        super().__init__(aggr="add")

    def forward(
        self, adjacency: EdgeIndexAdjacency, influence: Tensor, values: Tensor, coefficients: Sequence[float]
    ) -> Tensor:
        """sum_k c_k R^k times values (N, width); ``influence`` is R over the entries of the adjacency."""
        weights = influence.index_select(0, adjacency.entries) * adjacency.shares.to(influence.dtype)
        own = influence.index_select(0, adjacency.loops)[:, None]
        total = coefficients[-1] * values
        for coefficient in reversed(coefficients[:-1]):
            total = self._step(adjacency, weights, total) + own * total + coefficient * values
        return total

    def two_steps(self, adjacency: EdgeIndexAdjacency, without_loops: Tensor, values: Tensor) -> Tensor:
        """P^2 times values without the paths that return, divided by the sums of the rows, (N, width)."""
        weights = without_loops.index_select(0, adjacency.entries) * adjacency.shares.to(without_loops.dtype)
        masked = self.explain_message(weights[:, None], len(values)).squeeze(1) if self.explain else weights
        back = adjacency.of_reverse(torch.zeros_like(without_loops).index_add(0, adjacency.entries, masked))
        first = self._step(adjacency, weights, values)
        second = self.propagate(adjacency.edge_index, x=first, start=values, weights=weights, back=back)
        row_sums = torch.zeros_like(values[:, 0]).index_add_(0, adjacency.rows, without_loops)
        returning = without_loops * adjacency.at_reverse_entries(without_loops)
        reached = torch.zeros_like(row_sums).index_add_(
            0, adjacency.rows, without_loops * row_sums.index_select(0, adjacency.indices) - returning
        )
        sums = reached[:, None]
        return torch.where(sums > torch.finfo(sums.dtype).eps, second / sums.clamp(min=1e-30), 0.0)

    def _step(self, adjacency: EdgeIndexAdjacency, weights: Tensor, values: Tensor) -> Tensor:
        none = torch.zeros_like(weights)
        step: Tensor = self.propagate(adjacency.edge_index, x=values, start=values, weights=weights, back=none)
        return step

    def message(self, x_j: Tensor, start_i: Tensor, weights: Tensor, back: Tensor) -> Tensor:
        """The values of the source, without those that it received from the target."""
        return weights[:, None] * (x_j - back[:, None] * start_i)


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
