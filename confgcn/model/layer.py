"""One graph convolution whose neighbours are weighed by their influence."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from confgcn.ops import convolve
from confgcn.sparse import SparseMatrix, SparseStructure


class ConfidenceConvolution(nn.Module):
    r"""A layer of ConfGCN before its activation (section 5).

    .. math:: h_v^{k+1} = f\left(\sum_{u \in N(v)} r_{uv} (W^k h_u^k + b^k)\right)

    Shapes: features (sources, in), influence (E,) -> (targets, out).
    """

    def __init__(self, in_features: int, out_features: int, *, bias: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(in_features, out_features))
        self.bias = nn.Parameter(torch.empty(out_features)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.xavier_uniform_(self.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(
        self, structure: SparseStructure, influence: Tensor, features: Tensor | SparseMatrix, *, dropout: float
    ) -> Tensor:
        return convolve(structure, influence, features, self.weight, self.bias, dropout=dropout)
