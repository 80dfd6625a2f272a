"""ConfGCN: graph convolutions whose neighbours count by the confidence of their label scores."""

from __future__ import annotations

from copy import copy
from functools import partial
from itertools import pairwise
from typing import Any, Literal

from torch import Tensor, nn
from torch.nn import functional

from confgcn.graph import Graph
from confgcn.method import AbstractMethod, LossTerm, Prediction, Shape, cross_entropy, present
from confgcn.model import losses
from confgcn.model.influence import InfluenceNormalisation, InfluenceScore, influence
from confgcn.model.label_distribution import LabelDistribution, MuForm, PrecisionForm, covariance
from confgcn.model.layer import ConfidenceConvolution
from confgcn.ops import edge_distance, rows_at, softmax
from confgcn.ranges import Depth, DropoutRate, NonNegative, Positive, Width
from confgcn.receptive_field import Hop
from confgcn.sparse import SparseMatrix


class ConfGCN(AbstractMethod):
    r"""Vashishth, Yadav, Bhandari, Talukdar: Confidence-based Graph Convolutional Networks, AISTATS 2019.

    .. math:: L = L_{cross} + \lambda_1 L_{smooth} + \lambda_2 L_{label} + \lambda_3 L_{const} + \lambda_4 L_{reg}

    The defaults are the printed equations. Where the authors' released code differs an argument says so;
    ``docs/paper_and_code.md`` lays the two side by side.

    Args:
        hidden_dim, num_layers, dropout: width and number K of the graph layers; dropout on the input of each.
        influence: ``distance`` (the paper) or ``uniform`` (control: every neighbour counts the same).
        normalisation: of the influences over N(v): ``none`` (the paper) or ``softmax`` (released).
        distance_offset: the constant c in r = 1 / (d_M + c).
        activation, bias: ReLU and b (the paper), or ``identity`` and none (released).
        output: a ``dense`` layer after the K graph layers (the paper), or the K-th ``graph`` layer (released).
        mu_form, precision_form: how mu and precision come from their parameters.
        lambda_smooth, lambda_label, lambda_const, lambda_reg: weights of the terms; zero removes a term.
        gamma, label_certainty: the term I/gamma of L_label is ``divided`` (the paper) or I*gamma, ``multiplied``.
        quadratic_scale: factor of L_smooth and L_label: 1 (the paper), 1/2 (released, as in TACO).
        const_over: L_const over ``all`` nodes (the paper) or the ``labelled`` ones (released).
        reg_on: L_reg on the ``covariance`` (the paper) or the ``precision`` (released).
        cross: L_cross as a ``sum`` (the paper) or ``mean`` (released).
        doubled_l2: strength of the released code's regulariser.
    """

    def __init__(
        self,
        shape: Shape,
        *,
        hidden_dim: Width = 16,
        num_layers: Depth = 2,
        dropout: DropoutRate = 0.0,
        influence: InfluenceScore = "distance",
        normalisation: InfluenceNormalisation = "none",
        distance_offset: Positive = 1.0,
        activation: Literal["relu", "identity"] = "relu",
        bias: bool = True,
        output: Literal["dense", "graph"] = "dense",
        mu_form: MuForm = "free",
        precision_form: PrecisionForm = "free",
        lambda_smooth: NonNegative = 1.0,
        lambda_label: NonNegative = 1.0,
        lambda_const: NonNegative = 1.0,
        lambda_reg: NonNegative = 1.0,
        gamma: Positive = 1.0,
        label_certainty: Literal["divided", "multiplied"] = "divided",
        quadratic_scale: NonNegative = 1.0,
        const_over: Literal["all", "labelled"] = "all",
        reg_on: Literal["covariance", "precision"] = "covariance",
        cross: Literal["sum", "mean"] = "sum",
        doubled_l2: NonNegative = 0.0,
    ) -> None:
        super().__init__()
        self.dropout = dropout
        self.influence: InfluenceScore = influence
        self.normalisation: InfluenceNormalisation = normalisation
        self.distance_offset = distance_offset
        self.activation = activation
        self.lambdas = {"smooth": lambda_smooth, "label": lambda_label, "const": lambda_const, "reg": lambda_reg}
        self.certainty = gamma if label_certainty == "multiplied" else 1.0 / gamma
        self.scales = {"smooth": quadratic_scale, "label": quadratic_scale}
        self.const_over = const_over
        self.reg_on = reg_on
        self.cross_is_mean = cross == "mean"
        self.doubled_l2 = doubled_l2

        self.label_distribution = LabelDistribution(
            shape.num_nodes, shape.num_classes, mu_form=mu_form, precision_form=precision_form
        )
        last = shape.num_classes if output == "graph" else hidden_dim
        widths = [shape.num_features, *[hidden_dim] * (num_layers - 1), last]
        self.layers = nn.ModuleList(
            ConfidenceConvolution(before, after, bias=bias) for before, after in pairwise(widths)
        )
        self.dense = nn.Linear(hidden_dim, shape.num_classes) if output == "dense" else None
        if self.dense is not None:
            nn.init.xavier_uniform_(self.dense.weight)
            nn.init.zeros_(self.dense.bias)

    def forward(self, graph: Graph, nodes: Tensor | None = None) -> Prediction:
        field = graph.receptive_field(nodes, depth=len(self.layers))
        mu, precision = self.label_distribution(graph.node_rows)  # (N, C) each
        distance = edge_distance(graph.adjacency, mu, precision)  # (E,)
        weights = influence(  # of every edge the field reads; the same for every layer
            field,
            distance,
            score=self.influence,
            distance_offset=self.distance_offset,
            normalisation=self.normalisation,
        )
        first, *others = zip(field.hops, self.layers, strict=True)
        hidden = self._convolve(weights, field.features, *first)
        for hop, layer in others:
            hidden = self._convolve(weights, self._activate(hidden), hop, layer)
        logits = hidden if self.dense is None else self.dense(self._activate(hidden))
        return Prediction(logits, mu, precision, distance, weights if nodes is None else None, nodes)

    def _convolve(self, weights: Tensor, features: Tensor | SparseMatrix, hop: Hop, layer: nn.Module) -> Tensor:
        rate = self.dropout if self.training else 0.0
        output: Tensor = layer(hop.structure, hop.pick(weights), features, dropout=rate)
        return output

    def _activate(self, hidden: Tensor) -> Tensor:
        return functional.relu(hidden) if self.activation == "relu" else hidden

    def nodes_in_loss(self, graph: Graph) -> Tensor | None:
        return None if self.lambdas["const"] and self.const_over == "all" else graph.train

    def loss_terms(self, graph: Graph, prediction: Prediction) -> dict[str, LossTerm]:
        terms = {"cross": cross_entropy(graph, prediction, mean=self.cross_is_mean)}
        sums = {"smooth": self._smooth, "label": self._label, "const": self._const, "reg": self._reg}
        for name, weight in self.lambdas.items():
            if weight:
                terms[name] = LossTerm(sums[name](graph, prediction), weight=weight * self.scales.get(name, 1.0))
        return terms

    def with_uniform_influence(self) -> ConfGCN:
        """The same trained weights, every neighbour counting the same: what do the influences contribute?"""
        control = copy(self)  # which shares the parameters
        control.influence = "uniform"
        return control

    def parameter_groups(self) -> list[dict[str, Any]]:
        decay = partial(losses.doubled_l2_decay, strength=self.doubled_l2) if self.doubled_l2 else 0.0
        return [{"params": list(self.parameters()), "weight_decay": decay}]

    def _smooth(self, graph: Graph, prediction: Prediction) -> Tensor:
        return losses.smooth_loss(present(prediction.distance))

    def _label(self, graph: Graph, prediction: Prediction) -> Tensor:
        mu, precision = present(prediction.mu), present(prediction.precision)
        return losses.label_loss(mu, precision, graph.train, graph.train_one_hot, certainty=self.certainty)

    def _const(self, graph: Graph, prediction: Prediction) -> Tensor:
        mu, logits = present(prediction.mu), prediction.logits
        if self.const_over == "labelled":
            mu, logits = rows_at(mu, graph.train), prediction.logits_of(graph.train)
        return losses.const_loss(mu, softmax(logits))

    def _reg(self, graph: Graph, prediction: Prediction) -> Tensor:
        precision = present(prediction.precision)
        return losses.reg_loss(covariance(precision) if self.reg_on == "covariance" else precision)
