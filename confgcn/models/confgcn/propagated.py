"""ConfGCN that propagates first and then classifies: preset ``propagated``."""

from __future__ import annotations

from copy import copy
from typing import Annotated, Any, Literal, get_args

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from confgcn.exceptions import UsageError, check_choice
from confgcn.graph import Graph
from confgcn.models.base import Contributions, InductiveMethod, LossTerm, Prediction, Shape, objective, require
from confgcn.models.confgcn.channel_inputs import HOPS, ChannelInputs
from confgcn.models.confgcn.channel_network import ChannelNetwork, Normalise
from confgcn.models.confgcn.learned_influence import LearnedInfluence
from confgcn.models.confgcn.propagation import Propagation, feature_type, uniform_propagation
from confgcn.models.confgcn.row_contributions import Member, row_contributions
from confgcn.models.ranges import Count, Depth, DropoutRate, NonNegative, Positive, Share, Width
from confgcn.ops import edge_distance
from confgcn.sparse import rows_of

Channels = Literal["summed", "apart", "own", "labels"]
Influence = Literal["chosen", "learned", "uniform"]

MAX_VIEW_SIZE = 512
VIEWS = 2  # random views of a row in a step
UNLABELLED = 200  # nodes without a training label in a step
WARM_UP = 100  # steps until L_const has its full weight
CLEAR = 2.0, 0.75  # a consensus is a target above the smaller of 2/C and 0.75
MEASURED_ROWS = 4096  # that the moments of columns are measured on
BLOCK_ROWS = 4096  # predicted at a time
SMALLEST_VARIANCE = 0.01  # of a label score


class PropagatedConfGCN(InductiveMethod):
    r"""ConfGCN (Vashishth and others, AISTATS 2019) over propagation rows: nothing is differentiated through the graph.

    **Rows.** R is a random walk over the edges, weighed by the influences r (``propagation``). Every node has the
    largest entries of a row of

    .. math:: \Pi = \sum_{k=0}^{K} c_k R^k, \qquad c_k \propto (1 - \alpha)^k

    A view of a row is the mean of m nodes, drawn from the row with probabilities in proportion to its entries.

    **Channels.** ``summed``: :math:`\Pi x`. ``apart``: the node's own features and those of one and of two steps
    without self loops and without return, x, P x, :math:`P^2 x`. ``own``: the node's own features. With
    ``label_channel`` also the labels of training nodes around the node (never its own) and its degree. ``labels``: no
    features, but these labels and those that a walk of many steps reaches.

    **Prediction.** :math:`\hat{Y}` is the softmax of a network of the channels (``channel_network``). The label scores
    :math:`\mu` are the prediction with whole rows, the precision is the inverse variance of a label with these
    probabilities:

    .. math:: \mu_v = \hat{Y}_v(\Pi), \qquad p_{vc} = \frac{1}{\mu_{vc} (1 - \mu_{vc}) + \epsilon}

    **Objective.** In a step, some labelled nodes :math:`V_l` and some others U, in M views each. The consensus of the
    views, sharpened, is the target that each of them follows where it is clear:

    .. math:: L = \frac{1}{M |V_l|} \sum_{m} \sum_{v \in V_l} - Y_v^T \log \hat{Y}_v^{(m)} + \lambda \frac{1}{M |U|}
              \sum_{m} \sum_{v \in U} [\max_c \bar{Y}_{vc} > \theta] \; \| \hat{Y}_v^{(m)} - [\tilde{Y}_v] \|^2
    .. math:: \bar{Y}_v = \frac{1}{M} \sum_m \hat{Y}_v^{(m)}, \qquad
              \tilde{Y}_{vc} = \frac{\bar{Y}_{vc}^{1/T}}{\sum_{c'} \bar{Y}_{vc'}^{1/T}}

    :math:`\theta = \min(2/C, 0.75)`. Quantities in brackets are held fixed; :math:`\lambda` rises from zero over
    the first steps. Of the paper's five terms :math:`L_{cross}` and :math:`L_{const}` are left: label scores and
    precisions follow from the prediction, so that the other three have no parameters to train.

    Args:
        channels, label_channel: the inputs of the network.
        order, decay: K and :math:`\alpha` of ``summed``.
        unit_length: scale the features of a node to Euclidean length one, before and after propagation.
        normalise, hidden_dim, num_layers, dropout: of the network.
        view_size: m; zero for whole rows.
        labelled_batch: the largest number of labelled nodes in a step.
        lambda_const, sharpening: :math:`\lambda` and T.
        weight_decay: of all weights and gains.
        influence: ``learned`` from the label scores of other models (:meth:`learn_influence_from`), or ``uniform``;
            ``chosen``: in a search both are tried, otherwise it is uniform.

    Shapes: ``logits``, ``mu``, ``precision`` (N, C); ``distance``, ``influence`` (E,); ``evidence`` (N,).
    """

    def __init__(
        self,
        shape: Shape,
        *,
        channels: Channels = "summed",
        label_channel: bool = False,
        order: Count = 8,
        decay: Share = 0.2,
        unit_length: bool = True,
        normalise: Normalise = "none",
        hidden_dim: Width = 64,
        num_layers: Depth = 2,
        dropout: DropoutRate = 0.5,
        view_size: Annotated[int, Field(ge=0, le=MAX_VIEW_SIZE)] = 16,
        labelled_batch: Count = 200,
        lambda_const: NonNegative = 1.0,
        sharpening: Positive = 0.3,
        weight_decay: NonNegative = 1e-2,
        influence: Influence = "chosen",
    ) -> None:
        super().__init__()
        for name, value, choices in (
            ("channels", channels, Channels),
            ("normalise", normalise, Normalise),
            ("influence", influence, Influence),
        ):
            check_choice(name, value, get_args(choices))
        self.channels, self.label_channel, self.order, self.decay = channels, label_channel, order, decay
        self.unit_length, self.view_size = unit_length, view_size
        self.labelled_batch, self.lambda_const, self.sharpening = labelled_batch, lambda_const, sharpening
        self.weight_decay = weight_decay
        self.influence: Influence = influence
        self.shape = shape
        self.network = ChannelNetwork(
            self._widths(),
            shape.num_classes,
            hidden_dim=hidden_dim,
            num_layers=num_layers,
            normalise=normalise,
            dropout=dropout,
        )
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))
        self.steps: Tensor
        self.teacher: LearnedInfluence | None = None
        self._inputs: ChannelInputs | None = None

    def _widths(self) -> list[int]:
        """The number of columns of each channel."""
        near, far = 2 * self.shape.num_classes + 3, self.shape.num_classes + 1
        if self.channels == "labels":
            return [near, far]
        features = [self.shape.num_features] * (1 + len(HOPS) if self.channels == "apart" else 1)
        return [*features, near] if self.label_channel else features

    @property
    def uses_influence(self) -> bool:
        """Whether the prediction depends on the influences of edges."""
        return self.channels in ("summed", "apart")

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_inputs": None}  # copied and pickled without what is kept of a graph

    def forget_inputs(self) -> None:
        """Free what is kept of a graph; it is computed again when it is needed."""
        self._inputs = None

    def learn_influence_from(self, teacher: LearnedInfluence) -> None:
        """Use the influences that these label scores give; the teacher is not part of this model's weights."""
        self.teacher = teacher
        self.forget_inputs()

    def with_uniform_influence(self) -> PropagatedConfGCN:
        control = copy(self)  # shares the parameters
        control.influence, control._inputs = "uniform", None
        return control

    def setup(self, graph: Graph) -> None:
        if self.influence == "learned" and self.teacher is None:
            raise UsageError(
                "influence = 'learned': expected models to learn it from, got none; a search with "
                "validation labels has them (search = true), or call learn_influence_from"
            )
        inputs = self.inputs(graph)
        rows = torch.randperm(graph.num_nodes)[:MEASURED_ROWS]
        self.network.measure_columns(inputs.whole(rows))

    def inputs(self, graph: Graph) -> ChannelInputs:
        """What the channels of this graph's nodes are computed from; kept as long as the graph is the same."""
        if self._inputs is None or self._inputs.graph() is not graph:
            self._inputs = ChannelInputs.of(self, graph)
        return self._inputs

    def propagation(self, graph: Graph) -> Propagation:
        """The random walk over the edges of this graph."""
        if self.influence != "learned" or self.teacher is None:
            return uniform_propagation(graph)
        return self.teacher.propagation(graph)

    def forward(self, graph: Graph, nodes: Tensor | None = None) -> Prediction:
        if self.training:
            return self.random_views(graph)
        inputs = self.inputs(graph)
        kept = None if nodes is None else inputs.kept(nodes)
        if kept is None:
            positions = torch.arange(graph.num_nodes, device=graph.device) if nodes is None else nodes
            logits = [self.network(inputs.whole(block)) for block in positions.split(BLOCK_ROWS)]
        else:
            places = torch.arange(kept[0].shape[0], device=graph.device)
            logits = [self.network([rows_of(channel, block) for channel in kept]) for block in places.split(BLOCK_ROWS)]
        prediction = Prediction(torch.cat(logits), nodes=nodes)
        return prediction if nodes is not None else self.with_confidences(graph, prediction)

    def random_views(self, graph: Graph) -> Prediction:
        """The logits of some labelled and some other nodes in random views of their rows, (M, n, C)."""
        self.steps += 1
        inputs, drawn = self.inputs(graph), _drawn(graph.train, self.labelled_batch)
        nodes = graph.train[drawn]
        if self.lambda_const:
            nodes = torch.cat([nodes, self._unlabelled(graph)])
            views = torch.stack([self.network(inputs.views(nodes, self.view_size)) for _ in range(VIEWS)])
        elif not self.view_size and (kept := inputs.kept(graph.train)) is not None:
            views = self.network([rows_of(channel, drawn) for channel in kept])[None]
        else:
            views = self.network(inputs.views(nodes, self.view_size))[None]
        return Prediction(views.mean(0), nodes=nodes, views=views)

    def _unlabelled(self, graph: Graph) -> Tensor:
        others = torch.randint(graph.num_nodes, (UNLABELLED,), device=graph.device)
        return others[graph.labels[others] < 0]

    def with_confidences(self, graph: Graph, prediction: Prediction) -> Prediction:
        """The prediction with label scores, precisions, distances, influences and evidence."""
        mu = prediction.logits.softmax(-1)
        return confident_prediction(graph, prediction.logits, mu, self.propagation(graph), self.evidence(graph))

    def evidence(self, graph: Graph) -> Tensor:
        """The share of a node's row that is of labelled nodes, (N,)."""
        zeros = torch.zeros(graph.num_nodes, 1, dtype=feature_type(graph), device=graph.device)
        is_labelled = zeros.index_fill_(0, graph.train, 1.0)
        tables = self.inputs(graph).tables
        if not tables or tables[-1] is None:
            return is_labelled.squeeze(1)
        shares = tables[-1].normalised().features(is_labelled)
        assert isinstance(shares, Tensor)
        return shares.squeeze(1)

    def contributions(self, graph: Graph, node: int, *, limit: int) -> Contributions:
        return row_contributions([Member(self)], self.propagation(graph), graph, node, limit=limit)

    def nodes_in_loss(self, graph: Graph) -> Tensor | None:
        return None  # a step draws its nodes

    def loss_terms(self, graph: Graph, prediction: Prediction) -> dict[str, LossTerm]:
        nodes, views = require(prediction.nodes), require(prediction.views)
        labels = graph.labels[nodes]
        is_labelled = labels >= 0
        count = len(views) * int(is_labelled.sum())
        cross = functional.cross_entropy(
            views[:, is_labelled].flatten(0, 1), labels[is_labelled].repeat(len(views)), reduction="sum"
        )
        others = views[:, ~is_labelled].softmax(-1)
        ramp = min(1.0, int(self.steps) / WARM_UP)
        const = LossTerm(
            consensus_loss(others, self.sharpening), max(1, others[..., 0].numel()), ramp * self.lambda_const
        )
        return objective(cross=LossTerm(cross, count), const=const)

    def parameter_groups(self) -> list[dict[str, Any]]:
        return [{"params": list(self.network.parameters()), "weight_decay": self.weight_decay}]


def consensus_loss(views: Tensor, sharpening: float) -> Tensor:
    r"""L_const: the squared distances of the views (M, n, C) to their sharpened mean, as a sum."""
    with torch.no_grad():
        mean = views.mean(0)
        target = mean.log().div(sharpening).softmax(-1)
        is_clear = mean.amax(-1) > min(CLEAR[0] / views.shape[-1], CLEAR[1])
    return ((views - target).square().sum(-1) * is_clear).sum()


def confident_prediction(
    graph: Graph, logits: Tensor, mu: Tensor, propagation: Propagation, evidence: Tensor
) -> Prediction:
    """A prediction of all nodes with the confidences that follow from its label scores."""
    precision = 1.0 / (mu * (1.0 - mu) + SMALLEST_VARIANCE)
    distance = edge_distance(graph.adjacency, mu, precision)
    return Prediction(logits, mu, precision, distance, propagation.influence, evidence=evidence)


def _drawn(nodes: Tensor, number: int) -> Tensor:
    """The positions of so many of these nodes at random, or of all."""
    if number >= len(nodes):
        return torch.arange(len(nodes), device=nodes.device)
    return torch.randint(len(nodes), (number,), device=nodes.device)
