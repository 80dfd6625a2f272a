"""GPNN: a GGNN that alternates between edges inside the parts of a partition and edges between them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, get_args

import torch
from torch import Tensor, nn

from confgcn.exceptions import check_choice
from confgcn.graph import Graph
from confgcn.graph.partition import Partition, partition
from confgcn.graph.receptive_field import Hop
from confgcn.models.base import AbstractMethod, Prediction, Shape
from confgcn.models.ranges import Count, Depth, NonNegative, WholeNumber, Width
from confgcn.ops import GRUCell, Linear, aggregate, mean_weights


class GPNN(AbstractMethod):
    r"""Liao and others: Graph partition neural networks for semi-supervised classification, ICLR workshop 2018.

    The edges inside the parts of a partition form one graph, those between parts, the cut, another. A pass is
    ``steps_inside`` steps of a GGNN on the first, then ``steps_across`` on the second, in which a node without a cut
    edge keeps its state. All steps share one GRU; input and output are those of a GGNN, which it equals for one part.

    Args:
        partition, num_parts: algorithm, and number of parts.
        num_passes, steps_inside, steps_across: as above.
        num_output_layers: number of hidden layers of width ``output_dim`` with tanh between state and logits.

    Shapes: ``part`` (N,), the part of each node.
    """

    part: Tensor

    def __init__(
        self,
        shape: Shape,
        *,
        hidden_dim: Width = 128,
        partition: Partition = "flood_fill",
        num_parts: Count = 10,
        num_passes: Depth = 3,
        steps_inside: Depth = 1,
        steps_across: Depth = 1,
        num_output_layers: WholeNumber = 0,
        output_dim: Width = 256,
        weight_decay: NonNegative = 5e-4,
    ) -> None:
        super().__init__()
        check_choice("partition", partition, get_args(Partition))
        self.partition: Partition = partition
        self.num_parts = num_parts
        self.schedule = [*["inside"] * steps_inside, *["across"] * steps_across] * num_passes
        self.weight_decay = weight_decay
        self.register_buffer("part", torch.zeros(shape.num_nodes, dtype=torch.long))
        self.input = Linear(shape.num_features, hidden_dim)
        self.cell = GRUCell(hidden_dim)
        widths = [hidden_dim + shape.num_features, *[output_dim] * num_output_layers, shape.num_classes]
        self.output = nn.ModuleList(Linear(before, after) for before, after in pairwise(widths))

    def setup(self, graph: Graph) -> None:
        self.part.copy_(partition(graph, self.partition, self.num_parts))

    def forward(self, graph: Graph, nodes: Tensor | None = None) -> Prediction:
        field = graph.receptive_field(nodes, depth=len(self.schedule))
        weights = {name: field.pick(of_edges) for name, of_edges in self.edge_weights(graph).items()}
        state = self.input(field.features)
        for step, hop in zip(self.schedule, field.hops, strict=True):
            state = self.update(hop, hop.pick(weights[step]), state, all_nodes=step == "inside")
        first, *others = self.output
        hidden = first(state, graph.receptive_field(nodes, depth=0).features)
        for layer in others:
            hidden = layer(torch.tanh(hidden))
        return Prediction(hidden, nodes=nodes)

    def edge_weights(self, graph: Graph) -> dict[str, Tensor]:
        """Weights that average over the edges of a node inside its part, or across parts, (E,) each."""
        adjacency, part = graph.adjacency, self.part[graph.node_rows]
        is_neighbour = adjacency.rows != adjacency.indices
        is_inside = part[adjacency.rows] == part[adjacency.indices]
        chosen = {"inside": is_neighbour & is_inside, "across": ~is_inside}
        dtype, weight = self.input.weight.dtype, graph.edge_weight
        return {name: mean_weights(adjacency, edges, dtype, weight) for name, edges in chosen.items()}

    def update(self, hop: Hop, weights: Tensor, state: Tensor, *, all_nodes: bool) -> Tensor:
        """One step of all nodes, or only of the nodes with an edge of this kind."""
        message, own = aggregate(hop.structure, weights, state), hop.targets(state)
        if all_nodes:
            updated: Tensor = self.cell(message, own)
            return updated
        touched = aggregate(hop.structure, weights, torch.ones_like(state[:, :1])).squeeze(1).nonzero().squeeze(1)
        return own.index_copy(0, touched, self.cell(message.index_select(0, touched), own.index_select(0, touched)))

    def parameter_groups(self) -> list[dict[str, Any]]:
        return [{"params": list(self.parameters()), "weight_decay": self.weight_decay}]
