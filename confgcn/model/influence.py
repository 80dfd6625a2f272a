"""The influence r_uv of a node u on its neighbour v."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from confgcn.ops import normalise
from confgcn.sparse import SparseStructure

InfluenceScore = Literal["distance", "uniform"]
InfluenceNormalisation = Literal["none", "softmax"]


def influence(
    adjacency: SparseStructure,
    distance: Tensor,
    *,
    score: InfluenceScore,
    distance_offset: float,
    normalisation: InfluenceNormalisation,
) -> Tensor:
    r"""Influence over every edge (section 5), (E,).

    .. math:: r_{uv} = \frac{1}{d_M(u,v) + c}

    The offset :math:`c` is not printed in the paper; without it the self loop, whose distance is zero, would
    have infinite influence. The released code then takes a softmax over N(v). ``uniform`` gives every edge a
    score of one before normalisation: the control that shows what the confidences contribute.
    """
    scores = torch.ones_like(distance) if score == "uniform" else 1.0 / (distance + distance_offset)
    return normalise(adjacency, scores, normalisation)
