"""Graph convolutions whose neighbours are weighed by their influence."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from confgcn.ops import Halo, convolve, matmul, propagate
from confgcn.ops import dropout as dropped
from confgcn.sparse import SparseMatrix, SparseStructure


class ConfidenceConvolution(nn.Module):
    r"""A layer of ConfGCN before its activation (section 5).

    .. math:: h_v^{k+1} = f\left(\sum_{u \in N(v)} r_{uv} (W^k h_u^k + b^k)\right)

    With K ``steps`` the mean over a walk takes the place of the sum, and D drops the messages of whole nodes:

    .. math:: h^{k+1} = f\left(\frac{1}{K + 1} \sum_{i=0}^{K} R^i D(W^k h^k + b^k)\right)

    In a part of a graph it is the messages :math:`W^k h_u^k + b^k` that are borrowed of other parts, and not the
    features: they are narrower, and every neighbour hears the same dropout.

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
        self,
        structure: SparseStructure,
        influence: Tensor,
        features: Tensor | SparseMatrix,
        *,
        dropout: float = 0.0,
        node_dropout: float = 0.0,
        steps: int = 0,
        halo: Halo | None = None,
    ) -> Tensor:
        if not steps:
            return convolve(structure, influence, features, self.weight, self.bias, dropout=dropout, halo=halo)
        message = matmul(dropped(features, dropout, training=True), self.weight)
        if self.bias is not None:
            message = message + self.bias
        return propagate(structure, influence, _drop_rows(message, node_dropout), steps=steps, halo=halo)


def _drop_rows(values: Tensor, rate: float) -> Tensor:
    kept = dropped(values.new_ones(len(values), 1), rate, training=True)
    assert isinstance(kept, Tensor)
    return values * kept if rate else values
