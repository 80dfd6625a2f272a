"""The influence r_uv of a node u on its neighbour v, from their label distributions."""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from confgcn import kernels
from confgcn.exceptions import DataError
from confgcn.ops import edge_softmax
from confgcn.sparse import SparseStructure


def inverse_distance(distance: Tensor, *, offset: float) -> Tensor:
    r"""The influence of section 5, before any normalisation, (E,).

    .. math:: s_{uv} = \frac{1}{d_M(u,v) + c}

    The offset c is not printed in the paper. Without it a self loop, whose distance is zero, has infinite influence.
    """
    return (distance + offset).reciprocal()


def agreement(adjacency: SparseStructure, mu: Tensor, precision: Tensor) -> Tensor:
    r"""The probability that the two ends of an edge have the same label, (E,).

    .. math:: a_{uv} = \tfrac{1}{2} \mu_u^T (\Sigma_u^{-1} + \Sigma_v^{-1}) \mu_v, \qquad
              s_{uv} = \frac{(C - 1) a_{uv}}{(C - 1) a_{uv} + 1 - a_{uv}}

    a is the inner product that belongs to d_M: a quarter of
    :math:`\mu_u^T M \mu_u + \mu_v^T M \mu_v - d_M(u, v)` for :math:`M = \Sigma_u^{-1} + \Sigma_v^{-1}`. It falls with
    the distance, as 1 / d_M does. It rises with the precision of either end, where 1 / d_M falls. For precisions of
    one, a is the probability that labels drawn from both ends are equal, 1/C if nothing is known. s is the probability
    of equal labels under a prior of one half.

    Shapes: ``mu`` (N, C), rows that sum to one; ``precision`` (N, C), from 0 to 1; of all sources of edges.
    """
    products, targets = kernels.kernels_for(mu).entry_products, adjacency.shape[0]
    weighted = precision * mu
    a = products(adjacency, weighted[:targets], mu) + products(adjacency, mu[:targets], weighted)
    a = a.mul_(0.5).clamp_(0.0, 1.0)
    odds = a * (mu.shape[1] - 1)
    return odds / (odds + (1.0 - a))


def normalised(
    structure: SparseStructure, scores: Tensor, how: Literal["none", "softmax"], edge_weight: Tensor | None = None
) -> Tensor:
    r"""Scores as influences: :math:`r_{uv} = w_{uv} s_{uv}`, or a softmax over N(v) in which an edge counts w times."""
    if how == "none":
        return scores if edge_weight is None else scores * edge_weight
    return edge_softmax(structure, scores if edge_weight is None else scores + edge_weight.log())


def walk(adjacency: SparseStructure, scores: Tensor, edge_weight: Tensor | None = None, *, self_share: float) -> Tensor:
    r"""Scores (E,) from 0 to 1 as transition probabilities of a random walk that may stay at its node, (E,).

    .. math:: r_{uv} = (1 - \rho) \frac{w_{uv} s_{uv}}{\sum_{u' \ne v} w_{u'v}}, \qquad
              r_{vv} = 1 - \sum_{u \ne v} r_{uv}

    Low scores are not scaled up, as a softmax over N(v) would do: without agreeing neighbours a node keeps its own
    value. The influence of an edge depends on its two ends only. The structure must have a self loop at every node;
    ``self_share`` is :math:`\rho`.
    """
    is_loop = adjacency.indices == adjacency.rows
    if not is_loop.is_meta and (loops := int(is_loop.sum())) != adjacency.shape[0]:
        raise DataError(
            f"walk: expected one self loop per node, {adjacency.shape[0]}, got {loops}; Graph.build adds them"
        )
    if edge_weight is None:
        totals = adjacency.indptr.diff().sub_(1).clamp_(min=1).to(scores.dtype)
    else:
        totals = kernels.kernels_for(scores).sum_rows(adjacency, edge_weight.masked_fill(is_loop, 0.0))
        totals, scores = totals.masked_fill_(totals == 0.0, 1.0), scores * edge_weight
    weights = (scores * (1.0 - self_share) / totals.index_select(0, adjacency.rows)).masked_fill_(is_loop, 0.0)
    rest = 1.0 - kernels.kernels_for(scores).sum_rows(adjacency, weights)
    return weights.masked_scatter_(is_loop, rest)
