"""Scores of edges made into weights: normalisation over the edges of a target."""

from __future__ import annotations

from typing import Any, Literal
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from confgcn.exceptions import unknown_name
from confgcn.kernels import kernels_for
from confgcn.ops.function import HandDerived
from confgcn.sparse import SparseStructure

Normalisation = Literal["none", "softmax", "sum", "symmetric"]


def normalise(adjacency: SparseStructure, scores: Tensor, how: Normalisation) -> Tensor:
    r"""Normalise edge scores (E,) over the edges of their target.

    ``softmax`` and ``sum``: weights of a target sum to one. ``symmetric``: :math:`s_{uv} / \sqrt{D_u D_v}` with
    :math:`D_v = \sum_u s_{uv}`, which for scores of one is Kipf and Welling's normalisation.
    """
    if how == "none":
        return scores
    if how not in _FUNCTIONS:
        raise unknown_name("normalisation", how, ["none", *_FUNCTIONS])
    weights: Tensor = _FUNCTIONS[how].of(scores, adjacency)
    return weights


_DEGREE_WEIGHTS: WeakKeyDictionary[SparseStructure, tuple[Tensor | None, Tensor]] = WeakKeyDictionary()


def degree_weights(adjacency: SparseStructure, dtype: torch.dtype, edge_weight: Tensor | None = None) -> Tensor:
    r"""Kipf and Welling's weights :math:`w_{uv} / \sqrt{D_u D_v}` over every edge, (E,), cached per adjacency.

    w is the ``edge_weight`` (E,), one without, and :math:`D_v = \sum_u w_{uv}`.
    """
    given, weights = _DEGREE_WEIGHTS.get(adjacency, (None, None))
    if weights is None or weights.dtype != dtype or given is not edge_weight:
        with torch.inference_mode(False):  # cached tensors are used in training too
            weights = normalise(adjacency, _weights_or_ones(adjacency, dtype, edge_weight), "symmetric")
        _DEGREE_WEIGHTS[adjacency] = (edge_weight, weights)
    return weights


def mean_weights(
    adjacency: SparseStructure, chosen: Tensor, dtype: torch.dtype, edge_weight: Tensor | None = None
) -> Tensor:
    """Weights that average over the chosen edges of a target, by their ``edge_weight``; zero where there are none.

    Shapes: ``chosen`` (E,), of bool; ``edge_weight`` (E,), one without -> (E,).
    """
    weights = chosen.to(dtype) if edge_weight is None else edge_weight.to(dtype) * chosen
    totals = kernels_for(weights).sum_rows(adjacency, weights)
    totals = totals.masked_fill_(totals == 0.0, 1.0)
    return weights / totals.index_select(0, adjacency.rows)


def _weights_or_ones(adjacency: SparseStructure, dtype: torch.dtype, edge_weight: Tensor | None) -> Tensor:
    return (
        torch.ones(adjacency.num_entries, dtype=dtype, device=adjacency.device)
        if edge_weight is None
        else edge_weight.to(dtype)
    )


class _Softmax(HandDerived):
    """w = softmax(s) over the edges of a target; dL/ds_e = w_e (g_e - sum_f w_f g_f)."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, adjacency: SparseStructure) -> Tensor:
        weights = kernels_for(scores).softmax(adjacency, scores)
        ctx.adjacency = adjacency
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        HandDerived.refuse_second_derivative()
        (weights,) = ctx.saved_tensors
        return kernels_for(gradient).softmax_gradient(ctx.adjacency, weights, gradient), None


class _Sum(HandDerived):
    """w_e = s_e / S_v; dL/ds_e = (g_e - sum_f w_f g_f) / S_v."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, adjacency: SparseStructure) -> Tensor:
        total = kernels_for(scores).sum_rows(adjacency, scores).index_select(0, adjacency.rows)
        weights = scores / total
        ctx.adjacency = adjacency
        ctx.save_for_backward(weights, total)
        return weights

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        HandDerived.refuse_second_derivative()
        weights, total = ctx.saved_tensors
        mean = kernels_for(gradient).sum_rows(ctx.adjacency, weights * gradient)
        return (gradient - mean.index_select(0, ctx.adjacency.rows)) / total, None


class _Symmetric(HandDerived):
    """w_e = s_e / sqrt(D_u D_v); dL/ds_e = g_e w_e / s_e - (sum of g w over all edges at v, in and out) / 2 D_v."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, adjacency: SparseStructure) -> Tensor:
        root = kernels_for(scores).sum_rows(adjacency, scores).rsqrt()
        factor = root.index_select(0, adjacency.indices) * root.index_select(0, adjacency.rows)
        ctx.adjacency = adjacency
        ctx.save_for_backward(scores, factor, root)
        return scores * factor

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        HandDerived.refuse_second_derivative()
        scores, factor, root = ctx.saved_tensors
        transposed, order = ctx.adjacency.transposed
        at_edges = gradient * scores * factor
        sums = kernels_for(gradient).sum_rows(ctx.adjacency, at_edges)
        sums += kernels_for(gradient).sum_rows(transposed, at_edges.index_select(0, order))
        through_degree = (0.5 * sums * root.square()).index_select(0, ctx.adjacency.rows)
        return gradient * factor - through_degree, None


_FUNCTIONS: dict[str, type[HandDerived]] = {"softmax": _Softmax, "sum": _Sum, "symmetric": _Symmetric}
