"""Why a node is predicted as it is: what each neighbour adds, found by leaving it out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from confgcn.exceptions import UsageError
from confgcn.graph import Graph
from confgcn.models.base import AbstractMethod
from confgcn.sparse import SparseStructure


@dataclass(frozen=True, eq=False)
class Reason:
    """What one neighbour does to the prediction of a node.

    Attributes:
        neighbour, name: who it is.
        change: (C,), log-probability of each label with the edge less that without it: positive where it raised one.
        label_without: what would be predicted without it.
        decisive: is that another label?
        influence: r_uv on the node, where the method has it.
    """

    neighbour: int
    name: str
    change: Tensor
    label_without: int
    decisive: bool
    influence: float | None


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why ``node`` is predicted as ``label``.

    Attributes:
        log_probabilities: (C,), with all neighbours.
        reasons: by the size of the change of the predicted label, largest first.
        without_all: (C,), log-probabilities without any neighbour.
        not_tried: neighbours beyond the limit.
        reads_edges: does the prediction change at all? If not, either the node has no neighbour, or the method does
            not look at edges when it predicts: it has none to look at, or did so in its setup.
    """

    node: int
    label: int
    log_probabilities: Tensor
    reasons: list[Reason]
    without_all: Tensor
    not_tried: int
    reads_edges: bool


def explain(method: AbstractMethod, graph: Graph, node: int, *, limit: int = 50) -> Explanation:
    r"""Leave each neighbour out in turn, weights fixed.

    .. math:: \Delta_u(c) = \log \hat{p}_v(c \mid G) - \log \hat{p}_v(c \mid G \setminus \{u, v\})

    (Occlusion: Zeiler, Fergus, ECCV 2014; of edges: Ying and others, GNNExplainer, NeurIPS 2019.) Of more than
    ``limit`` neighbours those of the largest influence are tried; where the method has none, those of the fewest edges,
    who have the fewest others to speak to.
    """
    if not 0 <= node < graph.num_nodes:
        raise UsageError(f"node {node}: expected a position from 0 to {graph.num_nodes - 1}")
    present = _log_probabilities(method, graph, node)
    label = int(present.argmax())
    row = slice(int(graph.neighbours.indptr[node]), int(graph.neighbours.indptr[node + 1]))
    neighbours = graph.neighbours.indices[row]
    influence = _influence_on(method, graph, row)
    rank_by = -graph.degrees[neighbours].double() if influence is None else influence.abs()
    tried = torch.argsort(rank_by, descending=True, stable=True)[:limit].sort().values
    reasons = []
    for place in tried.tolist():
        without = _log_probabilities(method, without_edges(graph, node, neighbours[place : place + 1]), node)
        left = int(without.argmax())
        neighbour, weight = int(neighbours[place]), None if influence is None else float(influence[place])
        reasons.append(Reason(neighbour, graph.node_names[neighbour], present - without, left, left != label, weight))
    reasons.sort(key=lambda reason: -abs(float(reason.change[label])))
    alone = _log_probabilities(method, without_edges(graph, node, neighbours), node)
    not_tried = len(neighbours) - len(tried)
    return Explanation(node, label, present, reasons, alone, not_tried, not torch.equal(alone, present))


def without_edges(graph: Graph, node: int, neighbours: Tensor) -> Graph:
    """The same graph without the edges between the node and these of its neighbours, in either direction."""
    source, target = graph.adjacency.indices, graph.adjacency.rows
    gone = (target == node) & torch.isin(source, neighbours)
    gone |= (source == node) & torch.isin(target, neighbours)
    counts = torch.bincount(target[~gone], minlength=graph.num_nodes)
    indptr = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    return replace(graph, adjacency=SparseStructure(indptr, source[~gone], graph.adjacency.shape))


def _log_probabilities(method: AbstractMethod, graph: Graph, node: int) -> Tensor:
    logits = method.predict(graph).logits[node]  # among all nodes: what is said of a blank one goes by the others
    return logits.double().log_softmax(-1)


def _influence_on(method: AbstractMethod, graph: Graph, row: slice) -> Tensor | None:
    """The influences of the neighbours in this row of the adjacency without self loops."""
    influence = method.predict(graph).influence
    return None if influence is None else influence[graph.adjacency.without_diagonal[1][row]]
