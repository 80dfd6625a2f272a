"""The contract that ConfGCN and every baseline fulfil. The training loop knows these verbs and nothing else."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from confgcn.graph import Graph


@dataclass(frozen=True)
class Shape:
    """What a method must know of a graph before it has seen one."""

    num_nodes: int
    num_features: int
    num_classes: int

    @classmethod
    def of(cls, graph: Graph) -> Shape:
        return cls(graph.num_nodes, graph.num_features, graph.num_classes)


@dataclass(frozen=True, eq=False)
class Prediction:
    """What a method says of every node.

    Shapes: ``logits`` (N, C), finite; ``mu`` (N, C), label scores; ``precision`` (N, C), the diagonal of the
    inverse covariance; ``distance`` and ``influence`` (E,), over every edge of the graph's adjacency.
    """

    logits: Tensor
    mu: Tensor | None = None
    precision: Tensor | None = None
    distance: Tensor | None = None
    influence: Tensor | None = None

    @property
    def probabilities(self) -> Tensor:
        """softmax of the logits, (N, C)."""
        return self.logits.softmax(-1)


@dataclass(frozen=True, eq=False)
class LossTerm:
    """One term of an objective, as parts that can be added over batches and shards before it is formed.

    The term is ``weight * finish(sum / count)``; without a ``count`` it is a sum and not a mean. ``finish`` is
    for a term that is not linear in its statistic: it takes the added-up ``sum`` and returns a scalar.
    """

    sum: Tensor
    count: int | None = None
    weight: float = 1.0
    finish: Callable[[Tensor], Tensor] = torch.sum

    def value(self) -> Tensor:
        """The term as it enters the objective."""
        return self.weight * self.finish(self.sum if self.count is None else self.sum / self.count)


class AbstractMethod(nn.Module, ABC):
    """A method, built as ``Method(shape, *, hyperparameters...)``.

    A method without trainable parameters does all its work in :meth:`setup`. All randomness comes from
    torch's default stream, which the loop seeds for the run and gives back afterwards.
    """

    @abstractmethod
    def forward(self, graph: Graph) -> Prediction:
        """Predict every node of the graph."""

    def setup(self, graph: Graph) -> None:
        """Work done once, before the first step; what it finds is kept in buffers."""

    def loss_terms(self, graph: Graph, prediction: Prediction) -> dict[str, LossTerm]:
        """The objective, term by term; by default the mean cross-entropy of the training nodes."""
        return {"cross": cross_entropy(graph, prediction.logits)}

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Groups for the optimiser; by default one group of all parameters."""
        return [{"params": list(self.parameters())}]


def cross_entropy(graph: Graph, logits: Tensor, *, mean: bool = True) -> LossTerm:
    r"""L_cross (section 5), as a sum (the paper) or a mean (the custom) over the training nodes.

    .. math:: L_{cross} = - \sum_{v \in V_l} \sum_j Y_{vj} \log \hat{Y}_{vj}
    """
    nodes = graph.train
    total = functional.cross_entropy(logits[nodes], graph.labels[nodes], reduction="sum")
    return LossTerm(total, len(nodes) if mean else None)


def present(quantity: Tensor | None) -> Tensor:
    """A quantity of a prediction that only some methods give, where it must be there."""
    if quantity is None:
        raise TypeError("this prediction has no confidences: its method gives none")
    return quantity
