"""Influences from the consensus of trained models: which edges fit the compatibility of labels."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import ref

import torch
from torch import Tensor
from torch.nn import functional

from confgcn.graph import Graph
from confgcn.kernels import kernels_for
from confgcn.models.base import AbstractMethod
from confgcn.models.confgcn.compatibility import estimate_compatibility
from confgcn.models.confgcn.propagation import Propagation


class LearnedInfluence:
    r"""The influence r of every edge, from the label scores :math:`\mu` that models with uniform influence agree on.

    .. math:: \ell_{uv} = C \, \mu_v^T H \mu_u, \qquad s_{uv} = \frac{\ell_{uv}}{1 + \ell_{uv}}

    :math:`\ell` is how much more often an edge joins these labels than two random nodes have them, given the
    compatibility H (``compatibility``); s is the probability that the edge is not a random one, if half of all edges
    are. r is the random walk that follows edges in proportion to s (``propagation``). Where edges join different
    labels, a neighbour of another label has a high score. Training nodes have their label as scores.
    """

    def __init__(self, models: Sequence[AbstractMethod]) -> None:
        self.models = tuple(models)
        self._known: tuple[ref[object], ref[object], Propagation] | None = None

    def propagation(self, graph: Graph) -> Propagation:
        """The random walk on this graph; kept as long as edges and features are the same."""
        known = self._known
        if known is not None and known[0]() is graph.adjacency and known[1]() is graph.features:
            return known[2]
        scores = edge_scores(graph, self.label_scores(graph), estimate_compatibility(graph))
        propagation = Propagation(graph.adjacency, graph.edge_weight, scores)
        self._known = (ref(graph.adjacency), ref(graph.features), propagation)
        return propagation

    @torch.no_grad()
    def label_scores(self, graph: Graph) -> Tensor:
        """mu: the mean of the models' probabilities, and the labels of training nodes, (N, C)."""
        mu = torch.stack([model.predict(graph).logits.softmax(-1) for model in self.models]).mean(0)
        labels = functional.one_hot(graph.train_labels, graph.num_classes).to(mu.dtype)
        return mu.index_copy(0, graph.train, labels)


def edge_scores(graph: Graph, mu: Tensor, compatibility: Tensor) -> Tensor:
    """s of every edge, (E,)."""
    likelihood = kernels_for(mu).entry_products(graph.adjacency, mu @ compatibility, mu) * graph.num_classes
    return likelihood / (1.0 + likelihood)
