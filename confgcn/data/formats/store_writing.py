"""Write a memory-mapped graph (:mod:`confgcn.data.formats.store`) from arrays that need not fit into memory."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from confgcn.data.formats.array_files import npy_shape, npy_writer, write_npy
from confgcn.data.formats.csr_files import write_adjacency
from confgcn.data.formats.format import FileFormat, FileRequest
from confgcn.data.formats.store import DTYPES, NAME_DTYPES, RECORD, check_store, is_store, open_store
from confgcn.data.formats.text_arrays import Numbers, encoded
from confgcn.data.raw import RawGraph, raw_from_graph
from confgcn.exceptions import ResourceError, UsageError
from confgcn.graph import Graph
from confgcn.graph import validation as checks
from confgcn.graph.graph import SPLITS
from confgcn.graph.validation import IntArray
from confgcn.io.atomic_files import atomic_folder
from confgcn.io.blocks import blocks_of_rows
from confgcn.io.checksums import file_digest
from confgcn.io.json_files import write_checksummed_json
from confgcn.sparse import SparseMatrix

EDGE_BYTES = 8 * (2 + 2)  # both directions, in the temporary file and in the store


@dataclass(frozen=True, eq=False)
class GraphArrays:
    """A checked graph that need not fit into memory, with its nodes in their final order.

    Attributes:
        num_listed: the number of edges, including duplicates.
        edges: called more than once, returns blocks of edges, (rows, 2) positions of nodes.
        feature_rows: returns the features of some nodes, (rows, F).
        labels: (N,), -1 for unknown.
        splits: sorted positions of nodes, for each of ``SPLITS``.
        node_names: None where nodes have no names.
    """

    name: str
    num_nodes: int
    num_features: int
    num_listed: int
    edges: Callable[[], Iterator[IntArray]]
    feature_rows: Callable[[slice | IntArray], npt.NDArray[Any]]
    labels: IntArray
    splits: Mapping[str, IntArray]
    class_names: Sequence[str]
    node_names: Sequence[str] | None = None
    feature_names: Sequence[str] = ()
    notices: Sequence[str] = ()

    def reordered(self, order: IntArray, names: Sequence[str]) -> GraphArrays:
        """The same graph with its nodes in another order; ``names`` are those of the nodes in the old order."""
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        return replace(
            self,
            edges=lambda: (place[pairs] for pairs in self.edges()),
            feature_rows=lambda rows: self.feature_rows(order[rows]),
            labels=self.labels[order],
            splits={split: np.sort(place[nodes]) for split, nodes in self.splits.items()},
            node_names=[names[position] for position in order],
        )


def arrays_of_graph(graph: Graph) -> GraphArrays:
    """The arrays of a graph in memory, every edge once; sparse features become dense, block by block."""
    if graph.edge_weight is not None:
        raise UsageError(f"{graph.name}: a graph with edge weights cannot be written as a store; write an .npz archive")
    features: Any = graph.features
    is_sparse = isinstance(features, SparseMatrix)
    matrix = features.to_scipy() if is_sparse else features.numpy()
    return GraphArrays(
        graph.name,
        graph.num_nodes,
        graph.num_features,
        graph.edge_counts.unique,
        lambda: (np.stack(ends, axis=1) for ends in graph.edge_blocks()),
        lambda rows: matrix[rows].toarray() if is_sparse else matrix[rows],
        graph.labels.numpy(),
        {split: getattr(graph, split).numpy() for split in SPLITS},
        graph.class_names,
        graph.node_names,
        graph.feature_names,
        graph.reader_notices,
    )


def write_store(arrays: GraphArrays, path: Path, *, overwrite: bool = False) -> Path:
    """Write the folder ``path``, completely or not at all; ``overwrite`` replaces an existing memory-mapped graph."""
    _check_free(path, overwrite=overwrite)
    _check_disk(path, arrays)
    with atomic_folder(path) as folder:
        record = {
            "name": arrays.name,
            "class_names": list(arrays.class_names),
            "feature_names": list(arrays.feature_names),
            "remarks": list(arrays.notices),
            "edge_counts": asdict(write_adjacency(folder, arrays.edges, arrays.num_nodes)),
        }
        _write_features(folder / "features.npy", arrays)
        for name, array in {"labels": arrays.labels, **arrays.splits}.items():
            write_npy(folder / f"{name}.npy", np.asarray(array, dtype=np.int64))
        if arrays.node_names is not None and not isinstance(arrays.node_names, Numbers):
            content, ends = encoded(arrays.node_names)
            write_npy(folder / "name_bytes.npy", content)
            write_npy(folder / "name_ends.npy", ends)
        write_checksummed_json(folder / RECORD, {**record, "arrays": _description(folder)})
    return path


def _write_features(file: Path, arrays: GraphArrays) -> None:
    with npy_writer(file, DTYPES["features"], (arrays.num_features,)) as append:
        for rows in blocks_of_rows(arrays.num_nodes, arrays.num_features):
            append(checks.checked_feature_block(arrays.feature_rows(rows), rows.start))


def _description(folder: Path) -> dict[str, Any]:
    files = {name: folder / f"{name}.npy" for name in (*DTYPES, *NAME_DTYPES)}
    return {
        name: {"shape": list(npy_shape(file)), "sha256": file_digest(file)}
        for name, file in files.items()
        if file.exists()
    }


def _check_free(path: Path, *, overwrite: bool) -> None:
    exists = any(path.iterdir()) if path.is_dir() and not path.is_symlink() else os.path.lexists(path)
    if exists and not overwrite:
        raise UsageError(f"{path.absolute()} exists already; give another name, or --overwrite")
    if exists and (path.is_symlink() or not is_store(path)):
        raise UsageError(f"{path.absolute()} is not a memory-mapped graph; give another name, or remove it")


def _check_disk(path: Path, arrays: GraphArrays) -> None:
    place = next(folder for folder in path.absolute().parents if folder.is_dir())
    values = arrays.num_nodes * (arrays.num_features * 4 + 8 * 3)
    needed, free = values + EDGE_BYTES * arrays.num_listed, shutil.disk_usage(place).free
    if needed > free:
        raise ResourceError(f"{place}: writing the graph needs up to {needed:,} bytes of disk space, {free:,} are free")


def _read(request: FileRequest) -> RawGraph:
    check_store(request.path)
    return raw_from_graph(open_store(request.path))


def _write(raw: RawGraph, path: Path, *, overwrite: bool) -> list[Path]:
    return [write_store(arrays_of_graph(raw.build()), path, overwrite=overwrite)]


FORMAT = FileFormat(
    "mapped", "a memory-mapped graph written by confgcn convert --mapped", (), is_store, _read, _write, is_folder=True
)
