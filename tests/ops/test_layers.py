"""The linear layer on blocks of columns, and the gated recurrent unit by its printed equations."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from confgcn.ops import GRUCell, Linear
from confgcn.sparse import SparseMatrix, SparseStructure

pytestmark = pytest.mark.usefixtures("each_kernels")

ROWS, DIM = 5, 4


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
def test_blocks_of_columns_are_their_concatenation(sparse: tuple[int, ...]) -> None:
    parts = [random_dense(columns) for columns in (2, 6, 1)]
    layer = random_layer(9)
    given = [as_sparse(part) if number in sparse else part for number, part in enumerate(parts)]
    ours, theirs = layer(*given), torch.cat(parts, dim=1) @ layer.weight + layer.bias
    torch.testing.assert_close(ours, theirs)
    gradients = (torch.autograd.grad(y.square().sum(), list(layer.parameters())) for y in (ours, theirs))
    torch.testing.assert_close(*gradients)


def test_one_block_may_be_all() -> None:
    features, layer = random_dense(4), random_layer(4)
    expected = features @ layer.weight + layer.bias
    torch.testing.assert_close(layer(features), expected)
    torch.testing.assert_close(layer(as_sparse(features)), expected)


def test_a_bias_starts_at_zero_and_weights_within_the_bounds_of_glorot_and_bengio() -> None:
    layer = Linear(200, 100)
    assert not layer.bias.any()
    bound = (6 / 300) ** 0.5
    assert 0.99 * bound < layer.weight.abs().max() <= bound


@pytest.fixture
def cell() -> GRUCell:
    cell = GRUCell(DIM).double()
    for parameter in cell.parameters():
        torch.nn.init.normal_(parameter)
    return cell


def printed(cell: GRUCell, m: Tensor, h: Tensor) -> Tensor:
    w_i, w_r, w_u = (cell.of_message[:, first : first + DIM] for first in (0, DIM, 2 * DIM))
    u_i, u_r = cell.of_state[:, :DIM], cell.of_state[:, DIM:]
    b_i, b_r, b_u = (cell.bias[first : first + DIM] for first in (0, DIM, 2 * DIM))
    i = 1 / (1 + torch.exp(-(m @ w_i + h @ u_i + b_i)))
    r = 1 / (1 + torch.exp(-(m @ w_r + h @ u_r + b_r)))
    u = torch.tanh(m @ w_u + (r * h) @ cell.of_reset_state + b_u)
    return i * h + (1 - i) * u


def test_the_new_state_is_that_of_the_printed_equations(cell: GRUCell) -> None:
    message, state = torch.randn(2, 7, DIM, dtype=torch.float64)
    ours, theirs = cell(message, state), printed(cell, message, state)
    torch.testing.assert_close(ours, theirs)
    gradients = (torch.autograd.grad(y.square().sum(), list(cell.parameters())) for y in (ours, theirs))
    torch.testing.assert_close(*gradients)


def test_a_row_does_not_depend_on_others(cell: GRUCell) -> None:
    message, state = torch.randn(2, 7, DIM, dtype=torch.float64)
    torch.testing.assert_close(cell(message[2:3], state[2:3])[0], cell(message, state)[2])
    assert cell(message[:0], state[:0]).shape == (0, DIM)


def test_a_gate_that_is_open_keeps_the_state(cell: GRUCell) -> None:
    message, state = torch.randn(2, 7, DIM, dtype=torch.float64)
    torch.nn.init.constant_(cell.bias[:DIM], 1e4)
    torch.testing.assert_close(cell(message, state), state)


def test_the_bias_starts_at_one_where_it_keeps_and_else_at_zero() -> None:
    assert GRUCell(DIM).bias.tolist() == [1.0] * DIM + [0.0] * (2 * DIM)


def test_matrices_start_within_the_bounds_of_a_square_one() -> None:
    cell = GRUCell(64)
    for matrices in (cell.of_message, cell.of_state, cell.of_reset_state):
        for matrix in matrices.split(64, dim=1):
            assert 0.95 * (6 / 128) ** 0.5 < matrix.abs().max() <= (6 / 128) ** 0.5
