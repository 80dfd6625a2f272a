"""The linear layer: parts side by side are their concatenation, dense, sparse or mixed."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from confgcn.ops import Linear
from confgcn.sparse import SparseMatrix, SparseStructure

pytestmark = pytest.mark.usefixtures("each_kernels")

ROWS = 5


def random_layer(in_dim: int) -> Linear:
    layer = Linear(in_dim, 3).double()
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter)
    return layer


def random_dense(columns: int) -> Tensor:
    """Half of it zeros, one row nothing else."""
    values = torch.randn(ROWS, columns, dtype=torch.float64).clamp(min=0)
    values[2] = 0
    return values


def as_sparse(dense: Tensor) -> SparseMatrix:
    rows, columns = dense.nonzero(as_tuple=True)
    indptr = torch.cat([torch.zeros(1, dtype=torch.long), torch.bincount(rows, minlength=ROWS).cumsum(0)])
    return SparseMatrix(SparseStructure(indptr, columns.contiguous(), tuple(dense.shape)), dense[rows, columns])


@pytest.mark.parametrize("sparse", [(), (0,), (1,), (2,), (0, 2), (0, 1, 2)], ids=str)
def test_parts_side_by_side_are_their_concatenation(sparse: tuple[int, ...]) -> None:
    parts = [random_dense(columns) for columns in (2, 6, 1)]
    layer = random_layer(9)
    given = [as_sparse(part) if number in sparse else part for number, part in enumerate(parts)]
    ours, theirs = layer(*given), torch.cat(parts, dim=1) @ layer.weight + layer.bias
    torch.testing.assert_close(ours, theirs)
    gradients = (torch.autograd.grad(y.square().sum(), list(layer.parameters())) for y in (ours, theirs))
    torch.testing.assert_close(*gradients)


def test_one_part_may_be_all() -> None:
    features, layer = random_dense(4), random_layer(4)
    expected = features @ layer.weight + layer.bias
    torch.testing.assert_close(layer(features), expected)
    torch.testing.assert_close(layer(as_sparse(features)), expected)


def test_a_bias_starts_at_zero_and_weights_within_the_bounds_of_glorot_and_bengio() -> None:
    layer = Linear(200, 100)
    assert not layer.bias.any()
    bound = (6 / 300) ** 0.5
    assert 0.99 * bound < layer.weight.abs().max() <= bound
