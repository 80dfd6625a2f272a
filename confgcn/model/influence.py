"""The influence r_uv of a node u on its neighbour v."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor

from confgcn import kernels
from confgcn.ops import normalise
from confgcn.ops.function import HandDerived
from confgcn.receptive_field import ReceptiveField
from confgcn.sparse import SparseStructure

InfluenceScore = Literal["distance", "uniform"]
InfluenceNormalisation = Literal["none", "softmax"]


def influence(
    field: ReceptiveField,
    distance: Tensor,
    *,
    score: InfluenceScore,
    distance_offset: float,
    normalisation: InfluenceNormalisation,
) -> Tensor:
    r"""Influence over every edge of the field (section 5), from the distance over all edges (E,).

    .. math:: r_{uv} = \frac{1}{d_M(u,v) + c}

    The offset :math:`c` is not printed in the paper; without it the self loop, whose distance is zero, would
    have infinite influence. The released code then takes a softmax over N(v). ``uniform`` gives every edge a
    score of one before normalisation: the control that shows what the confidences contribute.
    """
    structure = field.hops[0].structure  # of the targets that the field reads, with all their edges
    if score == "uniform":
        return normalise(structure, torch.ones_like(field.pick(distance.detach())), normalisation)
    weights: Tensor = _Influence.of(distance, field, structure, distance_offset, normalisation)
    return weights


class _Influence(HandDerived):
    """ds/dd = -s^2 for s = 1 / (d + c), after the gradient of the normalisation."""

    @staticmethod
    def forward(
        ctx: Any, distance: Tensor, field: ReceptiveField, structure: SparseStructure, offset: float, how: str
    ) -> Tensor:
        scores = (field.pick(distance) + offset).reciprocal_()
        weights = kernels.active().softmax(structure, scores) if how == "softmax" else scores.clone()
        ctx.edges, ctx.structure, ctx.shape, ctx.how = field.edges, structure, distance.shape, how
        ctx.save_for_backward(scores, weights)
        return weights

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        HandDerived.refuse_second_derivative()
        scores, weights = ctx.saved_tensors
        if ctx.how == "softmax":
            gradient = kernels.active().softmax_gradient(ctx.structure, weights, gradient)
        to_distance = scores.square().neg_().mul_(gradient)
        if ctx.edges is not None:
            to_distance = to_distance.new_zeros(ctx.shape).index_copy_(0, ctx.edges, to_distance)
        return to_distance, None, None, None, None
