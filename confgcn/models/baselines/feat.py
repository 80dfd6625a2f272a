"""Feat: a linear classifier of the features; the graph is not used."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from confgcn.graph import Graph
from confgcn.models.base import InductiveMethod, Prediction, Shape
from confgcn.models.ranges import NonNegative
from confgcn.ops import Linear


class Feat(InductiveMethod):
    r"""The baseline of that name in Yang, Cohen, Salakhutdinov: Revisiting semi-supervised learning, ICML 2016.

    .. math:: p(y | x) = \mathrm{softmax}(x W + b)
    """

    def __init__(self, shape: Shape, *, weight_decay: NonNegative = 5e-4) -> None:
        super().__init__()
        self.weight_decay = weight_decay
        self.output = Linear(shape.num_features, shape.num_classes)

    def forward(self, graph: Graph, nodes: Tensor | None = None) -> Prediction:
        field = graph.receptive_field(nodes, depth=0)
        return Prediction(self.output(field.features), nodes=nodes)

    def parameter_groups(self) -> list[dict[str, Any]]:
        return [{"params": [self.output.weight], "weight_decay": self.weight_decay}, {"params": [self.output.bias]}]
