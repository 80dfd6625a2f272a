"""Edge maths with gradients: the three operators that every aggregating method is built from.

Edges are those of a graph's ``adjacency``: row = target, column = source, self loops included.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from confgcn.sparse import SparseMatrix, SparseStructure

Normalisation = Literal["none", "softmax", "symmetric"]


def edge_distance(adjacency: SparseStructure, mu: Tensor, precision: Tensor) -> Tensor:
    r"""Mahalanobis distance over every edge (section 5 of the paper), (E,).

    .. math:: d_M(u,v) = (\mu_u - \mu_v)^T (\Sigma_u^{-1} + \Sigma_v^{-1}) (\mu_u - \mu_v)

    Shapes: ``mu`` (N, C), ``precision`` (N, C): the diagonal of the inverse covariance.
    """
    source, target = adjacency.indices, adjacency.rows
    difference = mu[source] - mu[target]  # (E, C)
    return (difference.square() * (precision[source] + precision[target])).sum(-1)


def normalise(adjacency: SparseStructure, scores: Tensor, how: Normalisation) -> Tensor:
    r"""Normalise edge scores (E,) over the edges of their target.

    ``softmax``: weights of a target sum to one. ``symmetric``: :math:`s_{uv} / \sqrt{D_u D_v}` with
    :math:`D_v = \sum_u s_{uv}`, which for scores of one is Kipf and Welling's normalisation.
    """
    if how == "none":
        return scores
    if how == "softmax":
        return _edge_softmax(adjacency, scores)
    root = _sum_by_target(adjacency, scores).rsqrt()
    return scores * root[adjacency.indices] * root[adjacency.rows]


def aggregate(adjacency: SparseStructure, weights: Tensor, values: Tensor) -> Tensor:
    """Sum over the edges of each target of weight (E,) times the source's row of values (N, width)."""
    return adjacency.matmul(weights, values)


def dropout(features: Tensor | SparseMatrix, probability: float, *, training: bool) -> Tensor | SparseMatrix:
    """Dropout; on sparse features it falls on the stored non-zeros and the structure stays."""
    if not training or probability == 0.0:
        return features
    if isinstance(features, SparseMatrix):
        return features.with_values(functional.dropout(features.values, probability))
    return functional.dropout(features, probability)


def _edge_softmax(adjacency: SparseStructure, scores: Tensor) -> Tensor:
    target = adjacency.rows
    # Shifting by the largest score of each target changes nothing but keeps exp() in range.
    highest = scores.new_full((adjacency.shape[0],), -torch.inf)
    highest = highest.scatter_reduce(0, target, scores.detach(), "amax")
    exponential = (scores - highest[target]).exp()
    return exponential / _sum_by_target(adjacency, exponential)[target]


def _sum_by_target(adjacency: SparseStructure, values: Tensor) -> Tensor:
    return values.new_zeros(adjacency.shape[0]).index_add(0, adjacency.rows, values)
