"""Write a graph to files that are read back to the same graph: a folder of tables, .npz or .graphml."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from confgcn.data.formats.delimited import delimited_bytes
from confgcn.data.formats.graph_npz import graph_npz_bytes
from confgcn.data.formats.graphml_output import graphml_bytes
from confgcn.data.formats.node_columns import ID, NodeColumns, node_columns
from confgcn.data.formats.parquet import parquet_bytes
from confgcn.data.formats.table import column_texts
from confgcn.data.raw import RawGraph
from confgcn.exceptions import UsageError, unknown_name
from confgcn.graph import checks

TableFormat = Literal["csv", "parquet"]
TABLE_STEMS = ("edges", "nodes", "features")  # by which a folder of tables is known


def write_graph(
    raw: RawGraph,
    path: Path,
    *,
    write: Callable[[Path, bytes], None],
    tables: TableFormat = "csv",
    overwrite: bool = False,
) -> list[Path]:
    """Write by the suffix of the path: .npz, .graphml, else a folder of tables.

    ``write`` puts bytes into a file, all or nothing. Files or folders that exist are touched only to ``overwrite``.
    """
    if tables not in get_args(TableFormat):
        raise unknown_name("format of tables", tables, get_args(TableFormat))
    contents = _contents(raw, path, tables)
    _check_free(path, overwrite=overwrite)
    if path not in contents and path.is_dir():
        _check_no_rivals(path, list(contents))
    for file, content in contents.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        write(file, content)
    return list(contents)


def _contents(raw: RawGraph, path: Path, tables: TableFormat) -> dict[Path, bytes]:
    suffix = path.suffix.lower()
    if suffix == ".npz":
        return {path: graph_npz_bytes(raw)}
    columns = node_columns(raw)
    positions = checks.checked_edges(raw.edges, len(columns.ids))
    source, target = ([columns.ids[position] for position in end] for end in positions.T.tolist())
    if suffix == ".graphml":
        return {path: graphml_bytes(columns, list(zip(source, target, strict=True)))}
    if suffix in (".csv", ".tsv", ".parquet", ".gz"):
        raise UsageError(f"{path}: tables are written to a folder; give a path without a suffix, or .npz or .graphml")
    edges: dict[str, Sequence[str]] = {"source": source, "target": target}
    return {
        path / f"nodes.{tables}": _node_table(columns, tables),
        path / f"edges.{tables}": delimited_bytes(edges) if tables == "csv" else parquet_bytes(dict(edges)),
    }


def _node_table(columns: NodeColumns, tables: TableFormat) -> bytes:
    features = _feature_columns(columns)
    if tables == "csv":
        texts = {name: column_texts(column) for name, column in features.items()}
        return delimited_bytes({ID: columns.ids, **columns.texts, **texts})
    texts_or_none = {name: [text or None for text in texts] for name, texts in columns.texts.items()}
    return parquet_bytes({ID: columns.ids, **texts_or_none, **features})


def _feature_columns(columns: NodeColumns) -> dict[str, npt.NDArray[Any]]:
    if columns.features is None:
        return {}
    dense = columns.features.toarray() if sp.issparse(columns.features) else columns.features
    return {name: np.ascontiguousarray(dense[:, place]) for place, name in enumerate(columns.feature_names)}


def _check_free(path: Path, *, overwrite: bool) -> None:
    taken = any(path.iterdir()) if path.is_dir() else path.exists()
    if taken and not overwrite:
        raise UsageError(f"{path.absolute()} exists already; give another name, or --overwrite")


def _check_no_rivals(folder: Path, written: Sequence[Path]) -> None:
    """Tables of a graph in another format would make the folder ambiguous; they are not ours to remove."""
    rivals = [file.name for file in sorted(folder.iterdir()) if file not in written and _is_part(file)]
    if rivals:
        raise UsageError(
            f"{folder}: holds {', '.join(rivals)}, parts of another graph; give another folder, or remove them"
        )


def _is_part(file: Path) -> bool:
    stem, _, suffix = file.name.partition(".")
    return stem in TABLE_STEMS and suffix.partition(".")[0].lower() in ("csv", "tsv", "txt", "parquet", "npy", "npz")
