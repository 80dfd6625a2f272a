"""The layer of the preset ``consensus``, whose messages an explainer of PyG can mask."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.nn import MessagePassing

from confgcn.ops import dropout, matmul


class ConfidenceConv(MessagePassing):  # type: ignore[misc]  # PyG carries no annotations
    r"""The mean over a walk of K steps along the influences, before its activation.

    .. math:: h' = \frac{1}{K + 1} \sum_{i=0}^{K} R^i D(W h + b)

    D drops the messages of whole nodes in training. What a node hears from itself is no message: it is added beside.

    Args:
        in_channels, out_channels: width of the input and of the output.
        steps: K.
        dropout, node_dropout: of single inputs and of whole nodes.

    Shapes: x (N, in), edge_index (2, E), influence (E,) of the edges and (N,) of nodes on themselves -> (N, out).
    """

    def __init__(
        self, in_channels: int, out_channels: int, *, steps: int, dropout: float = 0.0, node_dropout: float = 0.0
    ) -> None:
        super().__init__(aggr="add")
        self.in_channels, self.out_channels = in_channels, out_channels
        self.steps, self.dropout, self.node_dropout = steps, dropout, node_dropout
        self.weight = nn.Parameter(torch.empty(in_channels, out_channels))
        self.bias = nn.Parameter(torch.empty(out_channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        nn.init.xavier_uniform_(self.weight)
        nn.init.zeros_(self.bias)

    def forward(self, x: Tensor, edge_index: Tensor, influence: Tensor, on_itself: Tensor) -> Tensor:
        values = matmul(dropout(x, self.dropout, training=self.training), self.weight) + self.bias
        kept = functional.dropout(values.new_ones(len(values), 1), self.node_dropout, self.training)
        values = values * kept
        total = values
        for _ in range(self.steps):
            heard = self.propagate(edge_index, x=total, influence=influence)
            total = heard + on_itself[:, None] * total + values
        return total / (self.steps + 1)

    def message(self, x_j: Tensor, influence: Tensor) -> Tensor:
        return influence[:, None] * x_j

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, steps={self.steps})"
