"""ConfGCN as its authors released it: preset ``released``."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, get_args

import torch
from torch import Tensor
from torch.nn import functional

from confgcn.exceptions import check_choice
from confgcn.graph import Graph
from confgcn.models.base import LossTerm, Prediction, Shape, cross_entropy, objective, require
from confgcn.models.confgcn.base import AbstractConfGCN, edge_weight_in_loss, of_batch, requested_field
from confgcn.models.confgcn.influence import inverse_distance, normalised
from confgcn.models.confgcn.label_distribution import LabelDistribution
from confgcn.models.confgcn.layer import ACTIVATIONS, Activation, apply_layers, graph_layers
from confgcn.models.confgcn.losses import const_loss, doubled_l2_decay, label_loss, reg_loss, smooth_loss
from confgcn.models.confgcn.new_nodes import extended, log_scores
from confgcn.models.ranges import Depth, DropoutRate, NonNegative, Positive, Width
from confgcn.ops import edge_distance, softmax, with_halo_rows

Influence = Literal["distance", "uniform"]
ConstOver = Literal["labelled", "all"]


class ReleasedConfGCN(AbstractConfGCN):
    r"""The authors' code of ConfGCN: repository malllabiisc/ConfGCN (TensorFlow 1), read in 2026-11.

    Numbers in brackets are rows of the table in ``docs/paper_and_code.md``, which compares it with the paper.

    .. math:: \mu_v = \mathrm{softmax}(m_v) \; [4], \quad \Sigma_v^{-1} = \mathrm{ELU}(z_v) \; [5], \quad
              r_{uv} = \mathrm{softmax}_{u \in N(v)} \frac{1}{d_M(u,v) + c} \; [1]
    .. math:: h_v^{k+1} = \sum_{u \in N(v)} r_{uv} W^k h_u^k \; [2], \quad
              \hat{Y}_v = \mathrm{softmax}(h_v^K) \; [3]
    .. math:: L = \frac{1}{|V_l|} L_{cross} + \frac{\lambda_1}{2} L_{smooth} + \frac{\lambda_2}{2} L_{label}
              + \lambda_3 L_{const} + \lambda_4 L_{reg} \; [6, 7, 10]

    with gamma in the place of 1/gamma in L_label [7], L_const over the labelled nodes [8], L_reg on the precision [9],
    and an L2 penalty of L2 penalties on every parameter [11].

    Args:
        hidden_dim, num_layers, dropout: width and number of the graph layers, and dropout of their inputs [13, 14].
        distance_offset: c; their option ``bias``.
        lambda_smooth, lambda_label, lambda_const, lambda_reg: :math:`\lambda_1` to :math:`\lambda_4`; zero removes a
            term.
        gamma: of L_label.
        doubled_l2: strength of the penalty [11].
        influence: ``uniform`` gives all neighbours the same influence (a control).
        activation: ``relu`` for comparison with the paper.
        const_over: ``all`` nodes, for comparison with the paper.

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
        doubled_l2: NonNegative = 0.0,
        influence: Influence = "distance",
        activation: Activation = "identity",
        const_over: ConstOver = "labelled",
    ) -> None:
        super().__init__()
        check_choice("influence", influence, get_args(Influence))
        check_choice("activation", activation, ACTIVATIONS)
        check_choice("const_over", const_over, get_args(ConstOver))
        self.dropout, self.distance_offset, self.gamma, self.doubled_l2 = dropout, distance_offset, gamma, doubled_l2
        self.influence: Influence = influence
        self.activation = activation
        self.const_over = const_over
        self.lambda_smooth, self.lambda_label = lambda_smooth, lambda_label
        self.lambda_const, self.lambda_reg = lambda_const, lambda_reg
        self.label_distribution = LabelDistribution(shape)
        widths = [shape.num_features, *[hidden_dim] * (num_layers - 1), shape.num_classes]
        self.layers = graph_layers(widths, bias=False)

    def forward(self, graph: Graph, nodes: Tensor | None = None) -> Prediction:
        nodes, field = requested_field(graph, nodes, depth=len(self.layers))
        raw_mu, raw_precision = self.label_distribution(graph.node_rows)
        mu, precision = softmax(raw_mu), functional.elu(raw_precision)  # (N, C)
        distance = edge_distance(graph.adjacency, *with_halo_rows(graph.halo, mu, precision))  # (E,)
        scores = inverse_distance(field.pick(distance), offset=self.distance_offset)
        if self.influence == "uniform":
            scores = torch.ones_like(scores)
        weight = None if graph.edge_weight is None else field.pick(graph.edge_weight)
        influence = normalised(field.hops[0].structure, scores, "softmax", weight)
        logits = apply_layers(
            self.layers,
            field,
            influence,
            activation=self.activation,
            dropout=self.dropout if self.training else 0.0,
            halo=graph.halo,
        )
        of_edges = field.hops[-1].pick(influence) if nodes is None else None
        return of_batch(graph, Prediction(logits, mu, precision, distance, of_edges, nodes))

    def nodes_in_loss(self, graph: Graph) -> Tensor | None:
        return graph.train if self.const_over == "labelled" else None

    def loss_terms(self, graph: Graph, prediction: Prediction) -> dict[str, LossTerm]:
        mu, precision, distance = map(require, (prediction.mu, prediction.precision, prediction.distance))
        label = label_loss(mu, precision, graph.train, graph.train_one_hot, certainty=self.gamma)
        if self.const_over == "labelled":
            const = const_loss(mu.index_select(0, graph.train), softmax(prediction.logits_of(graph.train)))
        else:
            const = const_loss(mu, softmax(prediction.logits))
        return objective(
            cross=LossTerm(cross_entropy(graph, prediction), graph.num_train_in_mean),
            smooth=LossTerm(0.5 * smooth_loss(distance, edge_weight_in_loss(graph)), weight=self.lambda_smooth),
            label=LossTerm(0.5 * label, weight=self.lambda_label),
            const=LossTerm(const, weight=self.lambda_const),
            reg=LossTerm(reg_loss(precision), weight=self.lambda_reg),
        )

    def parameter_groups(self) -> list[dict[str, Any]]:
        decay = partial(doubled_l2_decay, strength=self.doubled_l2)
        return [{"params": list(self.parameters()), "weight_decay": decay}]

    @property
    def reach(self) -> int:
        return len(self.layers)

    def extend(self, graph: Graph) -> ReleasedConfGCN:
        return extended(self, graph, scores=softmax, raw=log_scores, precision=functional.elu)
