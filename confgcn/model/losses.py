"""The terms of ConfGCN's objective that act on label scores and precisions (section 5); each returns its sum.

The fifth term, L_cross, is shared by all methods and lives with the contract. Terms that every step evaluates on
every node have their gradients derived by hand.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from confgcn.ops.function import HandDerived


def smooth_loss(distance: Tensor) -> Tensor:
    r"""Neighbours have similar label distributions.

    .. math:: L_{smooth} = \sum_{(u,v) \in E} (\mu_u - \mu_v)^T (\Sigma_u^{-1} + \Sigma_v^{-1}) (\mu_u - \mu_v)

    ``distance`` (E,) holds every undirected edge twice, and self loops at distance zero: hence the half.
    """
    return 0.5 * distance.sum()


def label_loss(mu: Tensor, precision: Tensor, nodes: Tensor, labels: Tensor, *, certainty: float) -> Tensor:
    r"""Labelled nodes keep close to their label.

    .. math:: L_{label} = \sum_{v \in V_l} (\mu_v - Y_v)^T (\Sigma_v^{-1} + \tfrac{1}{\gamma} I) (\mu_v - Y_v)

    Shapes: ``mu``, ``precision`` (N, C); the labelled ``nodes``, none twice, and their one-hot ``labels``;
    ``certainty`` is :math:`1/\gamma`.
    """
    loss: Tensor = _Label.of(mu, precision, nodes, labels, certainty)
    return loss


class _Label(HandDerived):
    """dL/dmu = 2 g (mu - Y)(p + certainty), dL/dp = g (mu - Y)^2 at the labelled nodes, zero elsewhere."""

    @staticmethod
    def forward(ctx: Any, mu: Tensor, precision: Tensor, nodes: Tensor, labels: Tensor, certainty: float) -> Tensor:
        difference = mu.index_select(0, nodes).sub_(labels)
        weighted = (precision.index_select(0, nodes) + certainty).mul_(difference)
        ctx.shape = mu.shape
        ctx.save_for_backward(difference, weighted, nodes)
        return _inner(difference, weighted)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        HandDerived.refuse_second_derivative()
        difference, weighted, nodes = ctx.saved_tensors
        to_mu = difference.new_zeros(ctx.shape).index_copy_(0, nodes, weighted * (2 * gradient))
        to_precision = difference.new_zeros(ctx.shape).index_copy_(0, nodes, difference.square().mul_(gradient))
        return to_mu, to_precision, None, None, None


def const_loss(mu: Tensor, probabilities: Tensor) -> Tensor:
    r"""Label distributions are close to the prediction.

    .. math:: L_{const} = \sum_{v \in V} (\mu_v - \hat{Y}_v)^T (\mu_v - \hat{Y}_v)
    """
    loss: Tensor = _SquaredDistance.of(mu, probabilities)
    return loss


class _SquaredDistance(HandDerived):
    """sum (a - b)^2; dL/da = 2 g (a - b) = -dL/db."""

    @staticmethod
    def forward(ctx: Any, one: Tensor, other: Tensor) -> Tensor:
        difference = one - other
        ctx.save_for_backward(difference)
        return _inner(difference, difference)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        HandDerived.refuse_second_derivative()
        (difference,) = ctx.saved_tensors
        to_one = difference * (2 * gradient)
        return to_one, -to_one


def reg_loss(diagonal: Tensor) -> Tensor:
    r"""The covariance stays positive, softly.

    .. math:: L_{reg} = \sum_{v \in V} \mathrm{Tr} \max(-\Sigma_v, 0)

    ``diagonal`` (N, C) is the covariance (the paper) or the precision (the released code).
    """
    loss: Tensor = _NegativePart.of(diagonal)
    return loss


class _NegativePart(HandDerived):
    """dL/dx = -g where x is below zero; nothing is computed where no x is, which is the common case."""

    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        if values.min() >= 0.0:
            return values.new_zeros(())
        ctx.save_for_backward(values)
        return -values.clamp(max=0.0).sum()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor | None:
        HandDerived.refuse_second_derivative()
        if not ctx.saved_tensors:
            return None
        (values,) = ctx.saved_tensors
        to_values: Tensor = (values < 0.0) * -gradient
        return to_values


def doubled_l2_decay(squared_norm: float, *, strength: float) -> float:
    r"""The released code's regulariser, an L2 penalty applied to L2 penalties (not in the paper), as a weight decay.

    .. math:: \frac{\partial}{\partial w} \tfrac{s}{2} \left(\tfrac{s}{2} \|w\|^2\right)^2
              = 4 \left(\tfrac{s}{2}\right)^3 \|w\|^2 \, w
    """
    return 4.0 * (strength / 2.0) ** 3 * squared_norm


def _inner(one: Tensor, other: Tensor) -> Tensor:
    return torch.dot(one.reshape(-1), other.reshape(-1))
