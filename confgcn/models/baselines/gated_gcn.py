"""G-GCN: a graph convolution with a gate for every message."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional

from confgcn.exceptions import check_choice
from confgcn.graph import Graph
from confgcn.graph.receptive_field import Hop
from confgcn.models.base import InductiveMethod, Prediction, Shape
from confgcn.models.ranges import Depth, DropoutRate, NonNegative, Width
from confgcn.ops import aggregate, degree_weights, dropout, matmul
from confgcn.sparse import SparseMatrix

Normalisation = Literal["symmetric", "none"]
Gate = Literal["edge", "node"]


class GatedGCN(InductiveMethod):
    r"""Marcheggiani, Titov: Encoding sentences with graph convolutional networks, EMNLP 2017.

    .. math:: h_v' = f\left(\sum_{u \in N(v)} a_{uv} \, g_u \, h_u W\right), \quad g_u = \sigma(h_u \hat{w} + \hat{b})

    The gate of an edge depends on its source, as in the paper. The graph is undirected, so neighbours and the node
    itself share W and :math:`\hat{w}`. With gates of one it equals Kipf-GCN.

    Args:
        normalisation: of the weights a: ``symmetric`` as in Kipf-GCN, ``none`` as in the paper.
        gate: ``edge`` as in the paper; ``node`` gates the sum by :math:`\sigma(\sum_u a_{uv} (h_u \hat{w} + \hat{b}))`
            instead.
    """

    def __init__(
        self,
        shape: Shape,
        *,
        hidden_dim: Width = 16,
        num_layers: Depth = 2,
        dropout: DropoutRate = 0.5,
        weight_decay: NonNegative = 5e-4,
        normalisation: Normalisation = "symmetric",
        gate: Gate = "edge",
    ) -> None:
        super().__init__()
        check_choice("normalisation", normalisation, get_args(Normalisation))
        check_choice("gate", gate, get_args(Gate))
        self.dropout = dropout
        self.weight_decay = weight_decay
        self.normalisation = normalisation
        widths = [shape.num_features, *[hidden_dim] * (num_layers - 1), shape.num_classes]
        self.layers = nn.ModuleList(GatedConvolution(before, after, gate=gate) for before, after in pairwise(widths))

    def forward(self, graph: Graph, nodes: Tensor | None = None) -> Prediction:
        field = graph.receptive_field(nodes, depth=len(self.layers))
        weights = degree_weights(graph.adjacency, next(self.parameters()).dtype, graph.edge_weight)
        if self.normalisation == "none":
            weights = torch.ones_like(weights) if graph.edge_weight is None else graph.edge_weight
        edge_weights = field.pick(weights)
        hidden: Any = field.features
        for number, (hop, layer) in enumerate(zip(field.hops, self.layers, strict=True)):
            hidden = hidden if number == 0 else functional.relu(hidden)
            dropped = dropout(hidden, self.dropout, training=self.training)
            hidden = layer(hop, hop.pick(edge_weights), dropped)
        return Prediction(hidden, nodes=nodes)

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Weight decay on the first layer with its gate, as in Kipf-GCN."""
        first, *others = self.layers
        rest = [parameter for layer in others for parameter in layer.parameters()]
        return [{"params": list(first.parameters()), "weight_decay": self.weight_decay}, {"params": rest}]


class GatedConvolution(nn.Module):
    """One layer before its activation. Shapes: (sources, in) -> (targets, out)."""

    def __init__(self, in_dim: int, out_dim: int, *, gate: str) -> None:
        super().__init__()
        self.gate = gate
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(in_dim, out_dim)))  # W
        self.gate_weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(in_dim, 1)))
        self.gate_bias = nn.Parameter(torch.ones(1))  # as in the authors' code: gates start open

    def forward(self, hop: Hop, edge_weights: Tensor, features: Tensor | SparseMatrix) -> Tensor:
        message = matmul(features, self.weight)
        opening = matmul(features, self.gate_weight) + self.gate_bias
        if self.gate == "edge":
            return aggregate(hop.structure, edge_weights, torch.sigmoid(opening) * message)
        gates = torch.sigmoid(aggregate(hop.structure, edge_weights, opening))
        return gates * aggregate(hop.structure, edge_weights, message)
