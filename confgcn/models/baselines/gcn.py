"""Kipf-GCN: graph convolution with weights from the degrees."""

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
from confgcn.ops import convolve, degree_weights
from confgcn.sparse import SparseMatrix

Activation = Literal["relu", "identity"]


class GCN(InductiveMethod):
    r"""Kipf, Welling: Semi-supervised classification with graph convolutional networks, ICLR 2017.

    .. math:: H^{k+1} = f\left(\tilde{D}^{-1/2} (A + I) \tilde{D}^{-1/2} H^k W^k\right)

    No biases, dropout on the input of every layer, weight decay on the first layer only. f is ReLU, or the ``identity``
    for comparison with networks without activation.
    """

    def __init__(
        self,
        shape: Shape,
        *,
        hidden_dim: Width = 16,
        num_layers: Depth = 2,
        dropout: DropoutRate = 0.5,
        activation: Activation = "relu",
        weight_decay: NonNegative = 5e-4,
    ) -> None:
        super().__init__()
        check_choice("activation", activation, get_args(Activation))
        self.dropout = dropout
        self.activation = activation
        self.weight_decay = weight_decay
        widths = [shape.num_features, *[hidden_dim] * (num_layers - 1), shape.num_classes]
        self.weights = nn.ParameterList(
            nn.init.xavier_uniform_(torch.empty(before, after)) for before, after in pairwise(widths)
        )

    def forward(self, graph: Graph, nodes: Tensor | None = None) -> Prediction:
        field = graph.receptive_field(nodes, depth=len(self.weights))
        edge_weights = field.pick(
            degree_weights(graph.adjacency, self.weights[0].dtype, graph.edge_weight)
        )  # of the edges it reads
        first, *others = zip(field.hops, self.weights, strict=True)
        hidden = self._convolve(edge_weights, field.features, *first)
        for hop, weight in others:
            activated = functional.relu(hidden) if self.activation == "relu" else hidden
            hidden = self._convolve(edge_weights, activated, hop, weight)
        return Prediction(hidden, nodes=nodes)

    def _convolve(self, edge_weights: Tensor, features: Tensor | SparseMatrix, hop: Hop, weight: Tensor) -> Tensor:
        rate = self.dropout if self.training else 0.0
        return convolve(hop.structure, hop.pick(edge_weights), features, weight, dropout=rate)

    def parameter_groups(self) -> list[dict[str, Any]]:
        first, *others = self.weights
        return [{"params": [first], "weight_decay": self.weight_decay}, {"params": others}]
