"""A graph convolution before its activation: the step that every aggregating layer takes, as one operator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from confgcn.kernels import kernels_for
from confgcn.ops.dropout import Mask
from confgcn.ops.dropout import dropout as dropout_of
from confgcn.ops.function import HandDerived
from confgcn.ops.halo import Halo, add_halo_gradients, append_halo_rows, with_halo_rows
from confgcn.ops.product import aggregate
from confgcn.sparse import SparseMatrix, SparseStructure

BLOCK_ROWS = 4096  # of dropped features at a time: few enough to stay in a processor's cache


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
    r"""Transform the sources' features and add them up over the edges of each target.

    .. math:: y_v = \sum_{u \in N(v)} a_{uv} (W^T D(x_u) + b)

    D is dropout, on the stored non-zeros of sparse features. The same as :func:`dropout`, :func:`matmul` and
    :func:`aggregate` in a row, in fewer steps and in less memory. In a part of a graph the messages of sources that
    other parts own are borrowed.

    Shapes: features (sources, in), weight (in, out), bias (out,), edge_weights (E,) -> (targets, out).
    """
    structure, values = None, features
    if isinstance(features, SparseMatrix):
        structure, values = features.structure, features.values
    elif bias is None and weight.shape[0] < weight.shape[1]:  # the narrower rows are added up
        return aggregate(adjacency, edge_weights, *with_halo_rows(halo, _dense_dropout(features, dropout))) @ weight
    output: Tensor = _Convolution.of(edge_weights, values, weight, bias, adjacency, structure, dropout, halo)
    return output


def _dense_dropout(features: Tensor, rate: float) -> Tensor:
    dropped = dropout_of(features, rate, training=True)
    assert isinstance(dropped, Tensor)
    return dropped


class _Convolution(HandDerived):
    r"""M = D(X) W + b, Y = A M. With :math:`\partial M = A^T \partial Y`:

    .. math:: \partial A_{ij} = \langle \partial Y_i, M_j \rangle, \quad \partial W = D(X)^T \partial M, \quad
              \partial b = \sum_j \partial M_j, \quad \partial X = D(\partial M W^T)
    """

    @staticmethod
    def forward(
        ctx: Any,
        edge_weights: Tensor,
        features: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        adjacency: SparseStructure,
        structure: SparseStructure | None,
        rate: float,
        halo: Halo | None,
    ) -> Tensor:
        ctx.adjacency, ctx.structure, ctx.mask = adjacency, structure, Mask.draw(rate) if rate else None
        message = _Dropped(features, structure, ctx.mask).times(weight)
        if bias is not None:
            message += bias
        ctx.rows, ctx.halo = len(message), halo
        message = append_halo_rows(message, halo)
        ctx.save_for_backward(edge_weights, features, weight, message)
        return kernels_for(message).multiply(adjacency, edge_weights, message)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        HandDerived.refuse_second_derivative()
        core = kernels_for(gradient)
        edge_weights, features, weight, message = ctx.saved_tensors
        dropped = _Dropped(features, ctx.structure, ctx.mask)
        needs_edges, needs_features, _, needs_bias, *_ = ctx.needs_input_grad
        to_edges = core.entry_products(ctx.adjacency, gradient, message) if needs_edges else None
        to_sources = core.multiply_transposed(ctx.adjacency, edge_weights, gradient)
        to_message = add_halo_gradients(to_sources, ctx.rows, ctx.halo)
        to_bias = to_message.sum(0) if needs_bias else None
        to_features = dropped.gradient(to_message, weight) if needs_features else None
        return to_edges, to_features, dropped.transposed_times(to_message), to_bias, None, None, None, None


@dataclass(frozen=True, eq=False)
class _Dropped:
    """D(X), made when it is needed and never kept; dense features a block of rows at a time."""

    features: Tensor  # (rows, in), or the stored values of sparse features
    structure: SparseStructure | None
    mask: Mask | None

    def times(self, weight: Tensor) -> Tensor:
        """D(X) W."""
        if self.structure is not None:
            return kernels_for(weight).multiply(self.structure, self.drop(self.features), weight)
        product = weight.new_empty(self.features.shape[0], weight.shape[1])
        for rows, block in self.blocks():
            torch.mm(block, weight, out=product[rows])
        return product

    def transposed_times(self, dense: Tensor) -> Tensor:
        """D(X)^T B."""
        if self.structure is not None:
            return kernels_for(dense).multiply_transposed(self.structure, self.drop(self.features), dense)
        product = dense.new_zeros(self.features.shape[1], dense.shape[1])
        for rows, block in self.blocks():
            product.addmm_(block.T, dense[rows])
        return product

    def gradient(self, to_product: Tensor, weight: Tensor) -> Tensor:
        """dL/dX for the gradient of D(X) W."""
        if self.structure is not None:
            return self.drop(kernels_for(weight).entry_products(self.structure, to_product, weight))
        return self.drop(to_product @ weight.T)

    def drop(self, values: Tensor) -> Tensor:
        """The mask on other values of the same shape."""
        return values if self.mask is None else self.mask.apply(values)

    def blocks(self) -> Iterator[tuple[slice, Tensor]]:
        """The rows of D(X), a block at a time."""
        rows, columns = self.features.shape
        size = max(1, rows) if self.mask is None else BLOCK_ROWS
        for first in range(0, rows, size):
            part = slice(first, first + size)
            block = self.features[part]
            yield part, block if self.mask is None else self.mask.apply(block, start=first * columns)
