"""All formats of graphs, files and objects, and the functions that read and write through them.

A format is one module with one row below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from confgcn.data.formats import (
    arrays,
    graphml,
    npz,
    planetoid,
    store_writing,
    tables,
)
from confgcn.data.formats.format import FileFormat, FileRequest, ObjectFormat
from confgcn.data.formats.objects import dgl, graphs, matrices, networkx, pandas, pyg
from confgcn.data.formats.objects.node_data import NodeData
from confgcn.data.formats.table import TableOptions, listed
from confgcn.data.input_files import COMPRESSED_SUFFIXES, naming
from confgcn.data.raw import RawGraph
from confgcn.data.structural import is_structural
from confgcn.exceptions import DataError, UsageError, unknown_name
from confgcn.graph import Graph
from confgcn.graph.validation import shown

# In the order in which they are tried: the last one reads any file.
FILE_FORMATS: tuple[FileFormat, ...] = (
    store_writing.FORMAT,
    arrays.FORMAT,
    planetoid.FORMAT,
    npz.FORMAT,
    npz.CITATION,
    graphml.FORMAT,
    tables.PARQUET,
    tables.CSV,
)
OBJECT_FORMATS: tuple[ObjectFormat, ...] = (
    graphs.GRAPH,
    graphs.RAW_GRAPH,
    pyg.FORMAT,
    networkx.FORMAT,
    matrices.FORMAT,
    pandas.FORMAT,
    dgl.FORMAT,
)


def read_graph(
    path: Path | None,
    options: TableOptions | None = None,
    *,
    edges: Path | None = None,
    nodes: Path | None = None,
    features: Path | None = None,
    like: Sequence[str] | None = None,
    known: Sequence[str] = (),
) -> RawGraph:
    """Read the graph in a folder or file, or in the tables ``edges`` and ``nodes`` with a matrix of ``features``.

    See :class:`~confgcn.data.formats.format.FileRequest` for ``like`` and ``known``.
    """
    main = _main(path, edges)
    request = FileRequest(main, nodes, features, options or TableOptions(), like, known)
    found = _file_format(main)
    if found.has_columns:
        return found.read(request)
    _refuse_table_options(request)
    with naming(main):
        return _check_features(found.read(request), like)


def write_graph(raw: RawGraph, path: Path, *, folder_format: str = "csv", overwrite: bool = False) -> list[Path]:
    """Write a graph so that reading it gives the same graph: by the suffix of the path, or as a folder.

    All files are written or none. What exists is replaced only to ``overwrite``. Returns the files.
    """
    chosen = _format_to_write(path, folder_format)
    if raw.edge_weight is not None and not chosen.keeps_weights:
        able = " or ".join(suffix for row in FILE_FORMATS if row.keeps_weights for suffix in row.suffixes)
        raise UsageError(f"{path}: edge weights cannot be written in this format; give a path that ends in {able}")
    assert chosen.write is not None  # the row was chosen for it
    return chosen.write(raw, path, overwrite=overwrite)


def raw_graph(
    graph: Any,
    features: Any = None,
    labels: Any = None,
    *,
    name: str = "graph",
    node_names: Sequence[Any] | None = None,
    split: Any = None,
    trained: Graph | None = None,
) -> RawGraph:
    """Convert an object that holds a graph.

    What is given beside the object replaces what it carries itself.

    Args:
        graph: a :class:`~confgcn.graph.Graph` or :class:`~confgcn.data.raw.RawGraph`; ``torch_geometric.data.Data``;
            a networkx graph; a DGL graph; a square adjacency matrix of zeros and ones (scipy sparse, numpy, torch);
            whole numbers of shape (2, edges) as an edge index; a pandas data frame of edges, or a pair of data frames
            ``(edges, nodes)`` with the columns that files have.
        features: (N, F), rows in the order of the nodes; or by node: a mapping or a data frame with the nodes as its
            index; for networkx also the name of a node attribute.
        labels: one per node in their order, or by node; -1, NaN, None and "" are unknown.
        name: of the graph, for messages and results.
        node_names: one per node, distinct as texts; by default their positions.
        split: ``{"train": ..., "validation": ..., "test": ...}`` with masks or positions, or for each node its set.
        trained: the graph of a training that new nodes are joined to: edges of data frames may name its nodes, and
            categories are encoded as there.
    """
    nodes = NodeData(features=features, labels=labels, names=node_names, split=split, trained=trained)
    for row in OBJECT_FORMATS:
        if row.sniff(graph):
            return row.read(graph, nodes, name)
    kind = f"{type(graph).__module__}.{type(graph).__qualname__}"
    accepted = ", ".join(row.description for row in OBJECT_FORMATS)
    raise UsageError(f"no graph can be made of a {kind}: pass {accepted}")


def _main(path: Path | None, edges: Path | None) -> Path:
    if path is not None and edges is not None:
        raise UsageError(f"{path} and --edges {edges}: give one of them, the other is not needed")
    main = path or edges
    if main is None:
        raise UsageError("no graph: give a path, or --edges and --nodes")
    if edges is not None and edges.is_dir():
        raise UsageError(f"--edges {edges}: a folder; name the file in it, or give the folder without --edges")
    return main


def _file_format(path: Path) -> FileFormat:
    found = next((row for row in FILE_FORMATS if row.sniff(path)), None)
    if found is None:
        names = sorted(file.name for file in path.iterdir())
        expected = ", or ".join(dict.fromkeys(row.description for row in reversed(FILE_FORMATS)))
        raise DataError(f"{path}: found {listed(names) if names else 'nothing'}; expected {expected}")
    return found


def _format_to_write(path: Path, folder_format: str) -> FileFormat:
    written = [row for row in FILE_FORMATS if row.write is not None]
    folders = {row.name: row for row in written if row.is_folder}
    if folder_format not in folders:
        raise unknown_name("format of a folder", folder_format, folders)
    suffix = path.suffix.lower()
    by_suffix = next((row for row in written if suffix in row.suffixes), folders[folder_format])
    if suffix in COMPRESSED_SUFFIXES or (by_suffix.is_folder and suffix in by_suffix.suffixes):
        files = " or ".join(suffix for row in written if not row.is_folder for suffix in row.suffixes)
        raise UsageError(f"{path}: tables are written to a folder; give a path without a suffix, or {files}")
    return by_suffix


def _refuse_table_options(request: FileRequest) -> None:
    given = replace(request.options.for_columns(()), allow_edgeless=False, impute=False, fills={})
    if given != TableOptions() or request.nodes or request.features:
        raise UsageError(f"{request.path}: options about columns and nodes are for tables, not for this format")


def _check_features(raw: RawGraph, like: Sequence[str] | None) -> RawGraph:
    """The graph, if its features are those of a trained one; features without names are compared by number later."""
    expected = [name for name in like or () if not is_structural(name)]
    names = raw.feature_names
    if expected and names is not None and set(names) != set(expected):
        different = sorted(set(names) ^ set(expected))
        raise DataError(
            f"{raw.name}: the model was trained with {len(expected)} features, here are {len(names)}; "
            f"{len(different)} differ, for example {shown(different[0])}"
        )
    return raw
