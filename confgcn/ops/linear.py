"""A linear layer that takes dense and sparse features alike."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from confgcn.ops.product import matmul
from confgcn.sparse import SparseMatrix


class Linear(nn.Module):
    """x W + b, with Glorot and Bengio's uniform W.

    x may be given in parts that stand side by side, dense and sparse ones mixed.

    Shapes: parts (rows, ...) of ``in_dim`` columns in all -> (rows, ``out_dim``).
    """

    def __init__(self, in_dim: int, out_dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(in_dim, out_dim)))
        self.bias = nn.Parameter(torch.zeros(out_dim))

    def forward(self, *parts: Tensor | SparseMatrix) -> Tensor:
        weights = self.weight.split([part.shape[1] for part in parts])
        first, *others = map(matmul, parts, weights)
        return sum(others, first + self.bias)
