"""Explanations of a prediction: the effect of removing each neighbour."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from confgcn.exceptions import UsageError
from confgcn.graph import Graph
from confgcn.models.base import AbstractMethod, Prediction
from confgcn.sparse import SparseStructure


@dataclass(frozen=True, eq=False)
class NeighbourEffect:
    """The effect of one neighbour on the prediction of a node.

    Attributes:
        neighbour, name: its position and its name.
        change: (C,), log-probability of each label with the edge minus without it: positive where the edge raises it.
        label_without: the label predicted without the edge.
        decisive: whether that is a different label.
        influence: r_uv on the node, where the method has one.
    """

    neighbour: int
    name: str
    change: Tensor
    label_without: int
    decisive: bool
    influence: float | None


@dataclass(frozen=True, eq=False)
class Explanation:
    """The effects of the neighbours of ``node`` on its predicted ``label``.

    Attributes:
        log_probabilities: (C,), with all neighbours.
        effects: sorted by the absolute change of the predicted label, largest first.
        without_all: (C,), log-probabilities without any neighbour.
        not_tried: number of neighbours beyond the limit.
        uses_edges: whether the prediction changes at all. If not, the node has no neighbours, or the method does not
            use edges at prediction time.
    """

    node: int
    label: int
    log_probabilities: Tensor
    effects: list[NeighbourEffect]
    without_all: Tensor
    not_tried: int
    uses_edges: bool


def explain(method: AbstractMethod, graph: Graph, node: int, *, limit: int = 50) -> Explanation:
    r"""Remove each neighbour in turn, with fixed weights.

    .. math:: \Delta_u(c) = \log \hat{p}_v(c \mid G) - \log \hat{p}_v(c \mid G \setminus \{u, v\})

    (Occlusion: Zeiler, Fergus, ECCV 2014; of edges: Ying and others, GNNExplainer, NeurIPS 2019.) Of more than
    ``limit`` neighbours those of the largest influence are tried; without influences, those of the lowest degree.
    All nodes are predicted each time, as the prior of a node without evidence depends on the others.
    """
    if not 0 <= node < graph.num_nodes:
        raise UsageError(f"node {node}: expected a position from 0 to {graph.num_nodes - 1}")
    prediction = method.predict(graph)
    with_all = _log_probabilities(prediction, node)
    label = int(with_all.argmax())
    row = slice(int(graph.neighbours.indptr[node]), int(graph.neighbours.indptr[node + 1]))
    neighbours = graph.neighbours.indices[row]
    influence = _influence_on(prediction, graph, row)
    rank_by = -graph.degrees[neighbours].double() if influence is None else influence.abs()
    tried = torch.argsort(rank_by, descending=True, stable=True)[:limit].sort().values
    effects = []
    for place in tried.tolist():
        removed = neighbours[place : place + 1]
        without = _log_probabilities(method.predict(without_edges(graph, node, removed)), node)
        label_without = int(without.argmax())
        neighbour = int(removed)
        effects.append(
            NeighbourEffect(
                neighbour=neighbour,
                name=graph.node_names[neighbour],
                change=with_all - without,
                label_without=label_without,
                decisive=label_without != label,
                influence=None if influence is None else float(influence[place]),
            )
        )
    effects.sort(key=lambda effect: -abs(float(effect.change[label])))
    without_all = _log_probabilities(method.predict(without_edges(graph, node, neighbours)), node)
    not_tried, uses_edges = len(neighbours) - len(tried), not torch.equal(without_all, with_all)
    return Explanation(node, label, with_all, effects, without_all, not_tried, uses_edges)


def without_edges(graph: Graph, node: int, neighbours: Tensor) -> Graph:
    """The same graph without the edges between the node and these of its neighbours, in either direction."""
    source, target = graph.adjacency.indices, graph.adjacency.rows
    removed = (target == node) & torch.isin(source, neighbours)
    removed |= (source == node) & torch.isin(target, neighbours)
    counts = torch.bincount(target[~removed], minlength=graph.num_nodes)
    indptr = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    adjacency = SparseStructure(indptr, source[~removed], graph.adjacency.shape)
    weight = None if graph.edge_weight is None else graph.edge_weight[~removed]
    return replace(graph, adjacency=adjacency, edge_weight=weight)


def _log_probabilities(prediction: Prediction, node: int) -> Tensor:
    return prediction.logits[node].double().log_softmax(-1)


def _influence_on(prediction: Prediction, graph: Graph, row: slice) -> Tensor | None:
    """The influences of the neighbours in this row of the adjacency without self loops."""
    influence = prediction.influence
    return None if influence is None else influence[graph.adjacency.without_diagonal[1][row]]
