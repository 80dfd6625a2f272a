"""Graphs as tables: a table of edges and a table of nodes, as CSV, TSV or Parquet, with a matrix of features."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from confgcn.data.formats.delimited import delimited_bytes, read_delimited
from confgcn.data.formats.feature_files import NodeFeatures, read_node_features
from confgcn.data.formats.format import FileFormat, FileRequest, check_free
from confgcn.data.formats.node_columns import ID, NodeColumns, node_columns
from confgcn.data.formats.parquet import MAGIC, parquet_bytes, read_parquet
from confgcn.data.formats.table import TABLE_SUFFIXES, Table, column_texts
from confgcn.data.formats.table_graph import graph_from_tables
from confgcn.data.input_files import find_file, naming, stem_of, suffix_of, unchanged
from confgcn.data.raw import RawGraph
from confgcn.exceptions import DataError, UsageError
from confgcn.graph import validation as checks
from confgcn.io.atomic_files import write_together

FEATURE_SUFFIXES = (".npy", ".npz")
STEMS = ("edges", "nodes", "features")  # of the files in a folder of tables


def read_tables(request: FileRequest) -> RawGraph:
    """Read a folder of tables, or a table of edges with a table of nodes."""
    name = stem_of(request.path)
    if request.path.is_dir():
        request = _files_in(request)
    paths = [path for path in (request.path, request.nodes, request.features) if path is not None]
    options = request.options
    with unchanged(paths):
        return graph_from_tables(
            read_table(request.path, options.ignore),
            None if request.nodes is None else read_table(request.nodes, options.ignore, options.is_text),
            options,
            name=name,
            like=request.like,
            features=read_matrix(request.features),
            known=request.known,
        )


def read_table(path: Path, ignore: Sequence[str] = (), is_text: Callable[[str], bool] | None = None) -> Table:
    """Read a table, Parquet or text by its first bytes; see their readers for the arguments."""
    with naming(path), path.open("rb") as stream:
        is_parquet = stream.read(len(MAGIC)) == MAGIC
    if is_parquet:
        return read_parquet(path, ignore)
    if suffix_of(path) == ".parquet":
        raise DataError(f"{path}: not a Parquet file, although its suffix is .parquet")
    return read_delimited(path, is_text)


def read_matrix(path: Path | None) -> NodeFeatures | None:
    """Read the matrix of features that goes with a table, if there is one."""
    if path is None:
        return None
    with naming(path):
        return read_node_features(path)


def write_tables(
    to_bytes: Callable[[RawGraph], Mapping[str, bytes]], raw: RawGraph, path: Path, *, overwrite: bool
) -> list[Path]:
    """Write a folder with a table of nodes and a table of edges."""
    contents = {path / name: content for name, content in to_bytes(raw).items()}
    check_free(path, overwrite=overwrite)
    if path.is_dir():
        _check_no_other_graph(path, list(contents))
    path.mkdir(parents=True, exist_ok=True)
    write_together(contents)
    return list(contents)


def _files_in(request: FileRequest) -> FileRequest:
    """The files in a folder; a matrix of features may be elsewhere."""
    folder = request.path
    if request.nodes is not None:
        raise UsageError(f"--nodes {request.nodes} goes with --edges, not with the folder {folder}")
    edges, nodes = (find_file(folder, stem, TABLE_SUFFIXES) for stem in ("edges", "nodes"))
    if edges is None:
        raise DataError(f"{folder}: holds no table of edges")
    features = request.features or find_file(folder, "features", FEATURE_SUFFIXES)
    return replace(request, path=edges, nodes=nodes, features=features)


def _csv_tables(raw: RawGraph) -> dict[str, bytes]:
    columns, edges = _columns(raw)
    texts = {name: column_texts(column) for name, column in _feature_columns(columns).items()}
    nodes = delimited_bytes({ID: columns.ids, **columns.texts, **texts})
    return {"nodes.csv": nodes, "edges.csv": delimited_bytes(edges)}


def _parquet_tables(raw: RawGraph) -> dict[str, bytes]:
    columns, edges = _columns(raw)
    texts = {name: [text or None for text in texts] for name, texts in columns.texts.items()}
    nodes = parquet_bytes({ID: columns.ids, **texts, **_feature_columns(columns)})
    return {"nodes.parquet": nodes, "edges.parquet": parquet_bytes(dict(edges))}


def _columns(raw: RawGraph) -> tuple[NodeColumns, dict[str, Sequence[str]]]:
    columns = node_columns(raw)
    positions = checks.checked_edges(raw.edges, len(columns.ids))
    source, target = ([columns.ids[position] for position in end] for end in positions.T.tolist())
    return columns, {"source": source, "target": target}


def _feature_columns(columns: NodeColumns) -> dict[str, npt.NDArray[Any]]:
    if columns.features is None:
        return {}
    dense = columns.features.toarray() if sp.issparse(columns.features) else columns.features
    return {name: np.ascontiguousarray(dense[:, place]) for place, name in enumerate(columns.feature_names)}


def _check_no_other_graph(folder: Path, written: Sequence[Path]) -> None:
    """Files of a graph in another format would make the folder ambiguous; they are not ours to remove."""
    others = [file.name for file in sorted(folder.iterdir()) if file not in written and _belongs_to_graph(file)]
    if others:
        raise UsageError(
            f"{folder}: holds {', '.join(others)}, files of another graph; give another folder, or remove them"
        )


def _belongs_to_graph(file: Path) -> bool:
    stem, _, suffix = file.name.partition(".")
    return stem in STEMS and f".{suffix.partition('.')[0].lower()}" in (*TABLE_SUFFIXES, *FEATURE_SUFFIXES)


def _is_parquet(path: Path) -> bool:
    edges = find_file(path, "edges", TABLE_SUFFIXES) if path.is_dir() else path
    return edges is not None and suffix_of(edges) == ".parquet"


def _is_table(path: Path) -> bool:
    return not path.is_dir() or find_file(path, "edges", TABLE_SUFFIXES) is not None


DESCRIPTION = "edges.csv (or .tsv, .parquet) and nodes.csv"
PARQUET = FileFormat(
    "parquet",
    DESCRIPTION,
    (".parquet",),
    _is_parquet,
    read_tables,
    partial(write_tables, _parquet_tables),
    has_columns=True,
    is_folder=True,
)
CSV = FileFormat(
    "csv",
    DESCRIPTION,
    (".csv", ".tsv", ".txt"),
    _is_table,
    read_tables,
    partial(write_tables, _csv_tables),
    has_columns=True,
    is_folder=True,
)
