"""APPNP: predict from the features, then propagate the predictions by personalised PageRank."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from confgcn.graph import Graph
from confgcn.models.base import InductiveMethod, Prediction, Shape
from confgcn.models.ranges import Depth, DropoutRate, InnerShare, NonNegative, Width
from confgcn.ops import aggregate, degree_weights, dropout, matmul


class APPNP(InductiveMethod):
    r"""Gasteiger, Bojchevski, Guennemann: Predict then propagate, ICLR 2019.

    .. math:: H = \mathrm{ReLU}(X W_1) W_2, \quad Z^0 = H, \quad
              Z^{k+1} = (1 - \alpha) \tilde{D}^{-1/2} (A + I) \tilde{D}^{-1/2} Z^k + \alpha H, \quad
              \mathrm{logits} = Z^K

    No biases. Dropout on the input of both layers and, in every step, on the entries of the adjacency. Weight decay on
    :math:`W_1` only.

    Args:
        num_steps: K.
        teleport: alpha.
    """

    def __init__(
        self,
        shape: Shape,
        *,
        hidden_dim: Width = 64,
        num_steps: Depth = 10,
        teleport: InnerShare = 0.1,
        dropout: DropoutRate = 0.5,
        weight_decay: NonNegative = 5e-3,
    ) -> None:
        super().__init__()
        self.num_steps = num_steps
        self.teleport = teleport
        self.dropout = dropout
        self.weight_decay = weight_decay
        self.hidden = nn.Parameter(nn.init.xavier_uniform_(torch.empty(shape.num_features, hidden_dim)))  # W_1
        self.output = nn.Parameter(nn.init.xavier_uniform_(torch.empty(hidden_dim, shape.num_classes)))  # W_2

    def forward(self, graph: Graph, nodes: Tensor | None = None) -> Prediction:
        field = graph.receptive_field(nodes, depth=self.num_steps)
        weights = field.pick(degree_weights(graph.adjacency, self.hidden.dtype, graph.edge_weight))
        hidden = functional.relu(matmul(self._drop(field.features), self.hidden))
        own = matmul(self._drop(hidden), self.output)  # H
        logits = own
        for hop in field.hops:
            own = hop.targets(own)
            messages = aggregate(hop.structure, self._drop(hop.pick(weights)), logits)
            logits = (1 - self.teleport) * messages + self.teleport * own
        return Prediction(logits, nodes=nodes)

    def _drop(self, values: Any) -> Any:
        return dropout(values, self.dropout, training=self.training)

    def parameter_groups(self) -> list[dict[str, Any]]:
        return [{"params": [self.hidden], "weight_decay": self.weight_decay}, {"params": [self.output]}]
