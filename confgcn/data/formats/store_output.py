"""Write a graph that is mapped and not read, from arrays that need not fit into memory: whole, or not at all."""

from __future__ import annotations

import hashlib
import os
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from confgcn.data.formats.graph_arrays import GraphArrays
from confgcn.data.formats.graph_store import KINDS, NAME_KINDS, RECORD, is_store
from confgcn.data.formats.npy import growing_npy, npy_header, write_npy
from confgcn.data.formats.streamed_adjacency import write_adjacency
from confgcn.data.formats.text_arrays import Numbers, encoded
from confgcn.data.formats.whole_folder import whole_folder
from confgcn.data.input_files import naming
from confgcn.exceptions import ResourceError, UsageError
from confgcn.graph import validation as checks
from confgcn.io.blocks import blocks_of_rows
from confgcn.io.json_files import write_checksummed_json

ENTRY_BYTES = 8 * (2 + 2)  # of an edge: both directions, in the scratch file and in the store


def write_store(arrays: GraphArrays, path: Path, *, overwrite: bool = False) -> Path:
    """Write the folder ``path``; one that is there is touched only to ``overwrite`` a graph of this kind."""
    _check_free(path, overwrite=overwrite)
    _check_room(path, arrays)
    with whole_folder(path) as folder:
        record = {
            "name": arrays.name,
            "class_names": list(arrays.class_names),
            "feature_names": list(arrays.feature_names),
            "remarks": list(arrays.remarks),
            "edge_counts": asdict(write_adjacency(folder, arrays.edges, arrays.num_nodes)),
        }
        _write_features(folder / "features.npy", arrays)
        for name, array in {"labels": arrays.labels, **arrays.parts}.items():
            write_npy(folder / f"{name}.npy", np.asarray(array, dtype=np.int64))
        if arrays.node_names is not None and not isinstance(arrays.node_names, Numbers):
            content, ends = encoded(arrays.node_names)
            write_npy(folder / "name_bytes.npy", content)
            write_npy(folder / "name_ends.npy", ends)
        write_checksummed_json(folder / RECORD, {**record, "arrays": _described(folder)})
    return path


def file_sha256(file: Path) -> str:
    """The SHA-256 of a file of any size."""
    with file.open("rb") as stream, naming(file):
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _write_features(file: Path, arrays: GraphArrays) -> None:
    with growing_npy(file, KINDS["features"], (arrays.num_features,)) as append:
        for rows in blocks_of_rows(arrays.num_nodes, arrays.num_features):
            append(checks.checked_feature_block(arrays.feature_rows(rows), rows.start))


def _described(folder: Path) -> dict[str, Any]:
    files = {name: folder / f"{name}.npy" for name in (*KINDS, *NAME_KINDS)}
    return {
        name: {"shape": list(npy_header(file).shape), "sha256": file_sha256(file)}
        for name, file in files.items()
        if file.exists()
    }


def _check_free(path: Path, *, overwrite: bool) -> None:
    taken = any(path.iterdir()) if path.is_dir() and not path.is_symlink() else os.path.lexists(path)
    if taken and not overwrite:
        raise UsageError(f"{path.absolute()} exists already; give another name, or --overwrite")
    if taken and (path.is_symlink() or not is_store(path)):
        raise UsageError(f"{path.absolute()} is no mapped graph; give another name, or remove it")


def _check_room(path: Path, arrays: GraphArrays) -> None:
    """Better asked than found out when the disk is full."""
    place = next(folder for folder in path.absolute().parents if folder.is_dir())
    values = arrays.num_nodes * (arrays.num_features * 4 + 8 * 3)
    needed, free = values + ENTRY_BYTES * arrays.num_listed, shutil.disk_usage(place).free
    if needed > free:
        raise ResourceError(f"{place}: the graph takes up to {needed:,} bytes while it is made, {free:,} are free")
