"""GAT: attention over the neighbours, with weights computed from the features of both ends."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from confgcn.graph import Graph
from confgcn.graph.receptive_field import Hop
from confgcn.models.base import InductiveMethod, Prediction, Shape
from confgcn.models.ranges import Count, DropoutRate, NonNegative, Width
from confgcn.ops import aggregate, dropout, edge_softmax, matmul
from confgcn.sparse import SparseMatrix

SLOPE = 0.2  # of the leaky ReLU, section 2.1 of the paper


class GAT(InductiveMethod):
    r"""Velickovic and others: Graph attention networks, ICLR 2018. Two layers of :class:`Attention`.

    .. math:: H = \mathrm{ELU}(\mathrm{concat}_k A_k(X)), \quad \mathrm{logits} = \mathrm{mean}_k A_k(H)

    All parameters have weight decay, as in the authors' code.

    Args:
        hidden_dim: of each of the ``num_heads`` heads of the first layer.
        num_output_heads: of the second.
    """

    def __init__(
        self,
        shape: Shape,
        *,
        hidden_dim: Width = 8,
        num_heads: Count = 8,
        num_output_heads: Count = 1,
        dropout: DropoutRate = 0.6,
        weight_decay: NonNegative = 5e-4,
    ) -> None:
        super().__init__()
        self.weight_decay = weight_decay
        self.hidden = Attention(shape.num_features, hidden_dim, num_heads, dropout=dropout)
        self.output = Attention(hidden_dim * num_heads, shape.num_classes, num_output_heads, dropout=dropout)

    def forward(self, graph: Graph, nodes: Tensor | None = None) -> Prediction:
        field = graph.receptive_field(nodes, depth=2)
        first, second = field.hops
        weight = None if graph.edge_weight is None else field.pick(graph.edge_weight)
        hidden = functional.elu(self.hidden(first, field.features, weight)).flatten(1)
        return Prediction(self.output(second, hidden, weight).mean(1), nodes=nodes)

    def parameter_groups(self) -> list[dict[str, Any]]:
        return [{"params": list(self.parameters()), "weight_decay": self.weight_decay}]


class Attention(nn.Module):
    r"""Attention heads, each with its own W, a, b and dropout masks.

    .. math:: z_u = x_u W, \quad e_{uv} = \mathrm{LeakyReLU}(a_1 z_v + a_2 z_u + c), \quad
              \alpha_{uv} = \mathrm{softmax}_{u \in N(v)}(e_{uv}), \quad y_v = \sum_u \alpha_{uv} z_u + b

    Dropout is applied to x, to alpha and to the z in the sum.

    Shapes: (sources, in) -> (targets, heads, width).
    """

    def __init__(self, in_dim: int, width: int, num_heads: int, *, dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        glorot = nn.init.xavier_uniform_
        self.weights = nn.ParameterList(glorot(torch.empty(in_dim, width)) for _ in range(num_heads))  # W
        vectors = torch.stack([glorot(torch.empty(width, 1)).T for _ in range(2 * num_heads)])  # (2 heads, 1, width)
        self.at_target, self.at_source = map(nn.Parameter, vectors.squeeze(1).chunk(2))  # a_1, a_2
        self.offset = nn.Parameter(torch.zeros(num_heads))  # c
        self.bias = nn.Parameter(torch.zeros(num_heads, width))  # b

    def forward(self, hop: Hop, features: Tensor | SparseMatrix, edge_weight: Tensor | None = None) -> Tensor:
        z = torch.stack([matmul(self._drop(features), weight) for weight in self.weights], dim=1)
        of_target, of_source = (hop.targets(z) * self.at_target).sum(-1), (z * self.at_source).sum(-1)
        at_edges = (of_target + self.offset).index_select(0, hop.structure.rows)
        at_edges = at_edges + of_source.index_select(0, hop.structure.indices)  # (E, heads)
        scores = functional.leaky_relu(at_edges, SLOPE)
        if edge_weight is not None:  # multiplies each exponential of the softmax
            scores = scores + hop.pick(edge_weight).log()[:, None]
        attention = edge_softmax(hop.structure, scores)
        return aggregate(hop.structure, self._drop(attention), self._drop(z)) + self.bias

    def _drop(self, values: Any) -> Any:
        return dropout(values, self.dropout, training=self.training)
