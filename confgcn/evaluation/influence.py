"""What the influences of a trained model do: how uneven they are, whom they favour."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from confgcn.evaluation.confidence import auroc
from confgcn.evaluation.strata import quarter_means
from confgcn.graph import Graph


@dataclass(frozen=True)
class InfluenceSummary:
    """The relative influence of an edge is its influence over the mean of N(v): one where all count the same.

    Attributes:
        neighbours: mean size of N(v), v included.
        effective_neighbours: mean of 1 / sum of squared influences, which are scaled to sum to one over N(v).
        deviation: mean distance of the relative influence from one, over edges without self loops.
        auroc_same_label: probability that an edge between equal labels has a higher relative influence than one
            between different labels; 0.5 is a coin, None where there are not both.
        by_precision: mean relative influence of the edges in each quarter of them, from the source of the lowest
            precision (mean over labels) to that of the highest.
    """

    neighbours: float
    effective_neighbours: float
    deviation: float
    auroc_same_label: float | None
    by_precision: list[float]


def summarise_influence(graph: Graph, influence: Tensor, precision: Tensor) -> InfluenceSummary:
    """Shapes: ``influence`` (E,) over every edge of the adjacency, ``precision`` (N, C)."""
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
        by_precision=quarter_means(relative[between], precision.double().mean(1)[source[between]]),
    )


def relative_influence(graph: Graph, influence: Tensor) -> Tensor:
    """Influence over the mean influence of N(v), (E,).

    The printed influence has no bound below; it is the size that counts, so signs are dropped.
    """
    size = influence.double().abs()
    mean = _sum_by_target(graph, size) / (graph.degrees + 1)
    return size / mean[graph.adjacency.rows]


def _sum_by_target(graph: Graph, values: Tensor) -> Tensor:
    return torch.zeros(graph.num_nodes, dtype=torch.float64).index_add_(0, graph.adjacency.rows, values)
