"""The contract that ConfGCN and every baseline fulfil: all that the training loop knows of a method."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from confgcn.exceptions import UsageError
from confgcn.graph import Graph
from confgcn.models.prior import prior_where_uninformed


@dataclass(frozen=True)
class Shape:
    """The sizes of a graph that a method is built for.

    For a shard of a graph ``num_nodes`` is that of the whole graph, and ``own`` holds the positions of the shard's
    nodes in it: parameters with a row per node are kept for these only.
    """

    num_nodes: int
    num_features: int
    num_classes: int
    own: Tensor | None = None

    @classmethod
    def of(cls, graph: Graph) -> Shape:
        """The sizes of this graph, or of the graph that this is a shard of."""
        if graph.shard is None:
            return cls(graph.num_nodes, graph.num_features, graph.num_classes)
        return cls(graph.shard.total_nodes, graph.num_features, graph.num_classes, graph.shard.nodes)

    def to_json(self) -> dict[str, int]:
        """The sizes of a whole graph."""
        return {name: getattr(self, name) for name in ("num_nodes", "num_features", "num_classes")}


@dataclass(frozen=True, eq=False)
class Prediction:
    """The output of a method.

    Shapes: ``logits`` (N, C), finite; ``mu`` (N, C), label scores; ``precision`` (N, C), the diagonal of the inverse
    covariance; ``evidence`` (N,), the share of a node's messages that comes from labelled nodes; ``distance`` and
    ``influence`` (E,), over every edge of the graph's adjacency. If only some nodes were requested, ``nodes`` (n,)
    holds their positions, and ``logits`` is (n, C). ``views`` (M, n, C) are the logits of random views in training.
    """

    logits: Tensor
    mu: Tensor | None = None
    precision: Tensor | None = None
    distance: Tensor | None = None
    influence: Tensor | None = None
    nodes: Tensor | None = None
    evidence: Tensor | None = None
    views: Tensor | None = None

    def logits_of(self, nodes: Tensor) -> Tensor:
        """The logits of these nodes, (n, C)."""
        if self.nodes is None:
            return self.logits.index_select(0, nodes)
        if self.nodes is not nodes and not torch.equal(self.nodes, nodes):
            raise UsageError("the prediction holds the logits of other nodes; predict the requested ones")
        return self.logits

    def detached(self) -> Prediction:
        """The same without gradients."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(self, **{name: value.detach() for name, value in given.items() if value is not None})

    @property
    def raw_probabilities(self) -> Tensor:
        """softmax of the logits, (N, C); not calibrated."""
        return self.logits.softmax(-1)


@dataclass(frozen=True, eq=False)
class Contributions:
    """The prediction of a node with and without what each other node contributes to it; weights and influences fixed.

    Attributes:
        nodes: (n,), the nodes that contribute most.
        weights: (n,), the share of each in what the prediction is computed from; None where it has no shares.
        influence: (n,), r_uv of neighbours of the node, zero for other nodes; None without influences.
        log_probabilities: (C,), with all contributions.
        without: (n, C), log-probabilities without the contribution of each.
        without_all: (C,), log-probabilities without any contribution of another node.
        not_tried: number of contributing nodes beyond these.
    """

    nodes: Tensor
    weights: Tensor | None
    influence: Tensor | None
    log_probabilities: Tensor
    without: Tensor
    without_all: Tensor
    not_tried: int


@dataclass(frozen=True, eq=False)
class LossTerm:
    """One term of an objective, ``weight * sum / count``; without a ``count`` it is a sum and not a mean.

    Sum and count are kept apart so that they can be added over batches and shards. In a sample of a graph the sum is
    over the counted nodes and the count is that of the whole graph: over the batches of an epoch the terms add up to
    the term of the whole graph.
    """

    sum: Tensor
    count: int | None = None
    weight: float = 1.0

    @property
    def scale(self) -> float:
        """The factor of the sum."""
        return self.weight / (1 if self.count is None else self.count)

    def value(self) -> Tensor:
        """The term as it enters the objective."""
        return self.scale * self.sum


class AbstractMethod(nn.Module, ABC):
    """A method, built as ``Method(shape, *, hyperparameters...)``.

    A method without trainable parameters does all its work in :meth:`setup`. All random numbers come from torch's
    default generator, which the training loop seeds and restores.

    Attributes:
        per_node: names of the parameters that have a row for every node.
        member_options: of an ensemble the options of each member; else None.
        supports_shards: can be trained on shards of a graph. Needs every parameter of a node in ``per_node``, and
            rows of other shards from ``graph.halo``.
        supports_samples: can be trained on samples of a graph. Needs every parameter of a node in ``per_node``, and
            loss terms over the counted nodes of ``graph.sample`` only.
    """

    per_node: tuple[str, ...] = ()
    member_options: list[dict[str, Any]] | None = None
    supports_shards: bool = False
    supports_samples: bool = False

    @property
    def reach(self) -> int:
        """The largest distance, in edges, of a node that a prediction depends on."""
        raise NotImplementedError(f"{type(self).__name__} does not define its reach")

    @abstractmethod
    def forward(self, graph: Graph, nodes: Tensor | None = None) -> Prediction:
        """Predict these nodes of the graph, each at most once (None: every node).

        A method may predict more nodes than requested: see ``Prediction.nodes``.
        """

    def predict(self, graph: Graph, nodes: Tensor | None = None) -> Prediction:
        """Predict without dropout; uninformed nodes get the class prior (``confgcn.models.prior``)."""
        with self.evaluating():
            prediction: Prediction = self(graph, nodes).detached()
        return replace(prediction, logits=prior_where_uninformed(graph, prediction.logits, prediction.nodes))

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """Within, there is no dropout and no gradient."""
        was_training = self.training
        self.eval()
        try:
            with torch.no_grad():
                yield
        finally:
            self.train(was_training)

    def contributions(self, graph: Graph, node: int, *, limit: int) -> Contributions | None:
        """What other nodes contribute to the prediction of a node: of the ``limit`` that contribute most.

        None by default: the method cannot tell contributions apart, and an explanation removes edges instead.
        """
        return None

    def with_uniform_influence(self) -> AbstractMethod | None:
        """The same trained weights with equal influence of all neighbours; None for a method without influences."""
        return None

    def extend(self, graph: Graph) -> AbstractMethod:
        """The method for a graph with new nodes, weights unchanged; ``node_ids`` of new nodes follow the known ones.

        Refused by default: parameters and results of single nodes cannot be computed without training.
        """
        raise UsageError(f"{type(self).__name__} cannot predict nodes that were not in the training graph: train again")

    def setup(self, graph: Graph) -> None:
        """Work done once, before the first step; its results are kept in buffers."""

    def nodes_in_loss(self, graph: Graph) -> Tensor | None:
        """The nodes whose logits the objective needs (None: all); by default the training nodes."""
        return graph.train

    def loss_terms(self, graph: Graph, prediction: Prediction) -> dict[str, LossTerm]:
        """The objective, term by term; by default the mean cross-entropy of the training nodes."""
        return {"cross": LossTerm(cross_entropy(graph, prediction), graph.num_train_in_mean)}

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Groups for the optimiser; by default one group of all parameters.

        ``weight_decay`` is a number, or a function of the squared norm of a parameter; ``learning_rate`` replaces the
        one of the recipe.
        """
        return [{"params": list(self.parameters())}]


class InductiveMethod(AbstractMethod):
    """A method without parameters of single nodes: its weights apply to any graph."""

    def extend(self, graph: Graph) -> AbstractMethod:
        return self


def cross_entropy(graph: Graph, prediction: Prediction) -> Tensor:
    r"""The cross-entropy of the training nodes, as a sum.

    .. math:: L_{cross} = - \sum_{v \in V_l} \sum_j Y_{vj} \log \hat{Y}_{vj}
    """
    logits = prediction.logits_of(graph.train)
    return functional.cross_entropy(logits, graph.train_labels, reduction="sum")


def objective(**terms: LossTerm) -> dict[str, LossTerm]:
    """The sum of these terms, without those of weight zero."""
    return {name: term for name, term in terms.items() if term.weight}


def require(quantity: Tensor | None) -> Tensor:
    """An optional quantity of a prediction, where it must not be missing."""
    if quantity is None:
        raise TypeError("this prediction has no label scores, precisions or influences: its method computes none")
    return quantity
