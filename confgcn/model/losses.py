"""The terms of ConfGCN's objective that act on label scores and precisions (section 5); each returns its sum.

The fifth term, L_cross, is shared by all methods and lives with the contract.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor


def smooth_loss(distance: Tensor) -> Tensor:
    r"""Neighbours have similar label distributions.

    .. math:: L_{smooth} = \sum_{(u,v) \in E} (\mu_u - \mu_v)^T (\Sigma_u^{-1} + \Sigma_v^{-1}) (\mu_u - \mu_v)

    ``distance`` (E,) holds every undirected edge twice, and self loops at distance zero: hence the half.
    """
    return 0.5 * distance.sum()


def label_loss(mu: Tensor, precision: Tensor, labels: Tensor, *, certainty: float) -> Tensor:
    r"""Labelled nodes keep close to their label.

    .. math:: L_{label} = \sum_{v \in V_l} (\mu_v - Y_v)^T (\Sigma_v^{-1} + \tfrac{1}{\gamma} I) (\mu_v - Y_v)

    Shapes: ``mu``, ``precision`` and the one-hot ``labels`` (labelled, C); ``certainty`` is :math:`1/\gamma`.
    """
    return ((mu - labels).square() * (precision + certainty)).sum()


def const_loss(mu: Tensor, probabilities: Tensor) -> Tensor:
    r"""Label distributions are close to the prediction.

    .. math:: L_{const} = \sum_{v \in V} (\mu_v - \hat{Y}_v)^T (\mu_v - \hat{Y}_v)
    """
    return (mu - probabilities).square().sum()


def reg_loss(diagonal: Tensor) -> Tensor:
    r"""The covariance stays positive, softly.

    .. math:: L_{reg} = \sum_{v \in V} \mathrm{Tr} \max(-\Sigma_v, 0)

    ``diagonal`` (N, C) is the covariance (the paper) or the precision (the released code).
    """
    return (-diagonal).clamp(min=0.0).sum()


def squared_norms(variables: Iterable[Tensor]) -> Tensor:
    """The squared norm of each variable, the statistic of :func:`doubled_l2`."""
    return torch.stack([variable.square().sum() for variable in variables])


def doubled_l2(norms: Tensor, strength: float) -> Tensor:
    r"""The released code's regulariser, an L2 penalty applied to L2 penalties (not in the paper).

    .. math:: \sum_w \tfrac{s}{2} \left(\tfrac{s}{2} \|w\|^2\right)^2
    """
    half = strength / 2
    return (half * (half * norms).square()).sum()
