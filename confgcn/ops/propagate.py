"""Several steps over the edges at once: what a node hears from near and far."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from confgcn.kernels import kernels_for
from confgcn.ops.function import HandDerived
from confgcn.ops.halo import Halo, add_halo_gradients, append_halo_rows
from confgcn.sparse import SparseStructure


def propagate(
    adjacency: SparseStructure, weights: Tensor, values: Tensor, *, steps: int, halo: Halo | None = None
) -> Tensor:
    r"""The mean of the values after 0, 1, ..., K steps.

    .. math:: y = \frac{1}{K + 1} \sum_{k=0}^{K} A^k x

    (Feng and others: Graph random neural networks, NeurIPS 2020.) The weights are taken as they are: no gradient
    reaches them. In a part of a graph every step borrows what it hears of other parts.

    Shapes: weights (E,), values (N, width) -> (N, width).
    """
    mean: Tensor = _Propagation.of(values, weights.detach(), adjacency, steps, halo)
    return mean


class _Propagation(HandDerived):
    r"""By Horner's rule, :math:`x + A(x + A(x + \dots))`; the gradient is the same with the transpose of A."""

    @staticmethod
    def forward(
        ctx: Any, values: Tensor, weights: Tensor, adjacency: SparseStructure, steps: int, halo: Halo | None
    ) -> Tensor:
        ctx.adjacency, ctx.steps, ctx.halo = adjacency, steps, halo
        ctx.save_for_backward(weights)
        total = values
        for _ in range(steps):
            total = kernels_for(values).multiply(adjacency, weights, append_halo_rows(total, halo)).add_(values)
        return total / (steps + 1)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None, None]:
        HandDerived.refuse_second_derivative()
        (weights,) = ctx.saved_tensors
        total = gradient
        for _ in range(ctx.steps):
            heard = kernels_for(gradient).multiply_transposed(ctx.adjacency, weights, total)
            total = add_halo_gradients(heard, len(gradient), ctx.halo).add_(gradient)
        return total / (ctx.steps + 1), None, None, None, None
