"""The influence r_uv of a node u on its neighbour v, and what it is made of."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor

from confgcn import kernels
from confgcn.graph.receptive_field import ReceptiveField
from confgcn.ops import normalise
from confgcn.ops.function import HandDerived
from confgcn.sparse import SparseStructure

InfluenceScore = Literal["distance", "agreement", "uniform"]
InfluenceNormalisation = Literal["none", "softmax", "walk"]

SELF_SHARE = 0.2  # of what a node hears, under ``walk``, where all its neighbours count fully


def influence(
    field: ReceptiveField,
    distance: Tensor,
    *,
    score: Literal["distance", "uniform"],
    distance_offset: float,
    normalisation: Literal["none", "softmax"],
    edge_weight: Tensor | None = None,
) -> Tensor:
    r"""Influence over every edge of the field (section 5), from the distance over all edges (E,).

    .. math:: r_{uv} = \frac{1}{d_M(u,v) + c}

    The offset :math:`c` is not printed in the paper; without it the self loop, whose distance is zero, would
    have infinite influence. The released code then takes a softmax over N(v). ``uniform`` gives every edge a
    score of one before normalisation: the control that shows what the confidences contribute.

    An ``edge_weight`` (E,) multiplies the influence; under a softmax it multiplies each exponential.
    """
    structure = field.hops[0].structure  # of the targets that the field reads, with all their edges
    weight = None if edge_weight is None else field.pick(edge_weight)
    if score == "uniform":
        return _normalised(structure, torch.ones_like(field.pick(distance.detach())), normalisation, weight)
    logs = None if weight is None else weight.log()
    weights: Tensor = _Influence.of(distance, field, structure, distance_offset, normalisation, logs)
    return weights if weight is None or normalisation == "softmax" else weights * weight


def trusting_influence(
    adjacency: SparseStructure,
    field: ReceptiveField,
    beliefs: tuple[Tensor, Tensor, Tensor],
    *,
    score: InfluenceScore,
    distance_offset: float,
    normalisation: InfluenceNormalisation,
    edge_weight: Tensor | None = None,
) -> Tensor:
    """Influence over every edge of the field from ``beliefs``: mu and precision (N, C), and the distance (E,).

    No gradient reaches the beliefs through it: they would learn to trust whoever makes the training labels fit. A
    score that is a ``distance`` is c / (d_M + c), so that nobody counts more than fully. ``edge_weight`` is as in
    :func:`influence`; under a walk it weighs the mean over the neighbours.
    """
    mu, precision, distance = (quantity.detach() for quantity in beliefs)
    if score == "agreement":
        scores = agreement(adjacency, mu, precision)
    elif score == "uniform":
        scores = torch.ones_like(distance)
    else:
        scores = distance_offset / (distance.clamp(min=0.0) + distance_offset)  # precisions may be negative
    if normalisation == "walk":
        return field.pick(walk(adjacency, scores, edge_weight))
    weight = None if edge_weight is None else field.pick(edge_weight)
    return _normalised(field.hops[0].structure, field.pick(scores), normalisation, weight)


def _normalised(
    structure: SparseStructure, scores: Tensor, how: Literal["none", "softmax"], weight: Tensor | None
) -> Tensor:
    if weight is None:
        return normalise(structure, scores, how)
    return normalise(structure, scores + weight.log(), how) if how == "softmax" else scores * weight


def agreement(adjacency: SparseStructure, mu: Tensor, precision: Tensor) -> Tensor:
    r"""How likely the two ends of every edge are to share a label, (E,): the influence put right.

    .. math:: a_{uv} = \tfrac{1}{2} \mu_u^T (\Sigma_u^{-1} + \Sigma_v^{-1}) \mu_v, \qquad
              s_{uv} = \frac{(C - 1) a_{uv}}{(C - 1) a_{uv} + 1 - a_{uv}}

    a is the inner product whose distance is d_M: a quarter of
    :math:`(\mu_u^T M \mu_u + \mu_v^T M \mu_v - d_M(u, v))` for :math:`M = \Sigma_u^{-1} + \Sigma_v^{-1}`. So it falls
    with the distance, as the paper's 1 / d_M does, and rises with the precision of either end, where 1 / d_M falls: an
    unsure neighbour counts less. For precisions of one a is the probability that labels drawn from both ends are
    equal, which is 1/C for ends of which nothing is known; s is the probability of equal labels where before looking
    they are as likely equal as not.

    Shapes: ``mu`` (N, C), rows that sum to one; ``precision`` (N, C), from 0 to 1; of all sources of edges.
    """
    products, targets = kernels.kernels_for(mu).entry_products, adjacency.shape[0]
    weighted = precision * mu
    common = products(adjacency, weighted[:targets], mu) + products(adjacency, mu[:targets], weighted)
    common = common.mul_(0.5).clamp_(0.0, 1.0)
    odds = common * (mu.shape[1] - 1)
    return odds / (odds + (1.0 - common))


def walk(adjacency: SparseStructure, scores: Tensor, edge_weight: Tensor | None = None) -> Tensor:
    r"""Scores (E,) from 0 to 1 as the steps of a random walk, which stays where it is rather than go astray.

    .. math:: r_{uv} = (1 - \beta) \frac{w_{uv} s_{uv}}{\sum_{u' \ne v} w_{u'v}}, \qquad
              r_{vv} = 1 - \sum_{u \ne v} r_{uv}

    w is the ``edge_weight`` (E,), one without.

    Unlike a softmax it does not share out among the neighbours what none of them deserves: a node that nobody agrees
    with listens to itself. An edge's influence depends on nobody but its two ends.
    """
    is_loop = adjacency.indices == adjacency.rows
    if edge_weight is None:
        totals = adjacency.indptr.diff().sub_(1).clamp_(min=1).to(scores.dtype)
    else:
        totals = kernels.kernels_for(scores).sum_rows(adjacency, edge_weight.masked_fill(is_loop, 0.0))
        totals, scores = totals.masked_fill_(totals == 0.0, 1.0), scores * edge_weight
    weights = (scores * (1.0 - SELF_SHARE) / totals.index_select(0, adjacency.rows)).masked_fill_(is_loop, 0.0)
    rest = 1.0 - kernels.kernels_for(scores).sum_rows(adjacency, weights)
    return weights.masked_scatter_(is_loop, rest)


class _Influence(HandDerived):
    """ds/dd = -s^2 for s = 1 / (d + c), after the gradient of the normalisation."""

    @staticmethod
    def forward(
        ctx: Any,
        distance: Tensor,
        field: ReceptiveField,
        structure: SparseStructure,
        offset: float,
        how: str,
        logs: Tensor | None,
    ) -> Tensor:
        scores = (field.pick(distance) + offset).reciprocal_()
        if how == "softmax":
            weights = kernels.kernels_for(scores).softmax(structure, scores if logs is None else scores + logs)
        else:
            weights = scores.clone()
        ctx.edges, ctx.structure, ctx.shape, ctx.how = field.edges, structure, distance.shape, how
        ctx.save_for_backward(scores, weights)
        return weights

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        HandDerived.refuse_second_derivative()
        scores, weights = ctx.saved_tensors
        if ctx.how == "softmax":
            gradient = kernels.kernels_for(gradient).softmax_gradient(ctx.structure, weights, gradient)
        to_distance = scores.square().neg_().mul_(gradient)
        if ctx.edges is not None:
            to_distance = to_distance.new_zeros(ctx.shape).index_copy_(0, ctx.edges, to_distance)
        return to_distance, None, None, None, None, None
