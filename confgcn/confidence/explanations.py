"""Explanations of a prediction: the effect of each node that it depends on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from confgcn.exceptions import UsageError
from confgcn.graph import Graph
from confgcn.graph.distances import distances_from
from confgcn.graph.notices import has_no_features
from confgcn.models.base import AbstractMethod, Contributions, Prediction
from confgcn.models.prior import class_prior
from confgcn.sparse import SparseStructure, rows_of

Removed = Literal["edge", "contribution"]


@dataclass(frozen=True, eq=False)
class NeighbourEffect:
    """The effect of one node on the prediction of another.

    Attributes:
        neighbour, name: its position and its name.
        distance: in edges; 1 for a direct neighbour.
        change: (C,), log-probability of each label with it minus without it: positive where it raises it.
        label_without: the label predicted without it.
        decisive: whether that is a different label.
        influence: r_uv on the node, where the method has one and the two are joined by an edge.
        weight: its share in what the prediction is computed from, where the method computes one.
    """

    neighbour: int
    name: str
    distance: int
    change: Tensor
    label_without: int
    decisive: bool
    influence: float | None
    weight: float | None


@dataclass(frozen=True, eq=False)
class Explanation:
    """The effects of other nodes on the predicted ``label`` of ``node``.

    Attributes:
        removed: ``edge``: each direct neighbour was removed with its edge, and the graph predicted again.
            ``contribution``: each node, at any distance, was left out of what the prediction is computed from, with
            influences fixed (:meth:`confgcn.models.base.AbstractMethod.contributions`).
        log_probabilities: (C,), with all of them.
        effects: sorted by the absolute change of the predicted label, largest first.
        without_all: (C,), log-probabilities without any of them.
        not_tried: number of nodes beyond the limit.
        uses_edges: whether the prediction changes at all. If not, the node has no neighbours, or the method does not
            use edges at prediction time.
    """

    node: int
    label: int
    removed: Removed
    log_probabilities: Tensor
    effects: list[NeighbourEffect]
    without_all: Tensor
    not_tried: int
    uses_edges: bool


def explain(method: AbstractMethod, graph: Graph, node: int, *, limit: int = 50) -> Explanation:
    r"""Remove what each other node adds to the prediction of a node in turn, with fixed weights.

    .. math:: \Delta_u(c) = \log \hat{p}_v(c) - \log \hat{p}_v^{\setminus u}(c)

    (Occlusion: Zeiler, Fergus, ECCV 2014; of edges: Ying and others, GNNExplainer, NeurIPS 2019.) A method that
    computes predictions from weighted contributions leaves out those of u; of more than ``limit`` nodes, those of the
    largest weights are tried. For other methods the edge of each neighbour is removed. Then of more than ``limit``
    neighbours those of the largest influence are tried; without influences, those of the lowest degree.
    """
    if not 0 <= node < graph.num_nodes:
        raise UsageError(f"node {node}: expected a position from 0 to {graph.num_nodes - 1}")
    with method.evaluating():
        contributions = method.contributions(graph, node, limit=limit)
    if contributions is None:
        removed: Removed = "edge"
        contributions = _without_each_edge(method, graph, node, limit=limit)
    else:
        removed = "contribution"
        contributions = _with_prior(method, graph, node, contributions)
    with_all, without_all = contributions.log_probabilities, contributions.without_all
    uses_edges = not torch.equal(without_all, with_all)
    effects = _effects(graph, node, contributions)
    label = int(with_all.argmax())
    return Explanation(node, label, removed, with_all, effects, without_all, contributions.not_tried, uses_edges)


def _effects(graph: Graph, node: int, given: Contributions) -> list[NeighbourEffect]:
    label = int(given.log_probabilities.argmax())
    distances = distances_from(graph.neighbours, node, given.nodes).tolist()
    influence = [None] * len(distances) if given.influence is None else given.influence.tolist()
    effects = [
        NeighbourEffect(
            neighbour=neighbour,
            name=graph.node_names[neighbour],
            distance=distances[place],
            change=given.log_probabilities - given.without[place],
            label_without=int(given.without[place].argmax()),
            decisive=int(given.without[place].argmax()) != label,
            influence=influence[place] if distances[place] == 1 else None,
            weight=None if given.weights is None else float(given.weights[place]),
        )
        for place, neighbour in enumerate(given.nodes.tolist())
    ]
    return sorted(effects, key=lambda effect: -abs(float(effect.change[label])))


def _without_each_edge(method: AbstractMethod, graph: Graph, node: int, *, limit: int) -> Contributions:
    """The predictions of a graph without the edge of each neighbour.

    All nodes are predicted each time, as the prior of a node without evidence depends on the others.
    """
    prediction = method.predict(graph)
    row = slice(int(graph.neighbours.indptr[node]), int(graph.neighbours.indptr[node + 1]))
    neighbours = graph.neighbours.indices[row]
    influence = _influence_on(prediction, graph, row)
    rank_by = -graph.degrees[neighbours].double() if influence is None else influence.abs()
    tried = torch.argsort(rank_by, descending=True, stable=True)[:limit].sort().values
    with_all = _log_probabilities(prediction, node)

    def without(removed: Tensor) -> Tensor:
        return _log_probabilities(method.predict(without_edges(graph, node, removed)), node)

    each = [without(neighbours[place : place + 1]) for place in tried]
    return Contributions(
        neighbours[tried],
        None,
        None if influence is None else influence[tried],
        log_probabilities=with_all,
        without=torch.stack(each) if each else with_all[:0],
        without_all=without(neighbours),
        not_tried=len(neighbours) - len(tried),
    )


def _with_prior(method: AbstractMethod, graph: Graph, node: int, given: Contributions) -> Contributions:
    """The class prior in the place of predictions without any information, as :meth:`AbstractMethod.predict` has it."""
    is_blank = bool(has_no_features(rows_of(graph.features, torch.tensor([node])))) and node not in graph.train
    if not is_blank:
        return given
    predicted = method.predict(graph)
    if not len(given.nodes):
        own = _log_probabilities(predicted, node)
        return replace(given, log_probabilities=own, without_all=own)
    others = predicted.logits[torch.arange(graph.num_nodes) != node]
    return replace(given, without_all=class_prior(graph, others.softmax(-1)).double().log())


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
