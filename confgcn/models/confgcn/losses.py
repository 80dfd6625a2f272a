"""The terms of ConfGCN's objectives, each as a sum (section 5). L_cross, which all methods share, is in models.base.

They are plain torch: on a million nodes hand-derived gradients save neither time nor memory that matters in a step
(``benchmarks/losses.py``).
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import mse_loss, relu, softplus


def smooth_loss(distance: Tensor, edge_weight: Tensor | None = None) -> Tensor:
    r"""Neighbours have similar label distributions.

    .. math:: L_{smooth} = \sum_{(u,v) \in E} w_{uv} (\mu_u - \mu_v)^T (\Sigma_u^{-1} + \Sigma_v^{-1}) (\mu_u - \mu_v)

    Shapes: ``distance``, ``edge_weight`` (E,), with both directions of every edge: hence the factor 1/2.
    """
    return 0.5 * (distance.sum() if edge_weight is None else torch.dot(distance, edge_weight))


def influence_smooth_loss(distance: Tensor, influence: Tensor) -> Tensor:
    r"""L_smooth with every edge weighted by its influence, which is held fixed.

    .. math:: \sum_v \sum_{u \in N(v)} [r_{uv}] \, d_M(u, v)
    """
    return torch.dot(distance, influence.detach())


def label_loss(mu: Tensor, precision: Tensor, nodes: Tensor, labels: Tensor, *, certainty: float) -> Tensor:
    r"""The scores of labelled nodes are close to their label.

    .. math:: L_{label} = \sum_{v \in V_l} (\mu_v - Y_v)^T (\Sigma_v^{-1} + \tfrac{1}{\gamma} I) (\mu_v - Y_v)

    Shapes: ``mu``, ``precision`` (N, C); labelled ``nodes`` (n,), and their one-hot ``labels`` (n, C); ``certainty`` is
    :math:`1/\gamma`.
    """
    difference = mu.index_select(0, nodes) - labels
    return (difference.square() * (precision.index_select(0, nodes) + certainty)).sum()


def const_loss(mu: Tensor, probabilities: Tensor) -> Tensor:
    r"""Label scores are close to the prediction.

    .. math:: L_{const} = \sum_v (\mu_v - \hat{Y}_v)^T (\mu_v - \hat{Y}_v)
    """
    return mse_loss(mu, probabilities, reduction="sum")


def consensus_loss(mu: Tensor, consensus: Tensor, probabilities: Tensor) -> Tensor:
    r"""L_const in two directions: predictions move to the sharpened consensus, the consensus to the predictions.

    .. math:: \sum_v \left( \|\hat{Y}_v - [\mu_v]\|^2 + \|c_v - [\hat{Y}_v]\|^2 \right)

    Quantities in brackets are held fixed, else :math:`\mu = c^{1/T} / Z` would lose its sharpness. With dropout every
    step has another prediction, and c becomes their running mean.
    """
    return const_loss(probabilities, mu.detach()) + const_loss(consensus, probabilities.detach())


def reg_loss(diagonal: Tensor) -> Tensor:
    r"""A soft constraint to positive covariances: :math:`L_{reg} = \sum_v \mathrm{Tr} \max(-\Sigma_v, 0)`.

    ``diagonal`` (N, C) is that of the covariance (the paper) or of its inverse (the released code).
    """
    return relu(-diagonal).sum()


def evidence_loss(raw_precision: Tensor, evidence: Tensor, *, alpha: float, beta: float, nu: float) -> Tensor:
    r"""L_reg as a prior: precisions grow with the evidence of a node.

    .. math:: - \sum_{v, c} \left( (\alpha + \nu e_v) \log p_{vc} + \beta \log (1 - p_{vc}) \right)

    Without L_smooth and L_label, which lower it, a precision tends to
    :math:`(\alpha + \nu e) / (\alpha + \nu e + \beta)`. (TACO's term has its largest precision without evidence.)

    Shapes: ``raw_precision`` (N, C), whose sigmoid is the precision p; ``evidence`` e (N,), the share of a node's
    messages that comes from labelled nodes.
    """
    counts = alpha + nu * evidence.detach()[:, None]
    minus_log_p = softplus(-raw_precision)  # -log(1 - p) is this plus raw_precision
    return ((counts + beta) * minus_log_p).sum() + beta * raw_precision.sum()


def doubled_l2_decay(squared_norm: float, *, strength: float) -> float:
    r"""The released code's regulariser, an L2 penalty of L2 penalties (not in the paper), as a weight decay.

    .. math:: \frac{\partial}{\partial w} \tfrac{s}{2} \left(\tfrac{s}{2} \|w\|^2\right)^2
              = 4 \left(\tfrac{s}{2}\right)^3 \|w\|^2 \, w
    """
    return 4.0 * (strength / 2.0) ** 3 * squared_norm
