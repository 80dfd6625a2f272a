"""Softmax over the rows of a dense matrix, and over the edges of a target."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from confgcn.kernels import kernels_for
from confgcn.ops.autograd import HandDerived
from confgcn.sparse import SparseStructure


def softmax(scores: Tensor) -> Tensor:
    """softmax of every row, (N, C)."""
    probabilities: Tensor = _RowSoftmax.of(scores)
    return probabilities


def edge_softmax(adjacency: SparseStructure, scores: Tensor) -> Tensor:
    r"""softmax over the edges of each target: :math:`a_{uv} = e^{s_{uv}} / \sum_{u' \in N(v)} e^{s_{u'v}}`.

    Shapes: (E,) or (E, heads) -> as the scores.
    """
    weights: Tensor = _EdgeSoftmax.of(scores, adjacency)
    return weights


class _RowSoftmax(HandDerived):
    r""":math:`\partial s_c = p_c (\partial p_c - \sum_d p_d \partial p_d)`."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor) -> Tensor:
        probabilities = kernels_for(scores).dense_softmax(scores)
        ctx.save_for_backward(probabilities)
        return probabilities

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        HandDerived.refuse_second_derivative()
        (probabilities,) = ctx.saved_tensors
        return kernels_for(gradient).dense_softmax_gradient(probabilities, gradient)


class _EdgeSoftmax(HandDerived):
    r""":math:`\partial s_e = a_e (\partial a_e - \sum_f a_f \partial a_f)`, the sum over the edges f of e's target."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, adjacency: SparseStructure) -> Tensor:
        weights = kernels_for(scores).softmax(adjacency, scores)
        ctx.adjacency = adjacency
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        HandDerived.refuse_second_derivative()
        (weights,) = ctx.saved_tensors
        return kernels_for(gradient).softmax_gradient(ctx.adjacency, weights, gradient), None
