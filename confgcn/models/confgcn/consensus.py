"""ConfGCN with calibrated confidences, label scores and precisions as parameters of nodes: preset ``consensus``."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn.functional import relu

from confgcn.exceptions import check_choice
from confgcn.graph import Graph
from confgcn.models.base import LossTerm, Prediction, Shape, cross_entropy, objective, require
from confgcn.models.confgcn.base import AbstractConfGCN, edge_weight_in_loss, of_batch
from confgcn.models.confgcn.influence import agreement, inverse_distance, normalised, walk
from confgcn.models.confgcn.label_distribution import LabelDistribution
from confgcn.models.confgcn.layer import dense_layer
from confgcn.models.confgcn.losses import (
    consensus_loss,
    evidence_loss,
    influence_smooth_loss,
    label_loss,
    smooth_loss,
)
from confgcn.models.confgcn.new_nodes import extended, log_scores
from confgcn.models.ranges import Count, Depth, DropoutRate, LearningRate, NonNegative, Positive, Share, Width
from confgcn.ops import Linear, dropout, edge_distance, propagate, softmax, with_halo_rows

Influence = Literal["agreement", "softmax", "distance", "uniform"]
SmoothOver = Literal["influence", "edges"]

SELF_SHARE = 0.2  # rho: the influence of a node on itself, if all its neighbours have a score of one
# Pseudo-counts of the prior of a precision: without evidence it tends to alpha / (alpha + beta), a node whose messages
# all come from labelled nodes to (alpha + nu) / (alpha + nu + beta).
ALPHA, BETA, NU = 0.5, 0.1, 10.0


class ConsensusConfGCN(AbstractConfGCN):
    r"""ConfGCN (Vashishth and others, AISTATS 2019) with influences, network and objective changed for calibration.

    **Label distributions.** Each node v has parameters :math:`m_v` (initially Xavier's) and :math:`z_v` (initially
    one), (C,) each. They define a consensus c, label scores :math:`\mu`, precisions p (the diagonal of
    :math:`\Sigma_v^{-1}`), and the distance of two neighbours:

    .. math:: c_v = \mathrm{softmax}(m_v), \quad \mu_v = \mathrm{softmax}(m_v / T), \quad p_v = \sigma(z_v), \quad
              d_M(u, v) = (\mu_u - \mu_v)^T \mathrm{diag}(p_u + p_v) (\mu_u - \mu_v)

    **Influence.** The score s of an edge is the probability that its ends have the same label. The influence r is a
    step of a random walk that follows edges in proportion to their weight w and their score, and otherwise stays:

    .. math:: a_{uv} = \tfrac{1}{2} \mu_u^T \mathrm{diag}(p_u + p_v) \mu_v, \quad
              s_{uv} = \frac{(C-1) a_{uv}}{(C-1) a_{uv} + 1 - a_{uv}}, \quad
              r_{uv} = (1 - \rho) \frac{w_{uv} s_{uv}}{\sum_{u' \ne v} w_{u'v}}, \quad
              r_{vv} = 1 - \sum_{u \ne v} r_{uv}

    **Network.** R has :math:`r_{uv}` in row v and column u. No gradient flows through it. :math:`H^0` are the
    features, D is dropout, D' dropout of whole rows. The evidence e is the share of messages from labelled nodes
    :math:`V_l`:

    .. math:: P = \frac{1}{K + 1} \sum_{k=0}^{K} R^k, \quad H^{l+1} = \mathrm{ReLU}(P D'(D(H^l) W^l + b^l)), \quad
              \hat{Y} = \mathrm{softmax}(D(H) W + b), \quad e = P \, 1_{V_l}

    **Objective.** Every term is divided by the number of nodes that it sums over: :math:`|V_l|` or N. Y are one-hot
    labels. Quantities in brackets are held fixed:

    .. math:: L = L_{cross} + \lambda_1 L_{smooth} + \lambda_2 L_{label} + \lambda_3 L_{const} + \lambda_4 L_{reg}
    .. math:: L_{cross} = - \sum_{v \in V_l} Y_v^T \log \hat{Y}_v, \quad
              L_{label} = \sum_{v \in V_l} (\mu_v - Y_v)^T \mathrm{diag}(p_v + \tfrac{1}{\gamma}) (\mu_v - Y_v)
    .. math:: L_{smooth} = \sum_{v} \sum_{u} [r_{uv}] \, d_M(u, v), \quad
              L_{const} = \sum_v \left( \|\hat{Y}_v - [\mu_v]\|^2 + \|c_v - [\hat{Y}_v]\|^2 \right)
    .. math:: L_{reg} = - \sum_{v, c} \left( (\alpha + \nu [e_v]) \log p_{vc} + \beta \log(1 - p_{vc}) \right)

    **Prediction.** After training it is :math:`(1 - \eta) \hat{Y} + \eta c`.

    The constants :math:`\rho, \alpha, \beta, \nu` are in this module. ``docs/confidence.md`` gives the reasons.

    Args:
        hidden_dim, num_layers, steps: width and number of the layers; K.
        dropout, node_dropout: rates of D and D'.
        mu_temperature: T.
        lambda_smooth, lambda_label, lambda_const, lambda_reg: :math:`\lambda_1` to :math:`\lambda_4`; zero removes a
            term.
        gamma: of L_label.
        consensus_share: :math:`\eta`.
        weight_decay: of W.
        confidence_learning_rate: of m and z (None: that of the recipe).
        influence: an ablation: ``softmax`` of s over N(v) in the place of r; ``distance``, s = 1 / (1 + d_M);
            ``uniform``, s = 1.
        smooth_over: an ablation: ``edges``, the L_smooth of the paper.

    Shapes: ``logits``, ``mu``, ``precision`` (N, C); ``distance``, ``influence`` (E,); ``evidence`` (N,).
    """

    def __init__(
        self,
        shape: Shape,
        *,
        hidden_dim: Width = 32,
        num_layers: Depth = 1,
        steps: Count = 4,
        dropout: DropoutRate = 0.5,
        node_dropout: DropoutRate = 0.5,
        mu_temperature: Positive = 0.8,
        lambda_smooth: NonNegative = 0.02,
        lambda_label: NonNegative = 0.1,
        lambda_const: NonNegative = 0.5,
        lambda_reg: NonNegative = 0.05,
        gamma: Positive = 1.0,
        consensus_share: Share = 0.5,
        weight_decay: NonNegative = 5e-4,
        confidence_learning_rate: LearningRate | None = 0.05,
        influence: Influence = "agreement",
        smooth_over: SmoothOver = "influence",
    ) -> None:
        super().__init__()
        check_choice("influence", influence, get_args(Influence))
        check_choice("smooth_over", smooth_over, get_args(SmoothOver))
        self.steps, self.dropout, self.node_dropout = steps, dropout, node_dropout
        self.mu_temperature, self.gamma, self.consensus_share = mu_temperature, gamma, consensus_share
        self.lambda_smooth, self.lambda_label = lambda_smooth, lambda_label
        self.lambda_const, self.lambda_reg = lambda_const, lambda_reg
        self.weight_decay, self.confidence_learning_rate = weight_decay, confidence_learning_rate
        self.influence: Influence = influence
        self.smooth_over = smooth_over
        self.label_distribution = LabelDistribution(shape)
        widths = [shape.num_features, *[hidden_dim] * num_layers]
        self.layers = nn.ModuleList(Linear(before, after) for before, after in pairwise(widths))
        self.dense = dense_layer(hidden_dim, shape.num_classes)

    def forward(self, graph: Graph, nodes: Tensor | None = None) -> Prediction:
        confidences = self.confidences(graph)
        return of_batch(graph, Prediction(self.logits(graph, confidences["influence"]), **confidences))

    def confidences(self, graph: Graph) -> dict[str, Tensor]:
        """``mu``, ``precision``, ``distance``, ``influence`` and ``evidence``."""
        mu, precision = self.scores_and_precisions(graph.node_rows)  # (N, C)
        all_mu, all_precision = with_halo_rows(graph.halo, mu, precision)
        distance = edge_distance(graph.adjacency, all_mu, all_precision)  # (E,)
        fixed = (quantity.detach() for quantity in (all_mu, all_precision, distance))
        influence = edge_influence(self.influence, graph, *fixed)  # (E,)
        labelled = mu.new_zeros(graph.num_nodes, 1).index_fill_(0, graph.labelled, 1.0)
        evidence = propagate(graph.adjacency, influence, labelled, steps=self.steps, halo=graph.halo).squeeze(1)
        return {"mu": mu, "precision": precision, "distance": distance, "influence": influence, "evidence": evidence}

    def scores_and_precisions(self, rows: Tensor | slice) -> tuple[Tensor, Tensor]:
        """mu and p of these rows, (N, C) each."""
        raw_mu, raw_precision = self.label_distribution(rows)
        return softmax(raw_mu / self.mu_temperature), raw_precision.sigmoid()

    def logits(self, graph: Graph, influence: Tensor, propagate: Callable[..., Tensor] = propagate) -> Tensor:
        """The network, and after training its mean with the consensus, (N, C)."""
        hidden = graph.features
        for layer in self.layers:
            message = layer(dropout(hidden, self.dropout, training=self.training))
            message = drop_rows(message, self.node_dropout, training=self.training)
            hidden = relu(propagate(graph.adjacency, influence, message, steps=self.steps, halo=graph.halo))
        logits: Tensor = self.dense(dropout(hidden, self.dropout, training=self.training))
        if self.training or not self.consensus_share:
            return logits
        consensus = softmax(self.label_distribution(graph.node_rows)[0])
        mean = torch.lerp(softmax(logits), consensus, self.consensus_share)
        return mean.clamp(min=torch.finfo(mean.dtype).tiny).log()

    def nodes_in_loss(self, graph: Graph) -> Tensor | None:
        return None  # L_const is over all nodes

    def loss_terms(self, graph: Graph, prediction: Prediction) -> dict[str, LossTerm]:
        mu, precision, distance = map(require, (prediction.mu, prediction.precision, prediction.distance))
        influence, evidence = map(require, (prediction.influence, prediction.evidence))
        raw_mu, raw_precision = self.label_distribution(graph.batch_node_rows)
        consensus, probabilities = softmax(raw_mu), softmax(prediction.logits)
        nodes, labelled, labels = graph.num_nodes_in_mean, graph.num_train_in_mean, graph.train_one_hot
        smooth = influence_smooth_loss(distance, influence)
        if self.smooth_over == "edges":
            smooth = smooth_loss(distance, edge_weight_in_loss(graph))
        label = label_loss(mu, precision, graph.train, labels, certainty=1 / self.gamma)
        reg = evidence_loss(raw_precision, evidence, alpha=ALPHA, beta=BETA, nu=NU)
        return objective(
            cross=LossTerm(cross_entropy(graph, prediction), labelled),
            smooth=LossTerm(smooth, nodes, self.lambda_smooth),
            label=LossTerm(label, labelled, self.lambda_label),
            const=LossTerm(consensus_loss(mu, consensus, probabilities), nodes, self.lambda_const),
            reg=LossTerm(reg, nodes, self.lambda_reg),
        )

    def parameter_groups(self) -> list[dict[str, Any]]:
        layers = [*self.layers, self.dense]
        own_rate = {"learning_rate": self.confidence_learning_rate} if self.confidence_learning_rate else {}
        return [
            {"params": list(self.label_distribution.parameters()), **own_rate},
            {"params": [layer.weight for layer in layers], "weight_decay": self.weight_decay},
            {"params": [layer.bias for layer in layers]},
        ]

    @property
    def reach(self) -> int:
        return len(self.layers) * self.steps

    def extend(self, graph: Graph) -> ConsensusConfGCN:
        rate = self.confidence_learning_rate
        return extended(self, graph, scores=softmax, raw=log_scores, precision=torch.sigmoid, learning_rate=rate)


def edge_influence(kind: Influence, graph: Graph, mu: Tensor, precision: Tensor, distance: Tensor) -> Tensor:
    """r of every edge, (E,); rows of mu and p for all sources of edges."""
    if kind == "uniform":
        scores = torch.ones_like(distance)
    elif kind == "distance":
        scores = inverse_distance(distance, offset=1.0)
    else:
        scores = agreement(graph.adjacency, mu, precision)
    if kind == "softmax":
        return normalised(graph.adjacency, scores, "softmax", graph.edge_weight)
    return walk(graph.adjacency, scores, graph.edge_weight, self_share=SELF_SHARE)


def drop_rows(values: Tensor, rate: float, *, training: bool) -> Tensor:
    """Dropout of whole rows, (N, width) -> (N, width)."""
    if not training or not rate:
        return values
    kept = dropout(values.new_ones(len(values), 1), rate, training=True)
    assert isinstance(kept, Tensor)
    return values * kept
