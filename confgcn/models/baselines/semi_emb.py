"""SemiEmb: a network with a hidden layer that brings neighbours together and pushes other nodes apart."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from confgcn.graph import Graph
from confgcn.models.base import InductiveMethod, LossTerm, Prediction, Shape
from confgcn.models.ranges import Count, NonNegative, Width
from confgcn.ops import Linear


class SemiEmb(InductiveMethod):
    r"""Weston, Ratle, Collobert: Deep learning via semi-supervised embedding, ICML 2008.

    .. math:: g = x W_0 + b_0, \quad p(y | x) = \mathrm{softmax}(\max(g, 0) W_1 + b_1)

    The objective is the cross-entropy of the labelled nodes, plus over pairs (i, j) that are drawn in every step

    .. math:: \lambda \, \mathrm{mean}_{ij} \begin{cases} \|g_i - g_j\|^2 & \text{neighbours} \\
              \max(0, m - \|g_i - g_j\|)^2 & \text{any two nodes} \end{cases}

    The graph is used in training only: a prediction depends on the features of the node only.

    Args:
        lambda_embedding: the weight of each kind of pair, :math:`\lambda`.
        margin: m.
        num_pairs: pairs of each kind in a step.
    """

    def __init__(
        self,
        shape: Shape,
        *,
        hidden_dim: Width = 32,
        lambda_embedding: NonNegative = 1.0,
        margin: NonNegative = 1.0,
        num_pairs: Count = 2000,
        weight_decay: NonNegative = 5e-4,
    ) -> None:
        super().__init__()
        self.lambda_embedding = lambda_embedding
        self.margin = margin
        self.num_pairs = num_pairs
        self.weight_decay = weight_decay
        self.hidden = Linear(shape.num_features, hidden_dim)
        self.output = Linear(hidden_dim, shape.num_classes)

    def forward(self, graph: Graph, nodes: Tensor | None = None) -> Prediction:
        hidden = self.hidden(graph.receptive_field(nodes, depth=0).features)
        return Prediction(self.output(functional.relu(hidden)), nodes=nodes)

    def loss_terms(self, graph: Graph, prediction: Prediction) -> dict[str, LossTerm]:
        embedding = self.hidden(graph.features)  # g of every node
        edges = graph.neighbours
        terms = super().loss_terms(graph, prediction)
        if edges.num_entries:
            drawn = torch.randint(edges.num_entries, (self.num_pairs,)).to(edges.device)
            close = _squared_distance(embedding, edges.rows[drawn], edges.indices[drawn])
            terms["neighbours"] = LossTerm(close.sum(), self.num_pairs, self.lambda_embedding)
        others = torch.randint(graph.num_nodes, (2, self.num_pairs)).to(edges.device)
        distance = _squared_distance(embedding, *others).clamp(min=1e-12).sqrt()  # the root has no gradient at zero
        apart = functional.relu(self.margin - distance).square()
        return {**terms, "others": LossTerm(apart.sum(), self.num_pairs, self.lambda_embedding)}

    def parameter_groups(self) -> list[dict[str, Any]]:
        return [{"params": list(self.parameters()), "weight_decay": self.weight_decay}]


def _squared_distance(embedding: Tensor, left: Tensor, right: Tensor) -> Tensor:
    return (embedding.index_select(0, left) - embedding.index_select(0, right)).square().sum(1)
