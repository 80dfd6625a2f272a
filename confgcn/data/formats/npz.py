"""Graphs in .npz archives: the archive of this package, and the layout of Graph2Gauss.

The archive of this package keeps ids, labels, classes, numbers and names exactly, and the same graph gives the same
bytes. A list of texts is stored as its UTF-8 bytes and the position where each text ends, because numpy's arrays of
texts pad all of them to the longest and lose a NUL at the end.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from confgcn.data.formats.array_files import CSR_KEYS, MAX_BYTES, Arrays, npz_keys, read_npz, sparse_from
from confgcn.data.formats.format import FileFormat, FileRequest, check_free
from confgcn.data.formats.objects.matrices import edges_of_adjacency
from confgcn.data.formats.table import listed
from confgcn.data.formats.text_arrays import encoded
from confgcn.data.input_files import naming, stem_of, suffix_of, unchanged
from confgcn.data.raw import RawGraph, raw_from_graph
from confgcn.exceptions import CorruptFileError, DataError, brief
from confgcn.graph import Graph
from confgcn.graph.graph import SPLITS
from confgcn.io.atomic_files import write_atomic

MARKER = "confgcn_graph"  # the array that holds the version of the layout
VERSION = 1
SPLIT_CODES = ("", *SPLITS)
HEADER_BYTES = 128  # of an array in a file, at most
CITATION_PREFIXES = (("adj_", "attr_"), ("adj_matrix.", "attr_matrix."))  # both published spellings
TIMESTAMP = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip archive can hold

_TEXTS = ("name", "ids", "feature_names", "class_names", "label_names", "remarks")


def is_graph_npz(path: Path) -> bool:
    """Whether this archive was written by :func:`graph_npz_bytes`."""
    return MARKER in npz_keys(path)


def graph_npz_bytes(raw: RawGraph) -> bytes:
    """The graph as an npz archive."""
    arrays: Arrays = {MARKER: np.array(VERSION), "edges": np.asarray(raw.edges, dtype=np.int64).reshape(-1, 2)}
    arrays |= _feature_arrays(raw.features)
    if raw.edge_weight is not None:
        arrays["edge_weight"] = np.asarray(raw.edge_weight)
    texts: dict[str, Sequence[str] | None] = {
        "name": [raw.name],
        "ids": raw.ids,
        "feature_names": raw.feature_names,
        "class_names": raw.class_names,
        "remarks": raw.notices,  # the key in files of earlier versions
    }
    if raw.labels is not None:
        known = list(dict.fromkeys(label for label in raw.labels if label is not None))
        codes = {label: code for code, label in enumerate(known)}
        texts["label_names"] = known
        arrays["labels"] = np.array([-1 if label is None else codes[label] for label in raw.labels], dtype=np.int64)
    if raw.split is not None:
        arrays["split"] = np.array([SPLIT_CODES.index(part) for part in raw.split], dtype=np.int8)
    for key, values in texts.items():
        if values is not None:
            arrays |= _text_arrays(key, values)
    return _archive(arrays)


def read_graph_npz(path: Path) -> RawGraph:
    """Read an archive of this package."""
    found = npz_keys(path)
    version = read_npz(path, [MARKER])[MARKER]
    if version.shape != () or version != VERSION:
        given = brief(version)
        raise CorruptFileError(f"{path}: graph archive of version {given}, this program reads version {VERSION}")
    arrays = read_npz(path)
    texts = {key: _texts(path, key, arrays) for key in _TEXTS if f"{key}_bytes" in found}
    missing = [key for key in ("name", "ids", "remarks") if key not in texts] + ["edges"] * ("edges" not in found)
    if missing:
        raise CorruptFileError(f"{path}: the archive lacks {', '.join(missing)}")
    split = _coded(path, "split", arrays, SPLIT_CODES)
    return RawGraph(
        texts["name"][0] if texts["name"] else path.stem,
        texts["ids"],
        arrays["edges"],
        _features(path, arrays),
        texts.get("feature_names"),
        _coded(path, "labels", arrays, texts.get("label_names", [])),
        None if split is None else [part or "" for part in split],
        texts.get("class_names"),
        tuple(texts["remarks"]),
        edge_weight=arrays.get("edge_weight"),
    )


def read_citation_npz(path: Path, *, name: str) -> Graph:
    """Read adjacency matrix, features and labels; the graph has no split yet."""
    adjacency_prefix, features_prefix = _key_prefixes(path)
    keys = [prefix + key for prefix in (adjacency_prefix, features_prefix) for key in CSR_KEYS]
    arrays = read_npz(path, [*keys, "labels"])
    adjacency = sparse_from(arrays, adjacency_prefix, path)
    features = sparse_from(arrays, features_prefix, path)
    if adjacency.shape != (features.shape[0], features.shape[0]):
        raise DataError(f"{path}: the adjacency is {adjacency.shape}, the features are {features.shape}")
    return Graph.build(edges_of_adjacency(adjacency), features, arrays["labels"], name=name)


def _feature_arrays(features: Any) -> Arrays:
    if features is None:
        return {}
    if not sp.issparse(features):
        return {"features": np.ascontiguousarray(features)}
    matrix = features.tocsr()
    stored = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "shape": np.array(matrix.shape)}
    return {f"features_{key}": np.ascontiguousarray(array) for key, array in stored.items()}


def _features(path: Path, arrays: Arrays) -> Any:
    if "features" in arrays:
        return arrays["features"]
    present = [key for key in CSR_KEYS if f"features_{key}" in arrays]
    if present and len(present) < len(CSR_KEYS):
        raise CorruptFileError(f"{path}: the features are incomplete, there are only {', '.join(present)}")
    return sparse_from(arrays, "features_", path) if present else None


def _text_arrays(key: str, texts: Sequence[str]) -> Arrays:
    try:
        content, ends = encoded(texts)
    except UnicodeEncodeError as error:
        raise DataError(f"{key}: {error.object[error.start]!r} cannot be written as UTF-8") from None
    return {f"{key}_bytes": content, f"{key}_ends": ends}


def _texts(path: Path, key: str, arrays: Arrays) -> list[str]:
    content, ends = arrays[f"{key}_bytes"], arrays.get(f"{key}_ends")
    valid = ends is not None and content.dtype == np.uint8 and ends.dtype.kind in "iu" and ends.ndim == 1
    if not valid or ends is None or _bounds_are_wrong(ends, len(content)):
        raise CorruptFileError(f"{path}: the texts of {key} are damaged")
    joined, bounds = content.tobytes(), [0, *ends.tolist()]
    try:
        return [joined[start:end].decode() for start, end in pairwise(bounds)]
    except UnicodeDecodeError:
        raise CorruptFileError(f"{path}: the texts of {key} are not UTF-8") from None


def _bounds_are_wrong(ends: npt.NDArray[Any], length: int) -> bool:
    steps = np.diff(ends.astype(np.int64), prepend=0)
    return bool((steps < 0).any()) or (int(ends[-1]) if len(ends) else 0) != length


def _coded(path: Path, key: str, arrays: Arrays, names: Sequence[str]) -> list[str | None] | None:
    if key not in arrays:
        return None
    codes = arrays[key]
    lowest = -1 if key == "labels" else 0
    if codes.dtype.kind not in "iu" or codes.ndim != 1 or (codes < lowest).any() or (codes >= len(names)).any():
        raise CorruptFileError(f"{path}: {key} must be whole numbers from {lowest} to {len(names) - 1}")
    return [None if code < 0 else names[code] for code in codes.tolist()]


def _archive(arrays: Arrays) -> bytes:
    size = sum(array.nbytes + HEADER_BYTES for array in arrays.values())
    if size > MAX_BYTES:
        raise DataError(f"the graph takes {size:,} bytes, more than is read from one archive")
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:  # uncompressed: cannot be mistaken for a zip bomb
        for key, array in arrays.items():
            entry = io.BytesIO()
            np.lib.format.write_array(entry, array, allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{key}.npy", TIMESTAMP), entry.getvalue())
    return stream.getvalue()


def _key_prefixes(path: Path) -> tuple[str, str]:
    found = npz_keys(path)
    for adjacency_prefix, features_prefix in CITATION_PREFIXES:
        if f"{adjacency_prefix}data" in found:
            return adjacency_prefix, features_prefix
    raise DataError(f"{path}: expected arrays adj_data, ... or adj_matrix.data, ...; found {listed(found)}")


def _is_npz(path: Path) -> bool:
    return suffix_of(path) == ".npz" and not path.is_dir()


def _is_own(path: Path) -> bool:
    return _is_npz(path) and path.is_file() and is_graph_npz(path)


def _read(request: FileRequest) -> RawGraph:
    with unchanged([request.path]), naming(request.path):
        raw = read_graph_npz(request.path)
        raw.check()
        return raw


def _read_citation(request: FileRequest) -> RawGraph:
    with unchanged([request.path]), naming(request.path):
        return replace(raw_from_graph(read_citation_npz(request.path, name=stem_of(request.path))), split=None)


def _write(raw: RawGraph, path: Path, *, overwrite: bool) -> list[Path]:
    content = graph_npz_bytes(raw)
    check_free(path, overwrite=overwrite)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, content)
    return [path]


FORMAT = FileFormat("npz", "a .npz file", (".npz",), _is_own, _read, _write, keeps_weights=True)
CITATION = FileFormat("citation_npz", "a .npz file with an adjacency matrix", (".npz",), _is_npz, _read_citation)
