"""The terms of ConfGCN's objective that act on label scores and precisions (section 5); each returns its sum.

The fifth term, L_cross, is shared by all methods and lives with the contract. Terms that every step evaluates on
every node have their gradients derived by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from confgcn.ops.function import HandDerived

# What L_reg counts for and against a precision before anything is known: 0.5 / (0.5 + 0.1) is what it then tends to,
# and a node that hears nothing but labels tends to (0.5 + 10) / (0.5 + 10 + 0.1).
PRIOR_FOR, PRIOR_AGAINST, COUNT_OF_EVIDENCE = 0.5, 0.1, 10.0
NEAREST_TO_BOUND = 1e-6  # so that logarithms stay finite
BLOCK_ROWS = 4096  # of what is only added up: few enough to stay in a processor's cache


def smooth_loss(distance: Tensor, edge_weight: Tensor | None = None) -> Tensor:
    r"""Neighbours have similar label distributions.

    .. math:: L_{smooth} = \sum_{(u,v) \in E} (\mu_u - \mu_v)^T (\Sigma_u^{-1} + \Sigma_v^{-1}) (\mu_u - \mu_v)

    ``distance`` (E,) holds every undirected edge twice, and self loops at distance zero: hence the half. Every term
    is multiplied by the ``edge_weight`` (E,).
    """
    return 0.5 * (distance.sum() if edge_weight is None else torch.dot(distance, edge_weight))


def trusted_smooth_loss(distance: Tensor, influence: Tensor) -> Tensor:
    r"""The same over neighbours as far as they are trusted, so that a stranger does not pull.

    .. math:: \sum_v \sum_{u \in N(v)} r_{uv} \, d_M(u, v)

    The influence is taken as it is: a node does not lose trust in order to be left alone.
    """
    return torch.dot(distance, influence.detach())


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


def consensus_loss(mu: Tensor, consensus: Tensor, probabilities: Tensor) -> Tensor:
    r"""L_const, as two pulls: predictions follow the sharpened consensus, the consensus follows the predictions.

    .. math:: \sum_{v \in V} \|\hat{Y}_v - [\mu_v]\|^2 + \|c_v - [\hat{Y}_v]\|^2

    What stands in brackets is held fixed, or the sharpening of :math:`\mu = c^{1/T} / Z` would be undone. With dropout
    every step sees another prediction, so that c becomes their running mean.
    """
    return const_loss(probabilities, mu.detach()) + const_loss(consensus, probabilities.detach())


class _SquaredDistance(HandDerived):
    """sum (a - b)^2; dL/da = 2 g (a - b) = -dL/db."""

    @staticmethod
    def forward(ctx: Any, one: Tensor, other: Tensor) -> Tensor:
        ctx.save_for_backward(one, other)
        return _added_up(lambda a, b: _inner(difference := a - b, difference), one, other)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None]:
        HandDerived.refuse_second_derivative()
        one, other = ctx.saved_tensors
        needs_one, needs_other = ctx.needs_input_grad
        to_one = (one - other).mul_(2 * gradient)
        return to_one if needs_one else None, -to_one if needs_other else None


def reg_loss(diagonal: Tensor) -> Tensor:
    r"""The covariance stays positive, softly.

    .. math:: L_{reg} = \sum_{v \in V} \mathrm{Tr} \max(-\Sigma_v, 0)

    ``diagonal`` (N, C) is the covariance (the paper) or the precision (the released code).
    """
    loss: Tensor = _NegativePart.of(diagonal)
    return loss


def evidence_loss(precision: Tensor, evidence: Tensor) -> Tensor:
    r"""L_reg, as a prior that makes precisions grow with evidence and keeps them between 0 and 1.

    .. math:: - \sum_{v, c} (\alpha + \nu e_v) \log \Sigma^{-1}_{vcc} + \beta \log (1 - \Sigma^{-1}_{vcc})

    e is the share of what a node hears that comes from labelled nodes. Where nobody disagrees a precision tends to
    :math:`(\alpha + \nu e) / (\alpha + \nu e + \beta)`; L_smooth and L_label pull it down. (TACO's own term lets it
    be largest where there is no evidence at all.)

    Shapes: ``precision`` (N, C), from 0 to 1; ``evidence`` (N,).
    """
    loss: Tensor = _Evidence.of(precision, PRIOR_FOR + COUNT_OF_EVIDENCE * evidence.detach()[:, None])
    return loss


class _Evidence(HandDerived):
    """dL/dp = g (beta / (1 - p) - counts / p)."""

    @staticmethod
    def forward(ctx: Any, precision: Tensor, counts: Tensor) -> Tensor:
        ctx.save_for_backward(precision, counts)
        return -_added_up(_log_density, precision, counts)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        HandDerived.refuse_second_derivative()
        precision, counts = ctx.saved_tensors
        to_precision = torch.empty_like(precision)
        for into, some, of_some in zip(*(v.split(BLOCK_ROWS) for v in (to_precision, precision, counts)), strict=True):
            inside = _inside(some)
            torch.mul(PRIOR_AGAINST / (1.0 - inside) - of_some / inside, gradient, out=into)
        return to_precision, None


def _log_density(precision: Tensor, counts: Tensor) -> Tensor:
    inside = _inside(precision)
    return (counts * inside.log() + PRIOR_AGAINST * torch.log1p(-inside)).sum()


def _inside(precision: Tensor) -> Tensor:
    return precision.clamp(NEAREST_TO_BOUND, 1.0 - NEAREST_TO_BOUND)


class _NegativePart(HandDerived):
    """dL/dx = -g where x is below zero; nothing is computed where no x is, which is the common case."""

    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        if values.is_cpu and values.min() >= 0.0:
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


def _added_up(of_rows: Callable[..., Tensor], *tables: Tensor) -> Tensor:
    """The sum of what is found of some rows at a time: nothing as large as the tables is made."""
    found = [of_rows(*blocks) for blocks in zip(*(table.split(BLOCK_ROWS) for table in tables), strict=True)]
    return found[0] if len(found) == 1 else torch.stack(found).sum()
