"""ConfGCN as the paper prints it: preset ``paper``."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor

from confgcn.exceptions import check_choice
from confgcn.graph import Graph
from confgcn.models.base import LossTerm, Prediction, Shape, cross_entropy, objective, require
from confgcn.models.confgcn.base import AbstractConfGCN, edge_weight_in_loss, of_batch, requested_field
from confgcn.models.confgcn.influence import inverse_distance, normalised
from confgcn.models.confgcn.label_distribution import LabelDistribution, covariance
from confgcn.models.confgcn.layer import ACTIVATIONS, Activation, apply_layers, dense_layer, graph_layers
from confgcn.models.confgcn.losses import const_loss, label_loss, reg_loss, smooth_loss
from confgcn.models.confgcn.new_nodes import extended
from confgcn.models.ranges import Depth, DropoutRate, NonNegative, Positive, Width
from confgcn.ops import edge_distance, softmax, with_halo_rows

Influence = Literal["distance", "uniform"]
Normalisation = Literal["none", "softmax"]


class PaperConfGCN(AbstractConfGCN):
    r"""Vashishth, Yadav, Bhandari, Talukdar: Confidence-based Graph Convolutional Networks, AISTATS 2019.

    Label scores :math:`\mu_v` and precisions, the diagonal of :math:`\Sigma_v^{-1}`, are parameters of each node.

    .. math:: d_M(u,v) = (\mu_u - \mu_v)^T (\Sigma_u^{-1} + \Sigma_v^{-1}) (\mu_u - \mu_v), \quad
              r_{uv} = \frac{1}{d_M(u,v) + c}
    .. math:: h_v^{k+1} = f\left(\sum_{u \in N(v)} r_{uv} (W^k h_u^k + b^k)\right), \quad
              \hat{Y}_v = \mathrm{softmax}(W^K h_v^K + b^K)
    .. math:: L = L_{cross} + \lambda_1 L_{smooth} + \lambda_2 L_{label} + \lambda_3 L_{const} + \lambda_4 L_{reg}

    ``docs/paper_and_code.md`` compares the three models of this package.

    Args:
        hidden_dim, num_layers, dropout: width and number of the graph layers, and dropout of their inputs.
        distance_offset: c, which is not printed in the paper.
        lambda_smooth, lambda_label, lambda_const, lambda_reg: :math:`\lambda_1` to :math:`\lambda_4`; zero removes a
            term.
        gamma: of L_label.
        influence: ``uniform`` replaces every influence by one (a control).
        normalisation: ``softmax`` normalises influences over N(v), as the released code does.
        activation: f; ``identity`` for comparison with the released code.

    Shapes: ``logits``, ``mu``, ``precision`` (N, C); ``distance``, ``influence`` (E,).
    """

    def __init__(
        self,
        shape: Shape,
        *,
        hidden_dim: Width = 16,
        num_layers: Depth = 2,
        dropout: DropoutRate = 0.0,
        distance_offset: Positive = 1.0,
        lambda_smooth: NonNegative = 1.0,
        lambda_label: NonNegative = 1.0,
        lambda_const: NonNegative = 1.0,
        lambda_reg: NonNegative = 1.0,
        gamma: Positive = 1.0,
        influence: Influence = "distance",
        normalisation: Normalisation = "none",
        activation: Activation = "relu",
    ) -> None:
        super().__init__()
        check_choice("influence", influence, get_args(Influence))
        check_choice("normalisation", normalisation, get_args(Normalisation))
        check_choice("activation", activation, ACTIVATIONS)
        self.dropout, self.distance_offset, self.gamma = dropout, distance_offset, gamma
        self.influence: Influence = influence
        self.normalisation: Normalisation = normalisation
        self.activation = activation
        self.lambda_smooth, self.lambda_label = lambda_smooth, lambda_label
        self.lambda_const, self.lambda_reg = lambda_const, lambda_reg
        self.label_distribution = LabelDistribution(shape)
        self.layers = graph_layers([shape.num_features, *[hidden_dim] * num_layers], bias=True)
        self.dense = dense_layer(hidden_dim, shape.num_classes)

    def forward(self, graph: Graph, nodes: Tensor | None = None) -> Prediction:
        nodes, field = requested_field(graph, nodes, depth=len(self.layers))
        mu, precision = self.label_distribution(graph.node_rows)  # (N, C)
        distance = edge_distance(graph.adjacency, *with_halo_rows(graph.halo, mu, precision))  # (E,)
        scores = inverse_distance(field.pick(distance), offset=self.distance_offset)
        if self.influence == "uniform":
            scores = torch.ones_like(scores)
        weight = None if graph.edge_weight is None else field.pick(graph.edge_weight)
        influence = normalised(field.hops[0].structure, scores, self.normalisation, weight)
        hidden = apply_layers(
            self.layers,
            field,
            influence,
            activation=self.activation,
            dropout=self.dropout if self.training else 0.0,
            halo=graph.halo,
        )
        logits = self.dense(ACTIVATIONS[self.activation](hidden))
        of_edges = field.hops[-1].pick(influence) if nodes is None else None
        return of_batch(graph, Prediction(logits, mu, precision, distance, of_edges, nodes))

    def nodes_in_loss(self, graph: Graph) -> Tensor | None:
        return None  # L_const is over all nodes

    def loss_terms(self, graph: Graph, prediction: Prediction) -> dict[str, LossTerm]:
        mu, precision, distance = map(require, (prediction.mu, prediction.precision, prediction.distance))
        label = label_loss(mu, precision, graph.train, graph.train_one_hot, certainty=1 / self.gamma)
        return objective(
            cross=LossTerm(cross_entropy(graph, prediction)),
            smooth=LossTerm(smooth_loss(distance, edge_weight_in_loss(graph)), weight=self.lambda_smooth),
            label=LossTerm(label, weight=self.lambda_label),
            const=LossTerm(const_loss(mu, softmax(prediction.logits)), weight=self.lambda_const),
            reg=LossTerm(reg_loss(covariance(precision)), weight=self.lambda_reg),
        )

    @property
    def reach(self) -> int:
        return len(self.layers)

    def extend(self, graph: Graph) -> PaperConfGCN:
        return extended(self, graph)
