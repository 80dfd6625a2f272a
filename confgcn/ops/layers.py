"""Layers that several methods share."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from confgcn.ops.products import matmul
from confgcn.sparse import SparseMatrix


class Linear(nn.Module):
    """x W + b, with Glorot and Bengio's uniform W.

    x may be given as several blocks of columns, dense or sparse, which have ``in_dim`` columns together.

    Shapes: blocks (rows, ...) -> (rows, ``out_dim``).
    """

    def __init__(self, in_dim: int, out_dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(in_dim, out_dim)))
        self.bias = nn.Parameter(torch.zeros(out_dim))

    def forward(self, *blocks: Tensor | SparseMatrix) -> Tensor:
        weights = self.weight.split([block.shape[1] for block in blocks])
        first, *others = map(matmul, blocks, weights)
        return sum(others, first + self.bias)


class GRUCell(nn.Module):
    r"""Cho and others 2014, as Li and others 2016 and Liao and others 2018 use it for the states of nodes.

    .. math:: i = \sigma(m W_i + h U_i + b_i), \quad r = \sigma(m W_r + h U_r + b_r), \quad
              u = \tanh(m W_u + (r \odot h) U_u + b_u), \quad h' = i \odot h + (1 - i) \odot u

    i is the gate that keeps the state, r the gate that resets it. The bias of i starts at one, as in Liao's code.
    torch's own cell resets after the product with :math:`U_u` instead of before, which is another function.

    Shapes: message and state (rows, ``dim``) -> (rows, ``dim``).
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.of_message = nn.Parameter(_side_by_side(dim, 3))  # W_i, W_r, W_u
        self.of_state = nn.Parameter(_side_by_side(dim, 2))  # U_i, U_r
        self.of_reset_state = nn.Parameter(_side_by_side(dim, 1))  # U_u
        self.bias = nn.Parameter(torch.cat([torch.ones(dim), torch.zeros(2 * dim)]))

    def forward(self, message: Tensor, state: Tensor) -> Tensor:
        dim = state.shape[1]
        gates, candidate = (message @ self.of_message + self.bias).split([2 * dim, dim], dim=1)
        keep, reset = torch.sigmoid(gates + state @ self.of_state).chunk(2, dim=1)
        update = torch.tanh(candidate + (reset * state) @ self.of_reset_state)
        return update + keep * (state - update)


def _side_by_side(dim: int, count: int) -> Tensor:
    """Square matrices, drawn independently, as one (dim, count * dim)."""
    return torch.cat([nn.init.xavier_uniform_(torch.empty(dim, dim)) for _ in range(count)], dim=1)
