"""G-GCN: a graph convolution in which every message passes a gate."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from confgcn.graph import Graph
from confgcn.graph.receptive_field import Hop
from confgcn.models.base import InductiveMethod, Prediction, Shape
from confgcn.models.ranges import Depth, DropoutRate, NonNegative, Width
from confgcn.ops import aggregate, degree_weights, dropout, matmul
from confgcn.sparse import SparseMatrix


class GatedGCN(InductiveMethod):
    r"""Marcheggiani, Titov: Encoding sentences with graph convolutional networks, EMNLP 2017.

    .. math:: h_v' = f\left(\sum_{u \in N(v)} a_{uv} \, g_u \, h_u W\right), \quad g_u = \sigma(h_u \hat{w} + \hat{b})

    The gate of an edge depends on its source, as printed there. The graph has no directions, so neighbours and the
    node itself share W and :math:`\hat{w}`. For the rest it is Kipf-GCN, which it equals where all gates are one.

    Args:
        normalisation: the weights a: ``symmetric`` are Kipf and Welling's, ``none`` the ones of the printed sum.
        gate: ``edge`` as printed; ``node`` gates the sum by :math:`\sigma(\sum_u a_{uv} (h_u \hat{w} + \hat{b}))`
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
        normalisation: Literal["symmetric", "none"] = "symmetric",
        gate: Literal["edge", "node"] = "edge",
    ) -> None:
        super().__init__()
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
        edge_weights = field.pick(weights)  # of the edges it reads
        hidden: Any = field.features
        for number, (hop, layer) in enumerate(zip(field.hops, self.layers, strict=True)):
            hidden = hidden if number == 0 else functional.relu(hidden)
            dropped = dropout(hidden, self.dropout, training=self.training)
            hidden = layer(hop, hop.pick(edge_weights), dropped)
        return Prediction(hidden, nodes=nodes)

    def parameter_groups(self) -> list[dict[str, Any]]:
        """As in Kipf-GCN the first layer decays, its gate included."""
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
        self.gate_bias = nn.Parameter(torch.ones(1))  # as in their code: open at first

    def forward(self, hop: Hop, edge_weights: Tensor, features: Tensor | SparseMatrix) -> Tensor:
        message = matmul(features, self.weight)
        opening = matmul(features, self.gate_weight) + self.gate_bias
        if self.gate == "edge":
            return aggregate(hop.structure, edge_weights, torch.sigmoid(opening) * message)
        gates = torch.sigmoid(aggregate(hop.structure, edge_weights, opening))
        return gates * aggregate(hop.structure, edge_weights, message)
