"""Do influence and distance tell the edges between equal labels from the others?"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from confgcn.evaluation.confidence import auroc
from confgcn.graph import Graph


@dataclass(frozen=True)
class EdgeScores:
    """An AUROC of 0.5 is a coin, None where it is undefined."""

    auroc_edge: float | None
    auroc_distance: float | None


def edge_aurocs(graph: Graph, influence: Tensor, distance: Tensor) -> EdgeScores:
    r"""The probability that an edge u -> v within a label scores higher than one between two labels.

    .. math:: \mathrm{score}_{uv} = r_{uv}\, |\mathcal{N}(v) \setminus v| \qquad \text{and} \qquad
              \mathrm{score}_{uv} = - d_M(u, v)

    An influence is a share of what its target hears: times the number of neighbours, shares of few and of many
    compare. All directed edges are pooled, but for self loops, edges with an end of unknown label, and edges between
    two training nodes, whose labels the method has seen. Shapes: both (E,), over every edge of the adjacency.
    """
    judged = _judged(graph)
    source, target = graph.adjacency.indices[judged], graph.adjacency.rows[judged]
    same_label = graph.labels[source] == graph.labels[target]
    score = influence.double()[judged] * graph.degrees[target]
    return EdgeScores(auroc(score, same_label), auroc(-distance.double()[judged], same_label))


def _judged(graph: Graph) -> Tensor:
    source, target = graph.adjacency.indices, graph.adjacency.rows
    known = graph.labels >= 0
    seen = torch.zeros_like(known).index_fill_(0, graph.train, True)
    return (source != target) & known[source] & known[target] & ~(seen[source] & seen[target])
