"""The distance between the label distributions of two neighbours."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from confgcn.kernels import kernels_for
from confgcn.ops.function import HandDerived
from confgcn.sparse import SparseStructure


def edge_distance(adjacency: SparseStructure, mu: Tensor, precision: Tensor) -> Tensor:
    r"""Mahalanobis distance over every edge (section 5 of the paper), (E,).

    .. math:: d_M(u,v) = (\mu_u - \mu_v)^T (\Sigma_u^{-1} + \Sigma_v^{-1}) (\mu_u - \mu_v)

    Shapes: ``mu`` (N, C), ``precision`` (N, C): the diagonal of the inverse covariance.
    """
    distance: Tensor = _EdgeDistance.of(mu, precision, adjacency)
    return distance


class _EdgeDistance(HandDerived):
    r"""Its gradient, over all edges e at v, in and out, with p for the precision.

    .. math:: \partial \mu_v = -2 \sum_e g_e (\mu_u - \mu_v) (p_u + p_v), \quad
              \partial p_v = \sum_e g_e (\mu_u - \mu_v)^2
    """

    @staticmethod
    def forward(ctx: Any, mu: Tensor, precision: Tensor, adjacency: SparseStructure) -> Tensor:
        ctx.adjacency = adjacency
        ctx.save_for_backward(mu, precision)
        return kernels_for(mu).edge_distance(adjacency, mu, precision)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        HandDerived.refuse_second_derivative()
        mu, precision = ctx.saved_tensors
        return *kernels_for(mu).edge_distance_gradient(ctx.adjacency, mu, precision, gradient), None
