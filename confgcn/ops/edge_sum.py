"""What the two ends of an edge bring to it, added up."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from confgcn.kernels import kernels_for
from confgcn.ops.function import HandDerived
from confgcn.sparse import SparseStructure


def edge_sum(adjacency: SparseStructure, at_target: Tensor, at_source: Tensor) -> Tensor:
    """For every edge the target's value plus the source's.

    Shapes: ``at_target`` (targets, heads), ``at_source`` (sources, heads) -> (E, heads).
    """
    sums: Tensor = _EdgeSum.of(at_target, at_source, adjacency)
    return sums


class _EdgeSum(HandDerived):
    """The gradient of an end is the sum over its edges, in an order that no number of threads changes."""

    @staticmethod
    def forward(ctx: Any, at_target: Tensor, at_source: Tensor, adjacency: SparseStructure) -> Tensor:
        ctx.adjacency = adjacency
        return at_target.index_select(0, adjacency.rows) + at_source.index_select(0, adjacency.indices)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        HandDerived.refuse_second_derivative()
        transposed, order = ctx.adjacency.transposed
        to_target = kernels_for(gradient).sum_rows(ctx.adjacency, gradient)
        to_source = kernels_for(gradient).sum_rows(transposed, gradient.index_select(0, order))
        return to_target, to_source, None
