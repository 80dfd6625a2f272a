"""pandas: data frames with the columns that tables in files have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from confgcn.data.formats.format import ObjectFormat
from confgcn.data.formats.objects.graphs import from_raw
from confgcn.data.formats.objects.node_data import NodeData, is_by_node, is_frame
from confgcn.data.formats.table import (
    ID_NAMES,
    LABEL_NAMES,
    SPLIT_NAMES,
    Column,
    Table,
    TableOptions,
    column_texts,
    folded,
)
from confgcn.data.formats.table_graph import graph_from_tables
from confgcn.data.labels import is_missing, label_texts
from confgcn.data.raw import RawGraph
from confgcn.exceptions import UsageError
from confgcn.graph import validation as checks


def from_frames(frames: Any, nodes: NodeData, name: str) -> RawGraph:
    """A data frame of edges, alone or with one of nodes, with the column names of files.

    Node data given beside them is by node, or in the order of the rows of the data frame of nodes.
    """
    edges, of_nodes = frames if isinstance(frames, tuple) else (frames, None)
    _check_node_data(nodes, has_nodes=of_nodes is not None)
    options = TableOptions(allow_edgeless=True, categorical=_categories(of_nodes))
    tables = table_of_frame(edges, "frame of edges"), None if of_nodes is None else _table_of_nodes(of_nodes)
    trained = nodes.trained
    like = None if trained is None else trained.feature_names or None
    raw = graph_from_tables(*tables, options, name=name, like=like, known=trained.node_names if trained else ())
    return from_raw(raw, nodes, name)


def table_of_frame(frame: Any, called: str) -> Table:
    """A data frame as a table: columns of numbers or booleans without gaps stay so, all others become texts."""
    names = [str(column) for column in frame.columns]
    checks.checked_names(names, f"{called}: column", len(names))
    columns = {name: _column(frame.iloc[:, place]) for place, name in enumerate(names)}
    return Table(Path(called), columns, range(len(frame)), unit="row")


def _check_node_data(nodes: NodeData, *, has_nodes: bool) -> None:
    if nodes.names is not None:
        raise UsageError("node_names: the data frames already hold the ids of the nodes")
    for kind in ("features", "labels", "split"):
        given = getattr(nodes, kind)
        if given is not None and not has_nodes and not is_by_node(given):
            raise UsageError(
                f"{kind}: a data frame of edges has no order of nodes; pass a mapping, or a frame of nodes too"
            )


def _table_of_nodes(frame: Any) -> Table:
    """In a numeric column of labels, -1 is unknown, as in arrays."""
    table = table_of_frame(frame, "frame of nodes")
    for name, column in table.columns.items():
        if folded(name) in LABEL_NAMES and isinstance(column, np.ndarray) and column.dtype.kind in "iuf":
            table.columns[name] = [text or "" for text in label_texts(column, len(column))]
    return table


def _column(series: Any) -> Column:
    if isinstance(series.dtype, np.dtype) and series.dtype.kind in "biuf":
        return np.asarray(series)
    return [_text(value) for value in series.astype(object).tolist()]


def _text(value: Any) -> str:
    if is_missing(value):
        return ""
    if isinstance(value, bool | int | float | np.number | np.bool_):
        return column_texts(np.asarray([value]))[0]
    return str(value)


def _categories(frame: Any) -> tuple[str, ...]:
    """Columns of pandas' categorical dtype, which are not numeric even where their values look so."""
    if frame is None:
        return ()
    kinds = {str(column): str(dtype) for column, dtype in zip(frame.columns, frame.dtypes, strict=True)}
    known = {*ID_NAMES, *LABEL_NAMES, *SPLIT_NAMES}
    return tuple(name for name, kind in kinds.items() if kind == "category" and folded(name) not in known)


def _is_frames(graph: Any) -> bool:
    return is_frame(graph) or (isinstance(graph, tuple) and len(graph) == 2 and all(map(is_frame, graph)))


FORMAT = ObjectFormat(
    "pandas", "a pandas data frame of edges, alone or as a pair (edges, nodes)", _is_frames, from_frames
)
