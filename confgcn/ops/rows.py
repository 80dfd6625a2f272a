"""Operators on the rows of a dense (N, C)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from confgcn.kernels import kernels_for
from confgcn.ops.function import HandDerived
from confgcn.ops.product import aggregate
from confgcn.sparse import SparseStructure


def softmax(scores: Tensor) -> Tensor:
    """softmax of every row, (N, C)."""
    probabilities: Tensor = _Softmax.of(scores)
    return probabilities


def rows_at(values: Tensor, nodes: Tensor) -> Tensor:
    """The rows of these nodes, none of them named twice, (N, C) -> (n, C)."""
    rows: Tensor = _RowsAt.of(values, nodes)
    return rows


def gather(values: Tensor, nodes: Tensor) -> Tensor:
    """The rows of these nodes, some of them named more than once, (N, C) -> (n, C).

    A product with a matrix that has a single one in each row: its gradient is added up in one order.
    """
    structure = SparseStructure(torch.arange(len(nodes) + 1, device=nodes.device), nodes, (len(nodes), values.shape[0]))
    return aggregate(structure, values.new_ones(len(nodes)), values)


class _Softmax(HandDerived):
    """p = softmax(s); dL/ds_c = p_c (g_c - sum_d p_d g_d)."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor) -> Tensor:
        probabilities = kernels_for(scores).dense_softmax(scores)
        ctx.save_for_backward(probabilities)
        return probabilities

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        HandDerived.refuse_second_derivative()
        (probabilities,) = ctx.saved_tensors
        return kernels_for(gradient).dense_softmax_gradient(probabilities, gradient)


class _RowsAt(HandDerived):
    """values[nodes]; since no node is named twice, its gradient is put in place and nothing is added up."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, nodes: Tensor) -> Tensor:
        ctx.shape = values.shape
        ctx.save_for_backward(nodes)
        return values.index_select(0, nodes)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        HandDerived.refuse_second_derivative()
        (nodes,) = ctx.saved_tensors
        return gradient.new_zeros(ctx.shape).index_copy_(0, nodes, gradient), None
