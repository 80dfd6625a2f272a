"""Evaluation of edge influences and distances against labels, and a summary of the influences."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from confgcn.evaluation.groups import quartile_means
from confgcn.evaluation.metrics import auroc
from confgcn.graph import Graph


@dataclass(frozen=True)
class EdgeScores:
    """AUROC of edges within a label against edges between labels: 0.5 = random, None where undefined."""

    auroc_edge: float | None
    auroc_distance: float | None


def edge_aurocs(graph: Graph, influence: Tensor, distance: Tensor) -> EdgeScores:
    r"""The probability that an edge u -> v within a label scores higher than one between two labels.

    .. math:: \mathrm{score}_{uv} = r_{uv}\, |\mathcal{N}(v) \setminus v| \qquad \text{and} \qquad
              \mathrm{score}_{uv} = - d_M(u, v)

    An influence is a share of the messages that its target receives; times the number of neighbours it is comparable
    between targets. All directed edges are pooled, except self loops, edges with an end of unknown label, and edges
    between two training nodes, whose labels the method has used. Shapes: both (E,), over every edge of the adjacency.
    """
    evaluated = _evaluated_edges(graph)
    source, target = graph.adjacency.indices[evaluated], graph.adjacency.rows[evaluated]
    same_label = graph.labels[source] == graph.labels[target]
    score = influence.double()[evaluated] * graph.degrees[target]
    return EdgeScores(auroc(score, same_label), auroc(-distance.double()[evaluated], same_label))


def _evaluated_edges(graph: Graph) -> Tensor:
    source, target = graph.adjacency.indices, graph.adjacency.rows
    known = graph.labels >= 0
    trained_on = torch.zeros_like(known).index_fill_(0, graph.train, True)
    return (source != target) & known[source] & known[target] & ~(trained_on[source] & trained_on[target])


@dataclass(frozen=True)
class InfluenceSummary:
    """Statistics of the relative influence: the influence of an edge over the mean of N(v), one if all are equal.

    Attributes:
        neighbours: mean size of N(v), v included.
        effective_neighbours: mean of 1 / sum of squared influences, which are scaled to sum to one over N(v).
        deviation: mean distance of the relative influence from one, over edges without self loops.
        auroc_same_label: probability that an edge between equal labels has a higher relative influence than one
            between different labels; 0.5 = random, None where undefined.
        by_precision: mean relative influence of the edges in each quartile of the source's precision (mean over
            labels), from the lowest.
    """

    neighbours: float
    effective_neighbours: float
    deviation: float
    auroc_same_label: float | None
    by_precision: list[float]


def summarise_influence(graph: Graph, influence: Tensor, precision: Tensor) -> InfluenceSummary:
    """Summarise ``influence`` (E,) over every edge of the adjacency, with ``precision`` (N, C)."""
    source, target = graph.adjacency.indices, graph.adjacency.rows
    sizes = (graph.degrees + 1).double()
    relative = relative_influence(graph, influence)
    squares = _sum_by_target(graph, relative.square())
    between = source != target
    known = between & (graph.labels[source] >= 0) & (graph.labels[target] >= 0)
    same_label = graph.labels[source] == graph.labels[target]
    return InfluenceSummary(
        neighbours=float(sizes.mean()),
        effective_neighbours=float((sizes.square() / squares).mean()),
        deviation=float((relative[between] - 1.0).abs().mean()),
        auroc_same_label=auroc(relative[known], same_label[known]),
        by_precision=quartile_means(relative[between], precision.double().mean(1)[source[between]]),
    )


def relative_influence(graph: Graph, influence: Tensor) -> Tensor:
    """Influence over the mean influence of N(v), (E,).

    Influence as printed in the paper can be negative; signs are dropped.
    """
    size = influence.double().abs()
    mean = _sum_by_target(graph, size) / (graph.degrees + 1)
    return size / mean[graph.adjacency.rows]


def _sum_by_target(graph: Graph, values: Tensor) -> Tensor:
    return torch.zeros(graph.num_nodes, dtype=torch.float64).index_add_(0, graph.adjacency.rows, values)
