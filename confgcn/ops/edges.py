"""Quantities of edges: distances between the label distributions of their ends, and constant weights."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from confgcn.kernels import kernels_for
from confgcn.ops.autograd import HandDerived
from confgcn.sparse import SparseStructure


def edge_distance(adjacency: SparseStructure, mu: Tensor, precision: Tensor) -> Tensor:
    r"""Mahalanobis distance over every edge (section 5 of the paper), (E,).

    .. math:: d_M(u,v) = (\mu_u - \mu_v)^T (\Sigma_u^{-1} + \Sigma_v^{-1}) (\mu_u - \mu_v)

    Shapes: ``mu`` (N, C), ``precision`` (N, C): the diagonal of the inverse covariance.
    """
    distance: Tensor = _EdgeDistance.of(mu, precision, adjacency)
    return distance


class _EdgeDistance(HandDerived):
    r"""The gradient is a sum over all edges e at v, in and out, with p for the precision.

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


_DEGREE_WEIGHTS: WeakKeyDictionary[SparseStructure, tuple[Tensor | None, Tensor]] = WeakKeyDictionary()


@torch.no_grad()
def degree_weights(adjacency: SparseStructure, dtype: torch.dtype, edge_weight: Tensor | None = None) -> Tensor:
    r"""Kipf and Welling's weights :math:`w_{uv} / \sqrt{D_u D_v}` over every edge, (E,), cached per adjacency.

    w is the ``edge_weight`` (E,), one without, and :math:`D_v = \sum_u w_{uv}`.
    """
    given, weights = _DEGREE_WEIGHTS.get(adjacency, (None, None))
    if weights is None or weights.dtype != dtype or given is not edge_weight:
        with torch.inference_mode(False):  # cached tensors are used in training too
            ones = torch.ones(adjacency.num_entries, dtype=dtype, device=adjacency.device)
            weights = _symmetric(adjacency, ones if edge_weight is None else edge_weight.to(dtype))
        _DEGREE_WEIGHTS[adjacency] = (edge_weight, weights)
    return weights


def _symmetric(adjacency: SparseStructure, weights: Tensor) -> Tensor:
    root = kernels_for(weights).sum_rows(adjacency, weights).rsqrt()
    return weights * (root.index_select(0, adjacency.indices) * root.index_select(0, adjacency.rows))


@torch.no_grad()
def mean_weights(
    adjacency: SparseStructure, chosen: Tensor, dtype: torch.dtype, edge_weight: Tensor | None = None
) -> Tensor:
    """Weights that average over the chosen edges of a target, by their ``edge_weight``; zero where there are none.

    Shapes: ``chosen`` (E,), of bool; ``edge_weight`` (E,), one without -> (E,).
    """
    weights = chosen.to(dtype) if edge_weight is None else edge_weight.to(dtype) * chosen
    totals = kernels_for(weights).sum_rows(adjacency, weights)
    totals = totals.masked_fill_(totals == 0.0, 1.0)
    return weights / totals.index_select(0, adjacency.rows)
