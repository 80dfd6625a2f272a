"""Training labels and edges that look wrong, most suspicious first."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from confgcn.confidence.leave_one_out import centroid_vote
from confgcn.confidence.neighbourhood import edge_blocks, neighbour_sum
from confgcn.graph import Graph
from confgcn.models.prior import class_prior
from confgcn.sparse import SparseStructure

MOST_EDGES = 1_000  # that are listed as suspicious
SMALLEST_PROBABILITY = 1e-4  # one vote can not outweigh everything


@dataclass(frozen=True, eq=False)
class SuspiciousLabels:
    """Training nodes, most suspicious first.

    Shapes: ``nodes``, ``given`` (their labels), ``proposed`` (what others say), ``score``, all (train,). A score above
    zero says that another label is likelier than the given one, by that much in log-probability.
    """

    nodes: Tensor
    given: Tensor
    proposed: Tensor
    score: Tensor


@dataclass(frozen=True, eq=False)
class SuspiciousEdges:
    """Undirected edges, each once with ``source`` < ``target``, most suspicious first.

    Shapes: ``source``, ``target``, ``disagreement`` (edges,); ``influence`` likewise, or None.
    """

    source: Tensor
    target: Tensor
    disagreement: Tensor
    influence: Tensor | None

    def named(self, graph: Graph) -> list[tuple[str, str, float]]:
        """The names of both ends and the disagreement."""
        columns = (column.tolist() for column in (self.source, self.target, self.disagreement))
        return [(graph.node_names[u], graph.node_names[v], value) for u, v, value in zip(*columns, strict=True)]


def suspicious_labels(graph: Graph, probabilities: Tensor, features_say: Tensor | None = None) -> SuspiciousLabels:
    r"""Rank the training labels by how much likelier another one is to those who have not seen it.

    .. math:: s_v = \max_{c \ne y_v} \log q_v(c) - \log q_v(y_v)

    A model has fitted the label that is in question, so its own probability says little. q is the product of two votes
    that leave it out: of the neighbours (:func:`neighbour_vote`) and of the classes' features
    (:func:`~confgcn.confidence.leave_one_out.centroid_vote`): what ``features_say``, (train, C), where it is known
    already.
    """
    features_say = centroid_vote(graph) if features_say is None else features_say
    votes = torch.stack([neighbour_vote(graph, probabilities, graph.train), features_say])
    log_votes = votes.clamp(min=SMALLEST_PROBABILITY).log().sum(0)
    score, proposed = label_margin(log_votes, graph.train_labels)
    order = torch.argsort(score, descending=True, stable=True)
    return SuspiciousLabels(graph.train[order], graph.train_labels[order], proposed[order], score[order])


def label_margin(log_votes: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """By how much the best other label leads the given one, and which it is, for log-votes (n, C): (n,) each."""
    given = labels[:, None]
    best, proposed = log_votes.scatter(1, given, -torch.inf).max(1)
    return best - log_votes.gather(1, given).squeeze(1), proposed


def neighbour_vote(graph: Graph, probabilities: Tensor, nodes: Tensor) -> Tensor:
    """The mean of the probabilities of the neighbours of each of these nodes and of one that has the prior, (n, C).

    Neighbours with a training label vote by their probabilities too: their labels may be the wrong ones.
    """
    prior = class_prior(graph, probabilities.double())
    return (neighbour_sum(graph, probabilities, nodes) + prior) / (graph.degrees[nodes] + 1)[:, None]


def suspicious_edges(
    graph: Graph, probabilities: Tensor, influence: Tensor | None = None, *, limit: int = MOST_EDGES
) -> SuspiciousEdges:
    r"""Rank edges by the probability that their ends have different labels; the first ``limit`` are kept.

    .. math:: P(y_u \ne y_v) = 1 - \sum_c \hat{p}_u(c) \, \hat{p}_v(c)

    The influence (E,) is carried along, the mean of both directions: a doubtful edge of none does no harm.
    """
    none = torch.empty(0, dtype=torch.long)
    found = SuspiciousEdges(none, none, none.double(), None)
    for ends in graph.edge_blocks():
        source, target = map(torch.from_numpy, ends)
        disagreement = torch.cat([found.disagreement, _disagreement(probabilities, source, target)])
        order = torch.argsort(disagreement, descending=True, stable=True)[:limit]
        source, target = torch.cat([found.source, source])[order], torch.cat([found.target, target])[order]
        found = SuspiciousEdges(source, target, disagreement[order], None)
    if influence is None:
        return found
    there = influence[_entries(graph.adjacency, found.target, found.source)]
    back = influence[_entries(graph.adjacency, found.source, found.target)]
    return replace(found, influence=(there + back) / 2)


def _entries(adjacency: SparseStructure, rows: Tensor, columns: Tensor) -> Tensor:
    """Where the entries (row, column), which are there, stand among all; a row may be long, and named often."""
    places = []
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
        first, last = adjacency.indptr[row : row + 2].tolist()
        places.append(first + int(torch.searchsorted(adjacency.indices[first:last], column)))
    return torch.tensor(places, dtype=torch.long)


def _disagreement(probabilities: Tensor, source: Tensor, target: Tensor) -> Tensor:
    found, done = torch.empty(len(source), dtype=torch.float64), 0
    for one, other in edge_blocks(source, target, width=probabilities.shape[1]):
        found[done : done + len(one)] = 1.0 - (probabilities[one].double() * probabilities[other].double()).sum(1)
        done += len(one)
    return found
