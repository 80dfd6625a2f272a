"""A graph convolution before its activation: the step that every aggregating layer takes, as one operator."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from confgcn import kernels
from confgcn.ops.dropout import Mask
from confgcn.ops.function import HandDerived
from confgcn.sparse import SparseMatrix, SparseStructure


def convolve(
    adjacency: SparseStructure,
    edge_weights: Tensor,
    features: Tensor | SparseMatrix,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    dropout: float = 0.0,
) -> Tensor:
    r"""Transform the sources' features and add them up over the edges of each target.

    .. math:: y_v = \sum_{u \in N(v)} a_{uv} (W^T D(x_u) + b)

    D is dropout, on the stored non-zeros of sparse features. The same as :func:`dropout`, :func:`matmul` and
    :func:`aggregate` in a row, in fewer steps.

    Shapes: features (sources, in), weight (in, out), bias (out,), edge_weights (E,) -> (targets, out).
    """
    structure, values = None, features
    if isinstance(features, SparseMatrix):
        structure, values = features.structure, features.values
    output: Tensor = _Convolution.of(edge_weights, values, weight, bias, adjacency, structure, dropout)
    return output


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
    ) -> Tensor:
        core = kernels.active()
        ctx.mask = Mask.draw(rate) if rate else None
        dropped = ctx.mask.apply(features) if rate else features
        message = dropped @ weight if structure is None else core.multiply(structure, dropped, weight)
        if bias is not None:
            message += bias
        ctx.adjacency, ctx.structure = adjacency, structure
        ctx.save_for_backward(edge_weights, dropped, weight, message)
        return core.multiply(adjacency, edge_weights, message)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        HandDerived.refuse_second_derivative()
        core = kernels.active()
        edge_weights, dropped, weight, message = ctx.saved_tensors
        needs_edges, needs_features, _, needs_bias, *_ = ctx.needs_input_grad
        to_edges = core.entry_products(ctx.adjacency, gradient, message) if needs_edges else None
        to_message = core.multiply_transposed(ctx.adjacency, edge_weights, gradient)
        to_bias = to_message.sum(0) if needs_bias else None
        if ctx.structure is not None:
            return to_edges, None, core.multiply_transposed(ctx.structure, dropped, to_message), to_bias, *[None] * 3
        to_features = to_message @ weight.T if needs_features else None
        if to_features is not None and ctx.mask is not None:
            to_features = ctx.mask.apply(to_features)
        return to_edges, to_features, dropped.T @ to_message, to_bias, *[None] * 3
