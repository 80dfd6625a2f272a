"""MLP: a network with one hidden layer on the features; the graph is not used."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.nn import functional

from confgcn.graph import Graph
from confgcn.models.base import InductiveMethod, Prediction, Shape
from confgcn.models.ranges import DropoutRate, NonNegative, Width
from confgcn.ops import Linear, dropout


class MLP(InductiveMethod):
    r"""The multilayer perceptron that papers on graphs compare with, as in Kipf and Welling, ICLR 2017.

    .. math:: \mathrm{logits} = \mathrm{ReLU}(x W_1 + b_1) W_2 + b_2

    Dropout on the input of both layers, weight decay on the first weight matrix.
    """

    def __init__(
        self,
        shape: Shape,
        *,
        hidden_dim: Width = 64,
        dropout: DropoutRate = 0.5,
        weight_decay: NonNegative = 5e-4,
    ) -> None:
        super().__init__()
        self.dropout = dropout
        self.weight_decay = weight_decay
        self.hidden = Linear(shape.num_features, hidden_dim)
        self.output = Linear(hidden_dim, shape.num_classes)

    def forward(self, graph: Graph, nodes: Tensor | None = None) -> Prediction:
        features = graph.receptive_field(nodes, depth=0).features
        hidden = functional.relu(self.hidden(self._drop(features)))
        return Prediction(self.output(self._drop(hidden)), nodes=nodes)

    def _drop(self, values: Any) -> Any:
        return dropout(values, self.dropout, training=self.training)

    def parameter_groups(self) -> list[dict[str, Any]]:
        others = [self.hidden.bias, *self.output.parameters()]
        return [{"params": [self.hidden.weight], "weight_decay": self.weight_decay}, {"params": others}]
