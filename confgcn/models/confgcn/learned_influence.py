"""Influences from the consensus of trained models: which edges fit the compatibility of labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from weakref import ref

import torch
from torch import Tensor
from torch.nn import functional

from confgcn.graph import Graph
from confgcn.kernels import kernels_for
from confgcn.models.base import AbstractMethod
from confgcn.models.confgcn.compatibility import estimate_compatibility
from confgcn.models.confgcn.propagation import Propagation
from confgcn.sparse import SparseMatrix, SparseStructure


class LearnedInfluence:
    r"""The influence r of every edge, from the label scores :math:`\mu` that models with uniform influence agree on.

    .. math:: \ell_{uv} = C \, \mu_v^T H \mu_u, \qquad s_{uv} = \frac{\ell_{uv}}{1 + \ell_{uv}}

    :math:`\ell` is how much more often an edge joins these labels than two random nodes have them, given the
    compatibility H (``compatibility``); s is the probability that the edge is not a random one, if half of all edges
    are. r is the random walk that follows edges in proportion to s (``propagation``). Where edges join different
    labels, a neighbour of another label has a high score. As a source u, a training node has its label as scores; as
    the target v it has those of the models, as other nodes do. Walks that return to it still depend on its label a
    little.
    """

    def __init__(self, models: Sequence[AbstractMethod]) -> None:
        self.models = tuple(models)
        self._known: tuple[_Inputs, Propagation] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_known": None}  # copied and pickled without what is kept of a graph

    def propagation(self, graph: Graph) -> Propagation:
        """The random walk on this graph; kept as long as edges, features and training labels are the same."""
        if self._known is None or not self._known[0].are_of(graph):
            mu = self.label_scores(graph)
            scores = edge_scores(graph, mu, with_training_labels(graph, mu), estimate_compatibility(graph))
            self._known = (_Inputs.of(graph), Propagation(graph, scores))
        return self._known[1]

    @torch.no_grad()
    def label_scores(self, graph: Graph) -> Tensor:
        """mu: the mean of the models' probabilities, (N, C)."""
        return torch.stack([model.predict(graph).logits.softmax(-1) for model in self.models]).mean(0)


@dataclass(frozen=True, eq=False)
class _Inputs:
    """What the influences of a graph depend on: training labels by value, the others by identity."""

    adjacency: ref[SparseStructure]
    features: ref[Tensor | SparseMatrix]
    edge_weight: Tensor | None
    train: Tensor
    train_labels: Tensor

    @classmethod
    def of(cls, graph: Graph) -> _Inputs:
        return cls(ref(graph.adjacency), ref(graph.features), graph.edge_weight, graph.train, graph.train_labels)

    def are_of(self, graph: Graph) -> bool:
        same_tensors = self.adjacency() is graph.adjacency and self.features() is graph.features
        return (
            same_tensors
            and self.edge_weight is graph.edge_weight
            and torch.equal(self.train, graph.train)
            and torch.equal(self.train_labels, graph.train_labels)
        )


def with_training_labels(graph: Graph, mu: Tensor) -> Tensor:
    """The label scores with the labels of training nodes in place of theirs, (N, C)."""
    labels = functional.one_hot(graph.train_labels, graph.num_classes).to(mu.dtype)
    return mu.index_copy(0, graph.train, labels)


def edge_scores(graph: Graph, target_mu: Tensor, source_mu: Tensor, compatibility: Tensor) -> Tensor:
    """s of every edge, (E,), from the label scores of its target v and of its source u."""
    expected = target_mu @ compatibility.to(target_mu)
    likelihood = kernels_for(expected).entry_products(graph.adjacency, expected, source_mu) * graph.num_classes
    return likelihood / (1.0 + likelihood)
