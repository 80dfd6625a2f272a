"""Sums over neighbours, and features times weights: both are products with a sparse matrix."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from confgcn.kernels import kernels_for
from confgcn.ops.function import HandDerived
from confgcn.sparse import SparseMatrix, SparseStructure


def aggregate(adjacency: SparseStructure, weights: Tensor, values: Tensor) -> Tensor:
    """Sum over the edges of each target of the edge's weight times the source's row of values.

    Shapes: weights (E,) with values (N, width), or (E, heads) with (N, heads, width) -> as the values.
    """
    product: Tensor = _SparseProduct.of(weights, values, adjacency)
    return product


def matmul(features: Tensor | SparseMatrix, weight: Tensor) -> Tensor:
    """Features (N, in), dense or sparse, times a weight matrix (in, out)."""
    if isinstance(features, SparseMatrix):
        return aggregate(features.structure, features.values, weight)
    return features @ weight


class _SparseProduct(HandDerived):
    """Y = A B, with dL/dB = A^T G and dL/dA_ij = <G_i, B_j> on the stored entries only."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, dense: Tensor, structure: SparseStructure) -> Tensor:
        ctx.structure = structure
        ctx.save_for_backward(values, dense)
        return kernels_for(dense).multiply(structure, values, dense)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        HandDerived.refuse_second_derivative()
        values, dense = ctx.saved_tensors
        to_values = to_dense = None
        if ctx.needs_input_grad[0]:
            to_values = kernels_for(gradient).entry_products(ctx.structure, gradient, dense)
        if ctx.needs_input_grad[1]:
            to_dense = kernels_for(gradient).multiply_transposed(ctx.structure, values, gradient)
        return to_values, to_dense, None
