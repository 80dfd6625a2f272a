"""Edge maths with gradients: the three operators that every aggregating method is built from.

Edges are those of a graph's ``adjacency``: row = target, column = source, self loops included.
"""

from __future__ import annotations

from typing import Any, Literal

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
    difference = at_source(adjacency, mu) - at_target(adjacency, mu)  # (E, C)
    precisions = at_source(adjacency, precision) + at_target(adjacency, precision)  # (E, C)
    return (difference.square() * precisions).sum(-1)


def normalise(adjacency: SparseStructure, scores: Tensor, how: Normalisation) -> Tensor:
    r"""Normalise edge scores (E,) over the edges of their target.

    ``softmax``: weights of a target sum to one. ``symmetric``: :math:`s_{uv} / \sqrt{D_u D_v}` with
    :math:`D_v = \sum_u s_{uv}`, which for scores of one is Kipf and Welling's normalisation.
    """
    if how == "none":
        return scores
    if how == "softmax":
        return _edge_softmax(adjacency, scores)
    root = sum_by_target(adjacency, scores).rsqrt()
    return scores * at_source(adjacency, root) * at_target(adjacency, root)


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


def at_source(adjacency: SparseStructure, values: Tensor) -> Tensor:
    """The value of each edge's source, (N, ...) -> (E, ...)."""
    return _gather(values, adjacency.indices, adjacency.transposed)


def at_target(adjacency: SparseStructure, values: Tensor) -> Tensor:
    """The value of each edge's target, (N, ...) -> (E, ...)."""
    return _gather(values, adjacency.rows, (adjacency, None))


def sum_by_target(adjacency: SparseStructure, values: Tensor) -> Tensor:
    """Sum over the edges of each target, (E, ...) -> (N, ...)."""
    summed: Tensor = _SumByTarget.apply(values, adjacency)  # type: ignore[no-untyped-call]
    return summed


def _edge_softmax(adjacency: SparseStructure, scores: Tensor) -> Tensor:
    # Shifting by the largest score of each target changes nothing but keeps exp() in range.
    highest = scores.new_full((adjacency.shape[0],), -torch.inf)
    highest = highest.scatter_reduce(0, adjacency.rows, scores.detach(), "amax")
    exponential = (scores - at_target(adjacency, highest)).exp()
    return exponential / at_target(adjacency, sum_by_target(adjacency, exponential))


def _gather(values: Tensor, index: Tensor, groups: tuple[SparseStructure, Tensor | None]) -> Tensor:
    gathered: Tensor = _Gather.apply(values, index, groups)  # type: ignore[no-untyped-call]
    return gathered


class _Gather(torch.autograd.Function):
    """values[index]; its gradient sums over groups of edges in a fixed order, so it has the same bits every time."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, index: Tensor, groups: tuple[SparseStructure, Tensor | None]) -> Tensor:
        ctx.groups = groups
        return values[index]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        structure, order = ctx.groups
        (gradient,) = gradients
        return _segment_sum(structure, gradient if order is None else gradient[order]), None, None


class _SumByTarget(torch.autograd.Function):
    """The adjoint of gathering at the target."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, adjacency: SparseStructure) -> Tensor:
        ctx.adjacency = adjacency
        return _segment_sum(adjacency, values)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return gradients[0][ctx.adjacency.rows], None


def _segment_sum(structure: SparseStructure, values: Tensor) -> Tensor:
    return torch.segment_reduce(values.contiguous(), "sum", offsets=structure.indptr, axis=0)
