"""The graph layers of the paper: sums over neighbours, weighted by their influence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from confgcn.graph.receptive_field import ReceptiveField
from confgcn.ops import Halo, convolve
from confgcn.sparse import SparseMatrix, SparseStructure

Activation = Literal["relu", "identity"]
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": functional.relu, "identity": lambda hidden: hidden}


class ConfidenceConvolution(nn.Module):
    r"""A layer of ConfGCN before its activation (section 5).

    .. math:: \sum_{u \in N(v)} r_{uv} (W^k h_u^k + b^k)

    Shards exchange the messages :math:`W^k h_u^k + b^k` and not the features, which are wider: all targets of a source
    receive the message with the same dropout.

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
        halo: Halo | None = None,
    ) -> Tensor:
        return convolve(structure, influence, features, self.weight, self.bias, dropout=dropout, halo=halo)


def graph_layers(widths: Sequence[int], *, bias: bool) -> nn.ModuleList:
    """A layer between each two widths."""
    return nn.ModuleList(ConfidenceConvolution(before, after, bias=bias) for before, after in pairwise(widths))


def apply_layers(
    layers: nn.ModuleList,
    field: ReceptiveField,
    influence: Tensor,
    *,
    activation: str,
    dropout: float,
    halo: Halo | None,
) -> Tensor:
    r""":math:`h^{k+1} = f(\sum_u r_{uv} (W^k D(h_u^k) + b^k))`; the last sum is returned before its activation f.

    Shapes: ``influence`` over the edges of the field -> (nodes, width of the last layer).
    """
    hidden: Tensor | SparseMatrix = field.features
    for hop, layer in zip(field.hops, layers, strict=True):
        inputs = ACTIVATIONS[activation](hidden) if isinstance(hidden, Tensor) and layer is not layers[0] else hidden
        hidden = layer(hop.structure, hop.pick(influence), inputs, dropout=dropout, halo=halo)
    assert isinstance(hidden, Tensor)
    return hidden


def dense_layer(in_features: int, out_features: int) -> nn.Linear:
    """A linear layer with Xavier's initial weights."""
    dense = nn.Linear(in_features, out_features)
    nn.init.xavier_uniform_(dense.weight)
    nn.init.zeros_(dense.bias)
    return dense
