"""The graph in a folder of arrays: in memory like any other, or in blocks, where memory does not hold it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from confgcn.data.formats.array_folder import ArrayFolder, is_array_folder
from confgcn.data.formats.format import FileFormat
from confgcn.data.formats.graph_arrays import GraphArrays
from confgcn.data.formats.npz import MAX_BYTES
from confgcn.data.input_files import unchanged
from confgcn.data.raw import RawGraph, natural_order
from confgcn.exceptions import DataError
from confgcn.graph.validation import IntArray

EDGE_BYTES = 16  # in memory
INSTEAD = "confgcn convert FOLDER --out OTHER --mapped makes a graph of it that need not be"


def read_array_folder(path: Path) -> RawGraph:
    """The graph, read into memory."""
    folder = ArrayFolder(path)
    with unchanged(folder.files):
        split = np.full(folder.num_nodes, "", dtype=object)
        for part, positions in folder.parts.items():
            split[positions] = part
        classes = np.array([*folder.class_names, None], dtype=object)  # the last one is that of label -1
        return RawGraph(
            folder.name,
            folder.node_names or [str(node) for node in range(folder.num_nodes)],
            _edges_in_memory(folder),
            _features_in_memory(folder),
            labels=classes[folder.labels].tolist(),
            split=split.tolist(),
            class_names=folder.class_names,
        )


def arrays_of_folder(folder: ArrayFolder) -> GraphArrays:
    """The graph in blocks, its nodes in the natural order of their names, as those of any other format are."""
    features = folder.features
    if features is None:
        raise DataError(f"{folder.path}: there is no features.npy; --add-features makes some from the graph itself")
    arrays = GraphArrays(
        folder.name,
        folder.num_nodes,
        features.shape[1],
        folder.num_edges,
        folder.edges,
        lambda rows: features[rows],
        folder.labels,
        folder.parts,
        folder.class_names,
    )
    names = folder.node_names
    return arrays if names is None else arrays.reordered(natural_order(names), names)


def _edges_in_memory(folder: ArrayFolder) -> IntArray:
    if folder.num_edges * EDGE_BYTES > MAX_BYTES:
        raise DataError(f"{folder.edge_file}: {folder.num_edges:,} edges are not read into memory; {INSTEAD}")
    return np.concatenate([np.empty((0, 2), dtype=np.int64), *folder.edges()])


def _features_in_memory(folder: ArrayFolder) -> npt.NDArray[Any] | None:
    features = folder.features
    if features is not None and features.nbytes > MAX_BYTES:
        file = folder.path / "features.npy"
        raise DataError(f"{file}: {features.nbytes:,} bytes are not read into memory; {INSTEAD}")
    return None if features is None else np.array(features)


FORMAT = FileFormat(
    "arrays", "edges.npy and labels.npy", (), is_array_folder, lambda request: read_array_folder(request.path)
)
