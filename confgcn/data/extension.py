"""A graph with new nodes and edges joined to it, by the nodes' names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from confgcn import checks
from confgcn.checks import IntArray
from confgcn.data.raw import RawGraph, natural_order, numbered_features
from confgcn.data.structural import is_structural, structural_features
from confgcn.exceptions import DataError
from confgcn.graph import Graph, symmetric_adjacency
from confgcn.sparse import SparseMatrix


@dataclass(frozen=True, eq=False)
class Extension:
    """Old and new nodes in natural order.

    Attributes:
        graph: with the old split, new nodes of known label as test nodes, and ids that count on from the old ones.
        known: where each node of the old graph stands, (old,).
        new: where the new ones stand, sorted.
        listed: where the nodes stand that the addition names, in its order.
    """

    graph: Graph
    known: Tensor
    new: Tensor
    listed: Tensor


def extend_graph(graph: Graph, addition: RawGraph) -> Extension:
    """Join what ``addition`` lists: nodes that the graph knows keep their features and labels, edges are added."""
    checks.checked_names(addition.ids, "node", len(addition.ids))
    known_names = set(graph.node_names)
    new_rows = np.array([row for row, name in enumerate(addition.ids) if name not in known_names], dtype=np.int64)
    names = [*graph.node_names, *(addition.ids[row] for row in new_rows)]
    order = natural_order(names)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    number = {name: position for position, name in enumerate(names)}
    listed = np.array([number[name] for name in addition.ids], dtype=np.int64)
    adjacency, counts = symmetric_adjacency(place[_all_edges(graph, addition, listed)], len(names))
    ordered = tuple(names[position] for position in order)
    given = _given_features(graph, addition)[new_rows]
    features = _joined_features(graph, given, adjacency, ordered, place)
    known, new = place[: graph.num_nodes], place[graph.num_nodes :]
    labels = np.concatenate([graph.labels.numpy(), _labels(graph, addition)[new_rows]])[order]
    joined = replace(
        graph,
        adjacency=adjacency,
        features=checks.checked_features(features[order], len(order)),
        labels=torch.from_numpy(labels),
        train=torch.from_numpy(np.sort(known[graph.train.numpy()])),
        validation=torch.from_numpy(np.sort(known[graph.validation.numpy()])),
        test=torch.from_numpy(np.sort(new[labels[new] >= 0])),
        node_ids=torch.from_numpy(order),
        node_names=ordered,
        edge_counts=counts,
        remarks=addition.remarks,
    )
    return Extension(joined, *(torch.from_numpy(nodes) for nodes in (known, np.sort(new), place[listed])))


def _all_edges(graph: Graph, addition: RawGraph, listed: IntArray) -> IntArray:
    """Of both, by the position of their ends among old names and then new ones."""
    old = np.stack([graph.neighbours.indices.numpy(), graph.neighbours.rows.numpy()], axis=1)
    return np.concatenate([old, listed[checks.checked_edges(addition.edges, len(listed))].reshape(-1, 2)])


def _labels(graph: Graph, addition: RawGraph) -> IntArray:
    numbers: dict[str | None, int] = {name: number for number, name in enumerate(graph.class_names)}
    numbers[None] = -1
    texts = addition.labels if addition.labels is not None else [None] * len(addition.ids)
    unknown = next((text for text in texts if text not in numbers), None)
    if unknown is not None:
        raise DataError(f"label {unknown!r} of a new node is none of the classes {', '.join(graph.class_names)}")
    return np.array([numbers[text] for text in texts], dtype=np.int64)


def given_features(graph: Graph) -> list[str]:
    """The names of those columns that were given, and not made from the graph."""
    return [name for name in graph.feature_names or numbered_features(graph.num_features) if not is_structural(name)]


def _given_features(graph: Graph, addition: RawGraph) -> Any:
    """The features that the addition gives, in the order of the graph's columns, (nodes of the addition, given)."""
    wanted = given_features(graph)
    if addition.features is None:
        if wanted:
            raise DataError(f"new nodes have no features, {len(wanted)} are expected: {_some(wanted)}")
        return sp.csr_matrix((len(addition.ids), 0))
    found = addition.feature_names or numbered_features(addition.features.shape[1])
    by_place = addition.feature_names is None or not graph.feature_names
    if by_place and len(found) == len(wanted):
        return sp.csr_matrix(addition.features)
    place = {name: column for column, name in enumerate(found)}
    missing = [name for name in wanted if name not in place]
    surplus = sorted(set(found) - set(wanted))
    if missing or surplus:
        raise DataError(
            f"new nodes have {len(found)} features, the method was trained on {len(wanted)}; "
            f"missing: {_some(missing)}; not known: {_some(surplus)}"
        )
    return sp.csr_matrix(addition.features)[:, [place[name] for name in wanted]]


def _joined_features(graph: Graph, given: Any, adjacency: Any, names: Sequence[str], place: IntArray) -> Any:
    """Of old names and then new ones, kept as the graph keeps its own."""
    made = [name for name in graph.feature_names if is_structural(name)]
    of_new = structural_features(adjacency, names, made)[place[graph.num_nodes :]] if made else None
    new = sp.hstack([given, of_new]) if of_new is not None else given
    if isinstance(graph.features, SparseMatrix):
        return sp.vstack([graph.features.to_scipy(), new]).tocsr()
    return np.concatenate([graph.features.numpy(), new.toarray()])


def _some(names: Sequence[str]) -> str:
    return ", ".join([*names[:5], *(["..."] if len(names) > 5 else [])]) or "none"
