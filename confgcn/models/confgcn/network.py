"""ConfGCN: graph convolutions whose neighbours count by the confidence of their label scores."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from confgcn.exceptions import UsageError
from confgcn.graph import Graph
from confgcn.graph.receptive_field import Hop, ReceptiveField
from confgcn.models.base import AbstractMethod, LossTerm, Prediction, Shape, cross_entropy, require
from confgcn.models.confgcn import losses
from confgcn.models.confgcn.influence import InfluenceNormalisation, InfluenceScore, influence, trusting_influence
from confgcn.models.confgcn.label_distribution import LabelDistribution, MuForm, PrecisionForm, covariance
from confgcn.models.confgcn.layer import ConfidenceConvolution
from confgcn.models.confgcn.new_nodes import solve_new_rows
from confgcn.models.ranges import Depth, DropoutRate, LearningRate, NonNegative, Positive, Share, WholeNumber, Width
from confgcn.ops import Halo, edge_distance, propagate, rows_at, softmax, with_halo_rows
from confgcn.ops import dropout as dropped
from confgcn.sparse import SparseMatrix


class ConfGCN(AbstractMethod):
    r"""Vashishth, Yadav, Bhandari, Talukdar: Confidence-based Graph Convolutional Networks, AISTATS 2019.

    .. math:: L = L_{cross} + \lambda_1 L_{smooth} + \lambda_2 L_{label} + \lambda_3 L_{const} + \lambda_4 L_{reg}

    The defaults are the printed equations. Where the authors' released code differs, or where the preset
    ``consensus`` puts something right, an argument says so; ``docs/paper_and_code.md`` lays all three side by side.

    Args:
        hidden_dim, num_layers, dropout: width and number of the graph layers; dropout on the input of each, and with
            steps of the dense layer too.
        steps, node_dropout: where there are steps, a layer takes the mean over a walk of so many, and drops the
            messages of whole nodes; none, and one aggregation (the paper).
        influence: ``distance`` (the paper), ``agreement`` (consensus) or ``uniform`` (control: every neighbour counts
            the same).
        normalisation: of the influences over N(v): ``none`` (the paper), ``softmax`` (released), ``walk`` (consensus).
        distance_offset: the constant c in r = 1 / (d_M + c).
        activation, bias: ReLU and b (the paper), or ``identity`` and none (released).
        output: a ``dense`` layer after the K graph layers (the paper), or the K-th ``graph`` layer (released).
        mu_form, mu_temperature, precision_form: how mu and precision come from their parameters.
        lambda_smooth, lambda_label, lambda_const, lambda_reg: weights of the terms; zero removes a term.
        gamma, label_certainty: the term I/gamma of L_label is ``divided`` (the paper) or I*gamma, ``multiplied``.
        quadratic_scale: factor of L_smooth and L_label: 1 (the paper), 1/2 (released, as in TACO).
        smooth_over: L_smooth over all ``edges`` (the paper), or by their ``influence`` (consensus).
        const_over: L_const over ``all`` nodes (the paper), the ``labelled`` ones (released), or all of them as two
            pulls, to and from a ``consensus``.
        reg_on: L_reg on the ``covariance`` (the paper) or the ``precision`` (released), or by the ``evidence``.
        cross, terms: L_cross and the other terms as a ``sum`` (the paper) or a ``mean`` (released has it in L_cross).
        doubled_l2, weight_decay: strength of the released code's regulariser on every parameter; of a plain one on
            the weights of layers alone.
        confidence_learning_rate: of mu and precision; None: the recipe's.
        consensus_share: of the consensus in what is predicted once training is over.
    """

    per_node = ("label_distribution.raw_mu", "label_distribution.raw_precision")
    supports_shards = True
    supports_samples = True

    def __init__(
        self,
        shape: Shape,
        *,
        hidden_dim: Width = 16,
        num_layers: Depth = 2,
        dropout: DropoutRate = 0.0,
        steps: WholeNumber = 0,
        node_dropout: DropoutRate = 0.0,
        influence: InfluenceScore = "distance",
        normalisation: InfluenceNormalisation = "none",
        distance_offset: Positive = 1.0,
        activation: Literal["relu", "identity"] = "relu",
        bias: bool = True,
        output: Literal["dense", "graph"] = "dense",
        mu_form: MuForm = "free",
        mu_temperature: Positive = 1.0,
        precision_form: PrecisionForm = "free",
        lambda_smooth: NonNegative = 1.0,
        lambda_label: NonNegative = 1.0,
        lambda_const: NonNegative = 1.0,
        lambda_reg: NonNegative = 1.0,
        gamma: Positive = 1.0,
        label_certainty: Literal["divided", "multiplied"] = "divided",
        quadratic_scale: NonNegative = 1.0,
        smooth_over: Literal["edges", "influence"] = "edges",
        const_over: Literal["all", "labelled", "consensus"] = "all",
        reg_on: Literal["covariance", "precision", "evidence"] = "covariance",
        cross: Literal["sum", "mean"] = "sum",
        terms: Literal["sum", "mean"] = "sum",
        doubled_l2: NonNegative = 0.0,
        weight_decay: NonNegative = 0.0,
        confidence_learning_rate: LearningRate | None = None,
        consensus_share: Share = 0.0,
    ) -> None:
        super().__init__()
        if not steps and (node_dropout or reg_on == "evidence"):
            raise UsageError("steps = 0: node_dropout and reg_on = 'evidence' need a walk of at least one step")
        if doubled_l2 and (weight_decay or confidence_learning_rate):
            raise UsageError("doubled_l2 takes the place of weight_decay and of a confidence_learning_rate")
        if mu_temperature != 1.0 and mu_form != "softmax":
            raise UsageError(f"mu_temperature = {mu_temperature}: only mu_form = 'softmax' has a temperature")
        if reg_on == "evidence" and precision_form != "sigmoid":
            raise UsageError("reg_on = 'evidence': only precision_form = 'sigmoid' keeps precisions between 0 and 1")
        self.dropout, self.node_dropout, self.steps = dropout, node_dropout, steps
        self.influence: InfluenceScore = influence
        self.normalisation: InfluenceNormalisation = normalisation
        self.distance_offset = distance_offset
        self.activation = activation
        self.lambdas = {"smooth": lambda_smooth, "label": lambda_label, "const": lambda_const, "reg": lambda_reg}
        self.certainty = gamma if label_certainty == "multiplied" else 1.0 / gamma
        self.scales = {"smooth": quadratic_scale, "label": quadratic_scale}
        self.smooth_over, self.const_over, self.reg_on = smooth_over, const_over, reg_on
        self.cross_is_mean, self.terms_are_means = cross == "mean", terms == "mean"
        self.doubled_l2, self.weight_decay = doubled_l2, weight_decay
        self.confidence_learning_rate = confidence_learning_rate
        self.consensus_share = consensus_share

        self.label_distribution = LabelDistribution(
            shape.num_nodes,
            shape.num_classes,
            mu_form=mu_form,
            precision_form=precision_form,
            temperature=mu_temperature,
            own=shape.own,
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
        if self.steps or graph.shard is not None:  # several steps read nearly every node, and a part all of its own
            nodes = None
        asked = graph.batch_nodes if nodes is None and not self.steps else nodes
        field = graph.receptive_field(asked, depth=len(self.layers))
        mu, precision = self.label_distribution(graph.node_rows)  # (N, C) each
        of_all, precisions = with_halo_rows(graph.halo, mu, precision)  # borrowed ones included
        distance = edge_distance(graph.adjacency, of_all, precisions)  # (E,)
        weights = self._influence(graph, field, of_all, precisions, distance)  # of every edge the field reads
        first, *others = zip(field.hops, self.layers, strict=True)
        hidden = self._convolve(weights, field.features, *first, graph.halo)
        for hop, layer in others:
            hidden = self._convolve(weights, self._activate(hidden), hop, layer, graph.halo)
        logits = hidden if self.dense is None else self._classify(self.dense, hidden)
        if self.consensus_share and not self.training:
            logits = self._with_consensus(graph, logits, nodes)
        evidence = self._evidence(graph, weights) if self.steps else None
        trust = field.hops[-1].pick(weights) if nodes is None else None  # over the edges into the nodes asked for
        return _of_counted(graph, Prediction(logits, mu, precision, distance, trust, nodes, evidence))

    def _influence(
        self, graph: Graph, field: ReceptiveField, mu: Tensor, precision: Tensor, distance: Tensor
    ) -> Tensor:
        """The same for every layer."""
        if self.influence == "agreement" or self.normalisation == "walk":
            return trusting_influence(
                graph.adjacency,
                field,
                (mu, precision, distance),
                score=self.influence,
                distance_offset=self.distance_offset,
                normalisation=self.normalisation,
                edge_weight=graph.edge_weight,
            )
        return influence(
            field,
            distance,
            score=self.influence,
            distance_offset=self.distance_offset,
            normalisation=self.normalisation,
            edge_weight=graph.edge_weight,
        )

    def _convolve(
        self, weights: Tensor, features: Tensor | SparseMatrix, hop: Hop, layer: nn.Module, halo: Halo | None
    ) -> Tensor:
        output: Tensor = layer(
            hop.structure,
            hop.pick(weights),
            features,
            dropout=self.dropout if self.training else 0.0,
            node_dropout=self.node_dropout if self.training else 0.0,
            steps=self.steps,
            halo=halo,
        )
        return output

    def _classify(self, dense: nn.Linear, hidden: Tensor) -> Tensor:
        rate = self.dropout if self.steps else 0.0  # of the printed network only the graph layers' inputs are dropped
        logits: Tensor = dense(dropped(self._activate(hidden), rate, training=self.training))
        return logits

    def _with_consensus(self, graph: Graph, logits: Tensor, nodes: Tensor | None) -> Tensor:
        r"""What the network says and what it has said, :math:`\log ((1 - w) \hat{Y} + w c)`, (n, C)."""
        consensus = self.label_distribution.consensus(graph.node_rows)
        consensus = consensus if nodes is None else consensus[nodes]
        mean = torch.lerp(softmax(logits), consensus, self.consensus_share)
        return mean.clamp_(min=torch.finfo(mean.dtype).tiny).log_()

    def _evidence(self, graph: Graph, weights: Tensor) -> Tensor:
        """The share of what each node hears that comes from labelled nodes, (N,)."""
        labelled = weights.new_zeros(graph.num_nodes, 1).index_fill_(0, graph.labelled, 1.0)
        return propagate(graph.adjacency, weights, labelled, steps=self.steps, halo=graph.halo).squeeze(1)

    def _activate(self, hidden: Tensor) -> Tensor:
        return functional.relu(hidden) if self.activation == "relu" else hidden

    def nodes_in_loss(self, graph: Graph) -> Tensor | None:
        reads_all = self.lambdas["const"] and self.const_over != "labelled"
        trusts_all = self.lambdas["smooth"] and self.smooth_over == "influence"
        return None if reads_all or trusts_all else graph.train

    def loss_terms(self, graph: Graph, prediction: Prediction) -> dict[str, LossTerm]:
        count = graph.num_train_in_mean if self.cross_is_mean else None
        terms = {"cross": LossTerm(cross_entropy(graph, prediction), count)}
        sums = {"smooth": self._smooth, "label": self._label, "const": self._const, "reg": self._reg}
        for name, weight in self.lambdas.items():
            if weight:
                count = graph.num_train_in_mean if name == "label" else graph.num_nodes_in_mean
                terms[name] = LossTerm(
                    sums[name](graph, prediction),
                    count if self.terms_are_means else None,
                    weight * self.scales.get(name, 1.0),
                )
        return terms

    def with_uniform_influence(self) -> ConfGCN:
        """The same trained weights, every neighbour counting the same: what do the influences contribute?"""
        control = copy(self)  # which shares the parameters
        control.influence = "uniform"
        return control

    @property
    def reach(self) -> int:
        """How many edges away the furthest node is that a prediction depends on."""
        return len(self.layers) * max(self.steps, 1)

    def extend(self, graph: Graph) -> ConfGCN:
        """The same weights, for a graph with new nodes: those whose ids follow the ones of the training."""
        extended = copy(self)
        extended._modules = {**self._modules}
        extended.label_distribution = self.label_distribution.extended(int(graph.node_ids.max()) + 1)
        solver = copy(extended)
        solver.training, solver.dropout, solver.node_dropout = True, 0.0, 0.0
        solve_new_rows(solver, graph, (graph.node_ids >= len(self.label_distribution.raw_mu)).nonzero().squeeze(1))
        return extended.eval()

    def parameter_groups(self) -> list[dict[str, Any]]:
        if self.doubled_l2:
            decay = partial(losses.doubled_l2_decay, strength=self.doubled_l2)
            return [{"params": list(self.parameters()), "weight_decay": decay}]
        of_layers = dict(self.named_parameters(prefix=""))
        confidences = [of_layers.pop(f"label_distribution.{name}") for name in ("raw_mu", "raw_precision")]
        weights = [parameter for name, parameter in of_layers.items() if name.endswith("weight")]
        biases = [parameter for name, parameter in of_layers.items() if name.endswith("bias")]
        own_rate = {"learning_rate": self.confidence_learning_rate} if self.confidence_learning_rate else {}
        return [
            {"params": confidences, **own_rate},
            {"params": weights, "weight_decay": self.weight_decay},
            {"params": biases},
        ]

    def _smooth(self, graph: Graph, prediction: Prediction) -> Tensor:
        if self.smooth_over == "influence":
            return losses.trusted_smooth_loss(require(prediction.distance), require(prediction.influence))
        distance, weight = require(prediction.distance), graph.edge_weight
        return losses.smooth_loss(distance, None if weight is None else weight[: len(distance)])

    def _label(self, graph: Graph, prediction: Prediction) -> Tensor:
        mu, precision = require(prediction.mu), require(prediction.precision)
        return losses.label_loss(mu, precision, graph.train, graph.train_one_hot, certainty=self.certainty)

    def _const(self, graph: Graph, prediction: Prediction) -> Tensor:
        mu, logits = require(prediction.mu), prediction.logits
        if self.const_over == "consensus":
            consensus = self.label_distribution.consensus(graph.batch_node_rows)
            return losses.consensus_loss(mu, consensus, softmax(logits))
        if self.const_over == "labelled":
            mu, logits = rows_at(mu, graph.train), prediction.logits_of(graph.train)
        return losses.const_loss(mu, softmax(logits))

    def _reg(self, graph: Graph, prediction: Prediction) -> Tensor:
        precision = require(prediction.precision)
        if self.reg_on == "evidence":
            return losses.evidence_loss(precision, require(prediction.evidence))
        return losses.reg_loss(covariance(precision) if self.reg_on == "covariance" else precision)


def _of_counted(graph: Graph, prediction: Prediction) -> Prediction:
    """Of a sample, what is said of its counted nodes and of the edges into them, which come first."""
    if graph.sample is None:
        return prediction
    nodes, edges = graph.sample.batch_size, int(graph.adjacency.indptr[graph.sample.batch_size])
    lengths = {"logits": nodes, "mu": nodes, "precision": nodes, "evidence": nodes}
    lengths |= {"distance": edges, "influence": edges}
    found = {name: (getattr(prediction, name), length) for name, length in lengths.items()}
    return replace(prediction, **{name: value[:length] for name, (value, length) in found.items() if value is not None})
