"""Add new nodes and edges to a graph; nodes are identified by their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor

from confgcn.data.formats.table import listed
from confgcn.data.raw import RawGraph, natural_order, numbered_features
from confgcn.data.structural import is_structural, structural_features
from confgcn.exceptions import DataError
from confgcn.graph import Graph, symmetric_adjacency, symmetric_weights
from confgcn.graph import validation as checks
from confgcn.graph.validation import IntArray
from confgcn.sparse import SparseMatrix, SparseStructure


@dataclass(frozen=True, eq=False)
class Extension:
    """A graph with old and new nodes in natural order.

    Attributes:
        graph: has the old training and validation nodes; new nodes with a label are its test nodes. The ``node_ids`` of
            old nodes are kept, those of new nodes follow.
        known: the positions of the nodes of the old graph, in their old order.
        new: the positions of the new nodes, sorted.
        listed: the positions of the nodes of the addition, in its order.
    """

    graph: Graph
    known: Tensor
    new: Tensor
    listed: Tensor


def extend_graph(graph: Graph, addition: RawGraph, *, update_features: bool = False) -> Extension:
    """Add the nodes and edges of ``addition``; nodes that are in the graph already keep their labels.

    Other features for such a node are an error, or replace its features if ``update_features``.
    """
    checks.checked_names(addition.ids, "node", len(addition.ids))
    known_names = set(graph.node_names)
    new_rows = np.array([row for row, name in enumerate(addition.ids) if name not in known_names], dtype=np.int64)
    names = [*graph.node_names, *(addition.ids[row] for row in new_rows)]
    order = natural_order(names)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    number = {name: position for position, name in enumerate(names)}
    listed = np.array([number[name] for name in addition.ids], dtype=np.int64)
    edges, weights = _all_edges(graph, addition, listed)
    adjacency, counts = symmetric_adjacency(place[edges], len(names))
    ordered = tuple(names[position] for position in order)
    given = _given_features(graph, addition)
    old = _old_features(graph, addition, given, listed, update=update_features)
    new = _new_features(graph, given[new_rows], adjacency, ordered, place)
    features = sp.vstack([old, new]).tocsr() if sp.issparse(old) else np.concatenate([old, new.toarray()])
    known, added = place[: graph.num_nodes], place[graph.num_nodes :]
    labels, notices = _labels(graph, addition)
    labels = np.concatenate([graph.labels.numpy(), labels[new_rows]])[order]
    joined = replace(
        graph,
        adjacency=adjacency,
        features=checks.checked_features(features[order], len(order)),
        labels=torch.from_numpy(labels),
        train=torch.from_numpy(np.sort(known[graph.train.numpy()])),
        validation=torch.from_numpy(np.sort(known[graph.validation.numpy()])),
        test=torch.from_numpy(np.sort(added[labels[added] >= 0])),
        node_ids=torch.from_numpy(order),
        node_names=ordered,
        edge_counts=counts,
        edge_weight=None if weights is None else symmetric_weights(adjacency, place[edges], weights),
        reader_notices=(*addition.notices, *notices),
    )
    return Extension(joined, *(torch.from_numpy(nodes) for nodes in (known, np.sort(added), place[listed])))


def _all_edges(graph: Graph, addition: RawGraph, listed: IntArray) -> tuple[IntArray, npt.NDArray[np.float32] | None]:
    """Edges of both, as positions among old names and then new ones, and their weights.

    Without weights of its own, an added edge has that of the same edge in the graph, or one.
    """
    old = np.stack([graph.neighbours.indices.numpy(), graph.neighbours.rows.numpy()], axis=1)
    added = listed[checks.checked_edges(addition.edges, len(listed))].reshape(-1, 2)
    if graph.edge_weight is None and addition.edge_weight is None:
        return np.concatenate([old, added]), None
    if addition.edge_weight is None:
        width = int(max(old.max(initial=0), added.max(initial=0))) + 1
        added = added[~np.isin(added @ [width, 1], old @ [width, 1])]
        weights = np.ones(len(added), dtype=np.float32)
    else:
        weights = checks.checked_edge_weights(addition.edge_weight, len(added))
    of_old = graph.neighbour_weights.values.numpy().astype(np.float32)
    return np.concatenate([old, added]), np.concatenate([of_old, weights])


def _labels(graph: Graph, addition: RawGraph) -> tuple[IntArray, list[str]]:
    """The labels of the addition, to evaluate against; classes unknown to the training are left out with a notice."""
    numbers: dict[str | None, int] = {name: number for number, name in enumerate(graph.class_names)}
    texts = addition.labels if addition.labels is not None else [None] * len(addition.ids)
    unknown = [text for text in dict.fromkeys(texts) if text is not None and text not in numbers]
    notice = f"labels of classes unknown to the training are ignored: {_some(unknown)}"
    return np.array([numbers.get(text, -1) for text in texts], dtype=np.int64), [notice] if unknown else []


def given_features(graph: Graph) -> list[str]:
    """The names of the columns that were given, not computed from the edges."""
    return [name for name in _names(graph) if not is_structural(name)]


def _given_features(graph: Graph, addition: RawGraph) -> Any:
    """The features of the addition, in the order of the graph's columns, (nodes of the addition, given columns)."""
    wanted = given_features(graph)
    if addition.features is None:
        if wanted:
            raise DataError(
                f"new nodes have no features, {len(wanted)} are expected as columns of their table: {_some(wanted)}"
            )
        return sp.csr_matrix((len(addition.ids), 0))
    found = addition.feature_names or numbered_features(addition.features.shape[1])
    features = addition.features
    given = checks.checked_csr(features if sp.issparse(features) else sp.csr_matrix(checks.native(features)))
    if not graph.feature_names and len(found) == len(wanted):  # the training had no names: by position
        return given
    place = {name: column for column, name in enumerate(found)}
    missing = [name for name in wanted if name not in place]
    surplus = sorted(set(found) - set(wanted))
    if missing or surplus:
        raise DataError(
            f"new nodes have {len(found)} features, the method was trained on {len(wanted)}; "
            f"missing: {_some(missing)}; unknown: {_some(surplus)}; columns are identified by name"
        )
    return given[:, [place[name] for name in wanted]]


def _old_features(graph: Graph, addition: RawGraph, given: Any, listed: IntArray, *, update: bool) -> Any:
    """The features of the old nodes, updated by those of the addition, dense or sparse as they were."""
    old = graph.features.to_scipy() if isinstance(graph.features, SparseMatrix) else graph.features.numpy()
    rows = np.flatnonzero(listed[: addition.num_described] < graph.num_nodes)
    columns = [column for column, name in enumerate(_names(graph)) if not is_structural(name)]
    before = sp.csr_matrix(old[listed[rows]][:, columns])
    changed = rows[np.unique((before != given[rows].astype(np.float32)).nonzero()[0])]
    if not len(changed):
        return old
    if not update:
        raise DataError(
            f"{len(changed)} nodes have other features than in the training, the first is "
            f"{checks.shown(addition.ids[changed[0]])}; give new nodes other names (rows without names are nodes 0, 1, "
            "... of the training), or use the new features with --update-existing"
        )
    updated: Any = sp.lil_matrix(old) if sp.issparse(old) else old.copy()
    updated[np.ix_(listed[changed], columns)] = given[changed].toarray()
    return updated.tocsr() if sp.issparse(updated) else updated


def _new_features(graph: Graph, given: Any, adjacency: SparseStructure, names: Sequence[str], place: IntArray) -> Any:
    """The features of the new nodes, given ones and those computed from the edges, in the order of the columns."""
    computed = [name for name in graph.feature_names if is_structural(name)]
    every = [*given_features(graph), *computed]
    of_new = structural_features(adjacency, names, computed)[place[graph.num_nodes :]] if computed else None
    joined = given if of_new is None else sp.hstack([given, of_new]).tocsr()
    column = {name: number for number, name in enumerate(every)}
    return joined[:, [column[name] for name in _names(graph)]]


def _names(graph: Graph) -> Sequence[str]:
    return graph.feature_names or numbered_features(graph.num_features)


def _some(names: Sequence[str]) -> str:
    return listed(names) if names else "none"
