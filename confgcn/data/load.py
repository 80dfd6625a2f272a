"""One function that loads a graph from anywhere: a data set by name, files of the user's, or an object in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from os import PathLike
from pathlib import Path
from typing import Any

from confgcn.data.datasets import load_dataset
from confgcn.data.formats.registry import raw_graph, read_graph
from confgcn.data.formats.table import TableOptions
from confgcn.data.graph_names import is_path
from confgcn.data.input_files import naming
from confgcn.exceptions import UsageError, unknown_name
from confgcn.graph import Graph


def load_graph(
    graph: Any = None,
    *,
    edges: str | PathLike[str] | None = None,
    nodes: str | PathLike[str] | None = None,
    features: Any = None,
    labels: Any = None,
    split: Any = None,
    node_names: Sequence[Any] | None = None,
    name: str | None = None,
    add_features: Sequence[str] = (),
    data_dir: str | PathLike[str] | None = None,
    split_seed: int = 0,
    **columns: Any,
) -> Graph:
    """Load a graph from a name, files or an object.

    Args:
        graph: a name of ``confgcn datasets``; a path of a file or folder; or an object: a networkx or DGL graph, PyG
            ``Data``, a square adjacency matrix or an edge index (numpy, scipy, torch), a pandas data frame of edges or
            a pair ``(edges, nodes)`` of data frames.
        edges: path of a table of edges, instead of ``graph``.
        nodes: path of a table of nodes, with a table of edges.
        features: path of a matrix of features, with tables; or for an object the features themselves, see
            :func:`~confgcn.data.formats.registry.raw_graph`.
        labels: one per node, for an object.
        split: the column of the split, for tables; or for an object the split itself.
        node_names: one per node, for an object.
        name: of the graph, for messages and results.
        add_features: features that are computed from the edges: ``degree``, ``positional``, ``identity``.
        data_dir: where the files of data sets are.
        split_seed: draws the split of a data set that has no public one.
        columns: how the columns of tables are read, see :class:`~confgcn.data.formats.table.TableOptions`.
    """
    is_file = edges is not None or isinstance(graph, PathLike) or (isinstance(graph, str) and is_path(graph))
    if is_file:
        _refuse("the graph is in files", labels=labels, node_names=node_names)
        options = _table_options(split=split, **columns)
        path, edge_table, node_table, matrix = (None if p is None else Path(p) for p in (graph, edges, nodes, features))
        raw = read_graph(path, options, edges=edge_table, nodes=node_table, features=matrix)
        with naming(node_table or path or edge_table or Path(raw.name)):
            return (raw if name is None else replace(raw, name=name)).build(add_features)
    given = {"features": features, "labels": labels, "split": split, "node_names": node_names}
    if isinstance(graph, str):
        _refuse(f"{graph} is a data set", nodes=nodes, name=name, add_features=add_features or None, **given, **columns)
        return load_dataset(graph, data_dir=None if data_dir is None else Path(data_dir), split_seed=split_seed)
    if graph is None:
        raise UsageError("no graph: give a name of `confgcn datasets`, a path, an object, or edges=")
    _refuse("the graph is an object in memory", nodes=nodes, **columns)
    return raw_graph(graph, name=name or "graph", **given).build(add_features)


def _table_options(**given: Any) -> TableOptions:
    known = {option.name for option in fields(TableOptions)}
    for key, value in given.items():
        if key not in known:
            raise unknown_name("option", key, known)
        if key in ("ignore", "categorical"):
            given[key] = (value,) if isinstance(value, str) else tuple(value)
    return TableOptions(**given)


def _refuse(reason: str, **given: Any) -> None:
    unused = [key for key, value in given.items() if value is not None]
    if unused:
        raise UsageError(f"{', '.join(unused)}: cannot be used here, {reason}")
