"""The contract that ConfGCN and every baseline fulfil. The training loop knows these verbs and nothing else."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from confgcn.exceptions import UsageError
from confgcn.graph import Graph
from confgcn.models.prior import prior_where_silent
from confgcn.ops import rows_at


@dataclass(frozen=True)
class Shape:
    """What a method must know of a graph before it has seen one.

    Of a part of a graph ``num_nodes`` counts all, and ``own`` says which of them are the part's: parameters of nodes
    are kept for these alone.
    """

    num_nodes: int
    num_features: int
    num_classes: int
    own: Tensor | None = None

    @classmethod
    def of(cls, graph: Graph) -> Shape:
        if graph.shard is None:
            return cls(graph.num_nodes, graph.num_features, graph.num_classes)
        return cls(graph.shard.num_all, graph.num_features, graph.num_classes, graph.shard.nodes)

    def to_json(self) -> dict[str, int]:
        """Of a whole graph."""
        return {name: getattr(self, name) for name in ("num_nodes", "num_features", "num_classes")}


@dataclass(frozen=True, eq=False)
class Prediction:
    """What a method says of every node.

    Shapes: ``logits`` (N, C), finite; ``mu`` (N, C), label scores; ``precision`` (N, C), the diagonal of the
    inverse covariance; ``evidence`` (N,), the share of what a node hears that comes from labels; ``distance`` and
    ``influence`` (E,), over every edge of the graph's adjacency. Where only some nodes were asked for, ``nodes`` (n,)
    says which, and ``logits`` (n, C) has their rows alone.
    """

    logits: Tensor
    mu: Tensor | None = None
    precision: Tensor | None = None
    distance: Tensor | None = None
    influence: Tensor | None = None
    nodes: Tensor | None = None
    evidence: Tensor | None = None

    def logits_of(self, nodes: Tensor) -> Tensor:
        """The logits of these nodes, (n, C)."""
        if self.nodes is None:
            return rows_at(self.logits, nodes)
        if self.nodes is not nodes and not torch.equal(self.nodes, nodes):
            raise ValueError("the prediction was made for other nodes than those asked of it")
        return self.logits

    def detached(self) -> Prediction:
        """The same without gradients; what a method hands out may be its parameters themselves."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(self, **{name: value.detach() for name, value in given.items() if value is not None})

    @property
    def probabilities(self) -> Tensor:
        """softmax of the logits, (N, C)."""
        return self.logits.softmax(-1)


@dataclass(frozen=True, eq=False)
class LossTerm:
    """One term of an objective, as parts that can be added over batches and shards before it is formed.

    The term is ``weight * sum / count``; without a ``count`` it is a sum and not a mean. Of a sample the sum is that of
    the counted nodes and the count that of the whole: over the batches of an epoch the terms add up to the whole term.
    """

    sum: Tensor
    count: int | None = None
    weight: float = 1.0

    @property
    def scale(self) -> float:
        """What the sum is multiplied with."""
        return self.weight / (1 if self.count is None else self.count)

    def value(self) -> Tensor:
        """The term as it enters the objective."""
        return self.scale * self.sum


class AbstractMethod(nn.Module, ABC):
    """A method, built as ``Method(shape, *, hyperparameters...)``.

    A method without trainable parameters does all its work in :meth:`setup`. All randomness comes from
    torch's default stream, which the loop seeds for the run and gives back afterwards.

    ``per_node`` names the parameters that have a row for every node. A method that names all of them, and borrows
    what it needs of other nodes (``graph.halo``), can be trained in parts: it says so by ``in_parts``. One that names
    all of them, and gives of a sample the terms of its counted nodes (``graph.sample``), can be trained ``on_samples``.
    """

    per_node: tuple[str, ...] = ()
    in_parts: bool = False
    on_samples: bool = False

    @property
    def reach(self) -> int:
        """How many edges away the furthest node is that a prediction depends on, where a method knows."""
        raise NotImplementedError(f"{type(self).__name__} does not say how far it looks")

    @abstractmethod
    def forward(self, graph: Graph, nodes: Tensor | None = None) -> Prediction:
        """Predict these nodes of the graph, none of them named twice (None: every one).

        A method may predict more than it is asked for: ``Prediction.nodes`` says what it did.
        """

    @torch.no_grad()
    def predict(self, graph: Graph, nodes: Tensor | None = None) -> Prediction:
        """Predict without dropout; a node of which nothing can be said gets the prior (``confgcn.models.prior``)."""
        self.eval()
        prediction: Prediction = self(graph, nodes).detached()
        return replace(prediction, logits=prior_where_silent(graph, prediction.logits, prediction.nodes))

    def with_uniform_influence(self) -> AbstractMethod | None:
        """The same trained weights, every neighbour counting the same; None where there are no influences."""
        return None

    def extend(self, graph: Graph) -> AbstractMethod:
        """The method for a graph with new nodes, weights unchanged; ``node_ids`` count on from those of the training.

        By default it is refused: what is kept for each node at training can not be made up for others.
        """
        raise UsageError(f"{type(self).__name__} can say nothing of nodes that were not there at training: train again")

    def setup(self, graph: Graph) -> None:
        """Work done once, before the first step; what it finds is kept in buffers."""

    def nodes_in_loss(self, graph: Graph) -> Tensor | None:
        """The nodes whose logits the objective reads (None: every one); by default the training nodes."""
        return graph.train

    def loss_terms(self, graph: Graph, prediction: Prediction) -> dict[str, LossTerm]:
        """The objective, term by term; by default the mean cross-entropy of the training nodes."""
        return {"cross": cross_entropy(graph, prediction)}

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Groups for the optimiser; by default one group of all parameters.

        ``weight_decay`` is a number, or a function that gives one for the squared norm of a parameter; a
        ``learning_rate`` takes the place of the recipe's.
        """
        return [{"params": list(self.parameters())}]


class InductiveMethod(AbstractMethod):
    """A method that keeps nothing of single nodes, so that its weights serve any graph."""

    def extend(self, graph: Graph) -> AbstractMethod:
        return self


def cross_entropy(graph: Graph, prediction: Prediction, *, mean: bool = True) -> LossTerm:
    r"""L_cross (section 5), as a sum (the paper) or a mean (the custom) over the training nodes.

    .. math:: L_{cross} = - \sum_{v \in V_l} \sum_j Y_{vj} \log \hat{Y}_{vj}
    """
    nodes = graph.train
    total = functional.cross_entropy(prediction.logits_of(nodes), graph.train_labels, reduction="sum")
    return LossTerm(total, graph.num_train_in_means if mean else None)


def present(quantity: Tensor | None) -> Tensor:
    """A quantity of a prediction that only some methods give, where it must be there."""
    if quantity is None:
        raise TypeError("this prediction has no confidences: its method gives none")
    return quantity
