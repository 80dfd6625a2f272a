"""Join a table of edges and a table of nodes to a RawGraph: roles of columns, and ids compared by their exact text."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from confgcn.data.formats.edge_columns import edge_columns, end_positions
from confgcn.data.formats.feature_columns import encode_columns
from confgcn.data.formats.feature_files import NodeFeatures
from confgcn.data.formats.node_columns import read_labels, read_split
from confgcn.data.formats.table import ID_NAMES, LABEL_NAMES, SPLIT_NAMES, Table, TableOptions, folded, listed
from confgcn.data.raw import RawGraph
from confgcn.data.structural import is_structural
from confgcn.exceptions import DataError, unknown_name
from confgcn.graph.validation import shown


def graph_from_tables(
    edges: Table,
    nodes: Table | None,
    options: TableOptions,
    *,
    name: str,
    like: Sequence[str] | None = None,
    features: NodeFeatures | None = None,
    known: Collection[str] = (),
) -> RawGraph:
    """Join the tables.

    ``like`` has the names of the features of a trained graph, which must be those of this one. ``known`` has the ids of
    its nodes, which edges may name without a row in ``nodes``: they follow the others, without features and label.
    """
    options = options.for_columns({*edges.columns, *(() if nodes is None else nodes.columns)})
    _check_named_columns(edges, nodes, options)
    ends = [edges.arrow_texts(column) for column in edge_columns(edges, options.source, options.target, options.ignore)]
    if not len(edges) and (nodes is None or not options.allow_edgeless):
        raise DataError(f"{edges.path}: no edges; for a graph without any, give a table of nodes and --allow-edgeless")
    notices = [notice for table in (edges, nodes) if table is not None for notice in _skipped(table)]
    trained = frozenset(known)
    named: list[str] = pc.unique(pa.chunked_array(ends)).to_pylist() if nodes is None or trained else []
    if nodes is None:
        ids: Sequence[str] = [end for end in named if end not in trained]
        if features is not None:
            end_positions(edges, ends, [*features.own_ids, *trained], features.path)
        columns = {} if ids else _no_rows(like or ())
    else:
        ids, columns = _read_nodes(nodes, options, like, features, notices)
    if features is not None:
        columns |= _with_matrix(columns, features, ids, options, like, notices)
    own = set(ids) if trained else set()
    old = [end for end in named if end in trained and end not in own]
    positions = end_positions(edges, ends, [*ids, *old], None if nodes is None else nodes.path, also_known=trained)
    if nodes is None and trained and ids:
        notices.append(
            f"{edges.path}: {len(ids)} nodes appear only in edges and were not in the trained graph: {listed(ids)}"
        )
    padded = _padded(columns, len(ids), len(old))
    described = len(ids) if old else None
    return RawGraph(name, [*ids, *old], positions, **padded, notices=tuple(notices), num_described=described)


def _read_nodes(
    nodes: Table,
    options: TableOptions,
    like: Sequence[str] | None,
    matrix: NodeFeatures | None,
    notices: list[str],
) -> tuple[Sequence[str], dict[str, Any]]:
    """The ids; and features, labels and split as arguments of RawGraph."""
    if not len(nodes):
        raise DataError(f"{nodes.path}: the graph has no nodes")
    id_column = _node_column(nodes, "node_id", ID_NAMES, options)
    if id_column is None:
        raise DataError(_no_id_column(nodes))
    ids = nodes.texts(id_column)
    if "" in ids or len(set(ids)) < len(ids):
        _refuse_ids(nodes, ids)
    label = _node_column(nodes, "label", LABEL_NAMES, options)
    if label is None and like is None:
        notices.append(f"{nodes.path}: no column of labels among {listed(nodes.columns)}; choose one with --label")
    split = _node_column(nodes, "split", SPLIT_NAMES, options)
    used = (id_column, label, split, *options.ignore)
    encoded = encode_columns(
        nodes,
        [column for column in nodes.columns if column not in used],
        categorical=options.categorical,
        impute=options.impute,
        fills=options.fills,
        like=like,
        elsewhere=() if like is None or matrix is None else matrix.own_names,
    )
    notices += encoded.notices
    return ids, {
        "features": encoded.matrix(len(nodes)) if encoded.names else None,
        "feature_names": encoded.names or None,
        "labels": None if label is None else read_labels(nodes, label, notices, chosen=options.label is not None),
        "split": None if split is None else read_split(nodes, split),
    }


def _with_matrix(
    columns: dict[str, Any],
    given: NodeFeatures,
    ids: Sequence[str],
    options: TableOptions,
    like: Sequence[str] | None,
    notices: list[str],
) -> dict[str, Any]:
    """The features of the table, if it has any, followed by those of the matrix."""
    matrix, found = given.of(ids, impute=options.impute, fills=options.fills)
    notices += found
    if like:
        _check_trained(given, like)
    if columns.get("features") is None:
        return {"features": matrix, "feature_names": given.names}
    joined = _joined([columns["features"], matrix], axis=1)
    return {"features": joined, "feature_names": [*columns["feature_names"], *given.own_names]}


def _check_trained(given: NodeFeatures, like: Sequence[str]) -> None:
    trained = {name for name in like if not is_structural(name)}
    surplus = [name for name in given.own_names if name not in trained]
    if surplus:
        raise DataError(
            f"{given.path}: {given.matrix.shape[1]} features, but the model was trained with {len(trained)}: feature "
            f"{shown(surplus[0])} was not used in training ({len(surplus)} such)"
        )


def _no_rows(like: Sequence[str]) -> dict[str, Any]:
    """Features without rows, where there are only new edges."""
    names = [name for name in like if not is_structural(name)]
    return {"features": sp.csr_matrix((0, len(names))), "feature_names": names} if names else {}


def _padded(columns: dict[str, Any], rows: int, more: int) -> dict[str, Any]:
    """The columns with empty rows for nodes that are not in the tables."""
    if not more:
        return columns
    padded = dict(columns)
    if columns.get("features") is not None:
        nothing = sp.csr_matrix((more, columns["features"].shape[1]))
        padded["features"] = _joined([columns["features"], nothing], axis=0)
    padded["labels"] = [*(columns.get("labels") or [None] * rows), *[None] * more]
    if columns.get("split") is not None:
        padded["split"] = [*columns["split"], *[""] * more]
    return padded


def _joined(matrices: list[Any], *, axis: int) -> Any:
    if not any(map(sp.issparse, matrices)):
        return np.concatenate(matrices, axis=axis)
    return sp.vstack(matrices, format="csr") if axis == 0 else sp.hstack(matrices, format="csr")


def _skipped(table: Table) -> list[str]:
    return [f"{table.path}: {table.comments} lines that start with # are skipped"] if table.comments else []


def _check_named_columns(edges: Table, nodes: Table | None, options: TableOptions) -> None:
    """Refuse names of columns that do not exist."""
    of_edges, of_nodes = set(edges.columns), set() if nodes is None else set(nodes.columns)
    named: dict[str, tuple[Iterable[str | None], Collection[str]]] = {
        f"column of {edges.path.name}": ((options.source, options.target), of_edges),
        "column": (options.ignore, of_edges | of_nodes),
    }
    if nodes is not None:
        wanted = (options.node_id, options.label, options.split, *options.categorical)
        named[f"column of {nodes.path.name}"] = wanted, of_nodes
    for kind, (names, known) in named.items():
        for name in names:
            if name is not None and name not in known:
                raise unknown_name(kind, name, known)


def _node_column(nodes: Table, option: str, names: Sequence[str], options: TableOptions) -> str | None:
    """The column that the option names, else the one with a known name."""
    chosen: str | None = getattr(options, option)
    if chosen is not None:
        return chosen
    assigned = (options.node_id, options.label, options.split, *options.ignore, *options.categorical)
    candidates = [name for name in nodes.columns if folded(name) in names and name not in assigned]
    if len(candidates) > 1:
        flag = option.removeprefix("node_")
        raise DataError(
            f"{nodes.path}: {listed(candidates)} could each be the column of the {flag}; choose one with --{flag}, or "
            "leave one out with --ignore"
        )
    return candidates[0] if candidates else None


def _refuse_ids(nodes: Table, ids: Sequence[str]) -> None:
    first: dict[str, int] = {}
    for row, text in enumerate(ids):
        if not text:
            raise DataError(f"{nodes.place(row)}: the id is empty")
        if first.setdefault(text, row) != row:
            raise DataError(
                f"{nodes.place(row)}: id {shown(text)} is already in {nodes.unit} {nodes.lines[first[text]]}; "
                "every node has one row"
            )


def _no_id_column(nodes: Table) -> str:
    return (
        f"{nodes.path}: found the columns {listed(nodes.columns)}, expected one called {' or '.join(ID_NAMES)}; "
        "choose the column of the ids with --id"
    )
