"""Label distributions of nodes that were not in the training graph, fitted with all other parameters fixed."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import TypeVar

import torch
from torch import Tensor

from confgcn.graph import Graph
from confgcn.graph.subgraph import induced_subgraph, nodes_within
from confgcn.models.confgcn.base import AbstractConfGCN
from confgcn.models.confgcn.label_distribution import SMALLEST_PRECISION, LabelDistribution

Model = TypeVar("Model", bound=AbstractConfGCN)
Transform = Callable[[Tensor], Tensor]

STEPS = 30
LEARNING_RATE = 0.01  # the paper's
SMALLEST_SCORE = 1e-6  # keeps logarithms finite


def unchanged(values: Tensor) -> Tensor:
    """The identity: for models whose parameters are the label scores and precisions themselves."""
    return values


def log_scores(scores: Tensor) -> Tensor:
    """An inverse of softmax."""
    return scores.clamp(min=SMALLEST_SCORE).log()


def extended(
    method: Model,
    graph: Graph,
    *,
    scores: Transform = unchanged,
    raw: Transform = unchanged,
    precision: Transform = unchanged,
    learning_rate: float | None = None,
) -> Model:
    r"""The method with rows for the new nodes of the graph, those whose ids follow the ones of the training.

    .. math:: \min_{\mu_{new}, \Sigma_{new}} L \quad \text{with weights and all other rows fixed}

    The rows start from their neighbours and take ``STEPS`` steps of Adam; only nodes within the reach of new ones are
    computed.

    Args:
        scores, raw, precision: label scores from ``raw_mu``, their inverse, and precisions from ``raw_precision``.
        learning_rate: of the solver; None: ``LEARNING_RATE``.
    """
    known = len(method.label_distribution.raw_mu)
    larger = copy(method)
    larger._modules = {**method._modules}
    larger.label_distribution = method.label_distribution.with_rows(int(graph.node_ids.max()) + 1)
    new = (graph.node_ids >= known).nonzero().squeeze(1)
    if len(new):
        start_from_neighbours(larger.label_distribution, graph, new, scores=scores, raw=raw, precision=precision)
        subgraph = induced_subgraph(graph, nodes_within(graph, new, method.reach))
        _descend(_without_dropout(larger), subgraph, graph.node_ids[new], learning_rate or LEARNING_RATE)
    return larger.eval()


@torch.no_grad()
def start_from_neighbours(
    distribution: LabelDistribution,
    graph: Graph,
    new: Tensor,
    *,
    scores: Transform,
    raw: Transform,
    precision: Transform,
) -> None:
    r"""Set the rows of the new nodes (n,) to the mean of their neighbours, weighted by precision.

    .. math:: \mu_v = \Big(\sum_u \Sigma_u^{-1}\Big)^{-1} \sum_u \Sigma_u^{-1} \mu_u

    Nodes are set in rounds, outwards from the known ones. A node that is not connected to a known one has equal scores.
    """
    raw_mu, raw_precision = distribution.raw_mu, distribution.raw_precision
    known = torch.ones(graph.num_nodes, dtype=torch.bool).index_fill_(0, new, False)
    while len(new):
        structure, _ = graph.adjacency.at_rows(new)
        is_known = known[structure.indices]
        targets, sources = structure.rows[is_known], graph.node_ids[structure.indices[is_known]]
        counts = torch.bincount(targets, minlength=len(new))
        reached = counts > 0
        if not reached.any():
            raw_mu[graph.node_ids[new]] = 0.0
            raw_precision[graph.node_ids[new]] = 1.0
            return
        rows, sums = graph.node_ids[new[reached]], _Sums(targets, len(new), reached)
        weight = precision(raw_precision[sources]).clamp(min=SMALLEST_PRECISION)
        raw_mu[rows] = raw(sums(weight * scores(raw_mu[sources])) / sums(weight))
        raw_precision[rows] = sums(raw_precision[sources]) / counts[reached, None]
        known[new[reached]] = True
        new = new[~reached]


class _Sums:
    """Sums over the known neighbours of each reached node."""

    def __init__(self, targets: Tensor, count: int, reached: Tensor) -> None:
        self.targets, self.count, self.reached = targets, count, reached

    def __call__(self, values: Tensor) -> Tensor:
        return values.new_zeros(self.count, values.shape[1]).index_add_(0, self.targets, values)[self.reached]


def _without_dropout(method: Model) -> Model:
    """A copy that computes the training objective without random numbers."""
    plain = copy(method)
    plain.training = True
    for rate in ("dropout", "node_dropout"):
        if hasattr(plain, rate):
            setattr(plain, rate, 0.0)
    return plain


def _descend(method: Model, graph: Graph, rows: Tensor, learning_rate: float) -> None:
    """Adam on these rows only."""
    tables = list(method.label_distribution.parameters())
    leaves = [table.detach()[rows].requires_grad_() for table in tables]
    optimiser = torch.optim.Adam(leaves, lr=learning_rate)
    for _ in range(STEPS):
        terms = method.loss_terms(graph, method(graph))
        loss = torch.stack([term.value() for term in terms.values() if term.count != 0]).sum()  # there may be no labels
        gradients = torch.autograd.grad(loss, tables, allow_unused=True)
        for leaf, gradient in zip(leaves, gradients, strict=True):
            leaf.grad = None if gradient is None else gradient[rows]
        optimiser.step()
        with torch.no_grad():
            for table, leaf in zip(tables, leaves, strict=True):
                table[rows] = leaf
