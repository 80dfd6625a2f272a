"""Sums over neighbours and products with features against loops, with heads and on structures that are not square."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck

from confgcn.ops import aggregate, matmul
from confgcn.sparse import SparseMatrix, SparseStructure

pytestmark = pytest.mark.usefixtures("each_kernels")

every_heads = pytest.mark.parametrize("heads", [(), (1,), (3,)], ids=str)


def slow_aggregate(structure: SparseStructure, weights: Tensor, values: Tensor) -> Tensor:
    sums = values.new_zeros(structure.shape[0], *values.shape[1:])
    for e, (target, source) in enumerate(zip(structure.rows.tolist(), structure.indices.tolist(), strict=True)):
        sums[target] += weights[e].unsqueeze(-1) * values[source]
    return sums


def random_arguments(structure: SparseStructure, heads: tuple[int, ...], width: int) -> tuple[Tensor, Tensor]:
    weights = torch.randn(structure.num_entries, *heads, dtype=torch.float64)
    values = torch.randn(structure.shape[1], *heads, width, dtype=torch.float64)
    return weights.requires_grad_(), values.requires_grad_()


@every_heads
@pytest.mark.parametrize("width", [1, 4, 17])
def test_aggregate_equals_loops(structure: SparseStructure, heads: tuple[int, ...], width: int) -> None:
    weights, values = random_arguments(structure, heads, width)
    expected = slow_aggregate(structure, weights, values)
    torch.testing.assert_close(aggregate(structure, weights, values), expected, rtol=1e-12, atol=1e-12)


@every_heads
def test_gradient_of_aggregate(structure: SparseStructure, heads: tuple[int, ...]) -> None:
    assert gradcheck(partial(aggregate, structure), random_arguments(structure, heads, 3))


def test_a_gradient_that_is_one_number_for_all_goes_back_right(structure: SparseStructure) -> None:
    variables = random_arguments(structure, (), 3)
    product = aggregate(structure, *variables)
    one = torch.ones((), dtype=torch.float64)
    ours, theirs = (
        torch.autograd.grad(product, variables, gradient, retain_graph=True)
        for gradient in (one.expand(product.shape), torch.ones_like(product))
    )
    torch.testing.assert_close(ours, theirs, rtol=0.0, atol=0.0)


def test_matmul_of_sparse_features(structure: SparseStructure) -> None:
    values, weight = random_arguments(structure, (), 4)
    dense = torch.zeros(structure.shape, dtype=torch.float64)
    dense[structure.rows, structure.indices] = values.detach()
    ours = matmul(SparseMatrix(structure, values), weight)
    torch.testing.assert_close(ours, dense @ weight, rtol=1e-12, atol=1e-12)
    assert gradcheck(lambda v, w: matmul(SparseMatrix(structure, v), w), (values, weight))


def test_matmul_of_dense_features() -> None:
    features, weight = torch.randn(5, 3), torch.randn(3, 2)
    torch.testing.assert_close(matmul(features, weight), features @ weight)
