"""GGNN: a gated recurrent unit updates the state of a node by the mean state of its neighbours."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from confgcn.graph import Graph
from confgcn.models.base import InductiveMethod, Prediction, Shape
from confgcn.models.ranges import Depth, NonNegative, Width
from confgcn.ops import GRUCell, Linear, aggregate, mean_weights


class GGNN(InductiveMethod):
    r"""Li, Tarlow, Brockschmidt, Zemel: Gated graph sequence neural networks, ICLR 2016.

    In the variant of Liao and others:

    .. math:: h_v^0 = x_v W + b, \quad m_v^t = \mathrm{mean}_{u \in N(v)} h_u^t, \quad
              h_v^{t+1} = \mathrm{GRU}(m_v^t, h_v^t), \quad \mathrm{logits}_v = [h_v^T; x_v] W_o + b_o

    N(v) does not contain v; a node without neighbours receives zero. All T steps share one GRU.

    Args:
        num_steps: T.
    """

    def __init__(
        self, shape: Shape, *, hidden_dim: Width = 128, num_steps: Depth = 3, weight_decay: NonNegative = 5e-4
    ) -> None:
        super().__init__()
        self.num_steps = num_steps
        self.weight_decay = weight_decay
        self.input = Linear(shape.num_features, hidden_dim)
        self.cell = GRUCell(hidden_dim)
        self.output = Linear(hidden_dim + shape.num_features, shape.num_classes)

    def forward(self, graph: Graph, nodes: Tensor | None = None) -> Prediction:
        field = graph.receptive_field(nodes, depth=self.num_steps)
        adjacency = graph.adjacency
        is_neighbour = adjacency.rows != adjacency.indices
        weights = field.pick(mean_weights(adjacency, is_neighbour, self.input.weight.dtype, graph.edge_weight))
        state = self.input(field.features)
        for hop in field.hops:
            message = aggregate(hop.structure, hop.pick(weights), state)
            state = self.cell(message, hop.targets(state))
        return Prediction(self.output(state, graph.receptive_field(nodes, depth=0).features), nodes=nodes)

    def parameter_groups(self) -> list[dict[str, Any]]:
        return [{"params": list(self.parameters()), "weight_decay": self.weight_decay}]
