"""Products with a sparse matrix: features times weights, and weighted sums over neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from confgcn.kernels import kernels_for
from confgcn.ops.autograd import HandDerived
from confgcn.ops.dropout import Mask, dropout_dense
from confgcn.ops.halo import Halo, add_halo_gradients, append_halo_rows, with_halo_rows
from confgcn.sparse import SparseMatrix, SparseStructure

BLOCK_ROWS = 4096  # of features that dropout is applied to at a time: they fit a processor's cache


def aggregate(adjacency: SparseStructure, weights: Tensor, values: Tensor) -> Tensor:
    r"""The sum over the edges of each target: :math:`y_v = \sum_{u \in N(v)} a_{uv} x_u`.

    Shapes: weights (E,) with values (N, width), or (E, heads) with (N, heads, width) -> as the values.
    """
    product: Tensor = _SparseProduct.of(weights, values, adjacency)
    return product


def matmul(features: Tensor | SparseMatrix, weight: Tensor, *, dropout: float = 0.0) -> Tensor:
    """Features (N, in), dense or sparse and after dropout, times a weight matrix (in, out)."""
    if dropout:
        structure, values = None, features
        if isinstance(features, SparseMatrix):
            structure, values = features.structure, features.values
        product: Tensor = _DroppedProduct.of(values, weight, structure, dropout)
        return product
    if isinstance(features, SparseMatrix):
        return aggregate(features.structure, features.values, weight)
    return features @ weight


def convolve(
    adjacency: SparseStructure,
    edge_weights: Tensor,
    features: Tensor | SparseMatrix,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    dropout: float = 0.0,
    halo: Halo | None = None,
) -> Tensor:
    r"""A graph convolution before its activation.

    .. math:: y_v = \sum_{u \in N(v)} a_{uv} (W^T D(x_u) + b)

    D is dropout, on the stored non-zeros of sparse features. With a ``halo`` the messages of sources that other shards
    own are received from them.

    Shapes: features (sources, in), weight (in, out), bias (out,), edge_weights (E,) -> (targets, out).
    """
    if isinstance(features, Tensor) and bias is None and weight.shape[0] < weight.shape[1]:  # sum the narrower rows
        dropped = dropout_dense(features, dropout)
        return aggregate(adjacency, edge_weights, *with_halo_rows(halo, dropped)) @ weight
    message = matmul(features, weight, dropout=dropout)
    if bias is not None:
        message = message + bias
    return aggregate(adjacency, edge_weights, *with_halo_rows(halo, message))


def propagate(
    adjacency: SparseStructure, weights: Tensor, values: Tensor, *, steps: int, halo: Halo | None = None
) -> Tensor:
    r"""The mean of the values after 0, 1, ..., K steps.

    .. math:: y = \frac{1}{K + 1} \sum_{k=0}^{K} A^k x

    (Feng and others: Graph random neural networks, NeurIPS 2020.) The weights are constants: no gradient reaches
    them. With a ``halo`` the rows of other shards are received in every step.

    Shapes: weights (E,), values (N, width) -> (N, width).
    """
    mean: Tensor = _Propagation.of(values, weights.detach(), adjacency, steps, halo)
    return mean


class _SparseProduct(HandDerived):
    r"""Y = A B, with :math:`\partial B = A^T \partial Y` and :math:`\partial A_{ij} = \langle \partial Y_i, B_j
    \rangle` at the stored entries. B is kept only if A needs a gradient."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, dense: Tensor, structure: SparseStructure) -> Tensor:
        ctx.structure = structure
        ctx.save_for_backward(values, dense if ctx.needs_input_grad[0] else None)
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


class _DroppedProduct(HandDerived):
    r"""Y = D(X) W, with :math:`\partial W = D(X)^T \partial Y` and :math:`\partial X = D(\partial Y W^T)`.

    D(X) is computed again in the backward pass instead of kept, and of dense features a block of rows at a time.
    """

    @staticmethod
    def forward(ctx: Any, features: Tensor, weight: Tensor, structure: SparseStructure | None, rate: float) -> Tensor:
        ctx.structure, ctx.mask = structure, Mask.draw(rate)
        ctx.save_for_backward(features, weight)
        if structure is not None:
            return kernels_for(weight).multiply(structure, ctx.mask.apply(features), weight)
        product = weight.new_empty(features.shape[0], weight.shape[1])
        for rows, block in _dropped_blocks(features, ctx.mask):
            torch.mm(block, weight, out=product[rows])
        return product

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor, None, None]:
        HandDerived.refuse_second_derivative()
        features, weight = ctx.saved_tensors
        core, mask, structure, to_features = kernels_for(gradient), ctx.mask, ctx.structure, None
        if structure is not None:
            to_weight = core.multiply_transposed(structure, mask.apply(features), gradient)
            if ctx.needs_input_grad[0]:
                to_features = mask.apply(core.entry_products(structure, gradient, weight))
            return to_features, to_weight, None, None
        to_weight = gradient.new_zeros(features.shape[1], gradient.shape[1])
        for rows, block in _dropped_blocks(features, mask):
            to_weight.addmm_(block.T, gradient[rows])
        if ctx.needs_input_grad[0]:
            to_features = mask.apply(gradient @ weight.T)
        return to_features, to_weight, None, None


def _dropped_blocks(features: Tensor, mask: Mask) -> Iterator[tuple[slice, Tensor]]:
    """The rows of D(X), a block at a time."""
    rows, columns = features.shape
    for first in range(0, rows, BLOCK_ROWS):
        block = slice(first, first + BLOCK_ROWS)
        yield block, mask.apply(features[block], start=first * columns)


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
            to_sources = kernels_for(gradient).multiply_transposed(ctx.adjacency, weights, total)
            total = add_halo_gradients(to_sources, len(gradient), ctx.halo).add_(gradient)
        return total / (ctx.steps + 1), None, None, None, None
