"""GraphSAGE: the mean of the neighbours and the node's own row have weight matrices of their own."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from torch.nn import functional

from confgcn.graph import Graph
from confgcn.graph.receptive_field import Hop
from confgcn.models.base import InductiveMethod, Prediction, Shape
from confgcn.models.ranges import Depth, DropoutRate, NonNegative, Width
from confgcn.ops import Linear, aggregate, dropout, matmul, mean_weights
from confgcn.sparse import SparseMatrix


class SAGE(InductiveMethod):
    r"""Hamilton, Ying, Leskovec: Inductive representation learning on large graphs, NIPS 2017, with the mean.

    .. math:: h_v^{k+1} = [h_v^k +] \, \mathrm{ReLU}\left(\mathrm{LN}\left(
              h_v^k W^k + \mathrm{mean}_{u \in N(v)} h_u^k \, V^k + b^k\right)\right), \quad
              \mathrm{logits}_v = h_v^K W_o + b_o

    N(v) does not contain v; a node without neighbours receives zero. W and V are the two halves of the paper's matrix
    for the concatenated rows. The residual term in brackets is added from the second layer on; it and layer
    normalisation, in place of the paper's division by the length, serve graphs whose edges join different labels
    (Platonov and others, ICLR 2023). Dropout on the input of every layer, weight decay on all parameters.
    """

    def __init__(
        self,
        shape: Shape,
        *,
        hidden_dim: Width = 64,
        num_layers: Depth = 2,
        dropout: DropoutRate = 0.5,
        weight_decay: NonNegative = 5e-4,
    ) -> None:
        super().__init__()
        self.dropout = dropout
        self.weight_decay = weight_decay
        widths = [shape.num_features, *[hidden_dim] * (num_layers - 1)]
        self.layers = nn.ModuleList(MeanLayer(width, hidden_dim) for width in widths)
        self.output = Linear(hidden_dim, shape.num_classes)

    def forward(self, graph: Graph, nodes: Tensor | None = None) -> Prediction:
        field = graph.receptive_field(nodes, depth=len(self.layers))
        adjacency, dtype = graph.adjacency, self.output.weight.dtype
        is_neighbour = adjacency.rows != adjacency.indices
        weights = field.pick(mean_weights(adjacency, is_neighbour, dtype, graph.edge_weight))
        (first_hop, first), *others = zip(field.hops, self.layers, strict=True)
        state = first(first_hop, first_hop.pick(weights), self._drop(field.features))
        for hop, layer in others:
            state = hop.targets(state) + layer(hop, hop.pick(weights), self._drop(state))
        return Prediction(self.output(self._drop(state)), nodes=nodes)

    def _drop(self, values: Any) -> Any:
        return dropout(values, self.dropout, training=self.training)

    def parameter_groups(self) -> list[dict[str, Any]]:
        return [{"params": list(self.parameters()), "weight_decay": self.weight_decay}]


class MeanLayer(nn.Module):
    """One layer of :class:`SAGE` without the residual term.

    Shapes: sources (n, ``in_dim``) -> targets (m, ``out_dim``).
    """

    def __init__(self, in_dim: int, out_dim: int) -> None:
        super().__init__()
        self.own = Linear(in_dim, out_dim)  # W and b
        self.of_neighbours = Linear(in_dim, out_dim).weight  # V
        self.norm = nn.LayerNorm(out_dim)

    def forward(self, hop: Hop, weights: Tensor, values: Tensor | SparseMatrix) -> Tensor:
        mean = aggregate(hop.structure, weights, matmul(values, self.of_neighbours))
        return functional.relu(self.norm(hop.targets(self.own(values)) + mean))
