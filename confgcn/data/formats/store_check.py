"""Is a mapped graph what was written, and can its numbers be relied on? Every array is read, a block at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from confgcn.data.formats.format import FileFormat, FileRequest
from confgcn.data.formats.graph_arrays import arrays_of_graph
from confgcn.data.formats.graph_store import Arrays, is_store, map_arrays, open_store, read_record
from confgcn.data.formats.mapped_entries import entry_blocks
from confgcn.data.formats.store_output import file_sha256, write_store
from confgcn.data.formats.text_arrays import TextArrays
from confgcn.data.input_files import naming, unchanged
from confgcn.data.raw import PARTS, RawGraph, raw_from_graph
from confgcn.exceptions import CorruptFileError
from confgcn.graph.graph import NAME_LENGTH
from confgcn.graph.validation import checked_feature_block
from confgcn.io.blocks import blocks_of_rows


def check_store(path: Path) -> None:
    """Refuse a mapped graph of which a file was altered, or that no program of ours has written."""
    record = read_record(path)
    arrays = map_arrays(path, record)
    files = {name: path / f"{name}.npy" for name in arrays}
    with unchanged(files.values()):
        for name, file in files.items():
            if file_sha256(file) != record.arrays[name].sha256:
                raise CorruptFileError(f"{file}: corrupt, its checksum does not match")
        _check_entries(path, arrays)
        _check_values(path, arrays, len(record.class_names))
        if "name_ends" in arrays:
            _check_names(path, arrays["name_bytes"], arrays["name_ends"])


def _check_entries(path: Path, arrays: Arrays) -> None:
    """Sources within the graph, in order, each once, and every node among its own: what reads them does not look."""
    files, num_nodes = (path / "indptr.npy", path / "indices.npy"), len(arrays["labels"])
    blocks = entry_blocks(files, arrays["indptr"], arrays["indices"], num_nodes)
    loops = sum(int((source == target).sum()) for target, source in blocks)
    if loops != num_nodes:
        raise CorruptFileError(f"{files[1]}: corrupt, {num_nodes - loops} nodes have no self loop")


def _check_values(path: Path, arrays: Arrays, num_classes: int) -> None:
    labels, features = arrays["labels"], arrays["features"]
    if labels.min() < -1 or labels.max() >= num_classes:
        raise CorruptFileError(f"{path / 'labels.npy'}: corrupt, labels are from -1 to {num_classes - 1}")
    taken = np.zeros(len(labels), dtype=bool)
    for part in PARTS:
        nodes = arrays[part]
        outside = len(nodes) and (nodes.min() < 0 or nodes.max() >= len(labels) or (np.diff(nodes) <= 0).any())
        if outside or (labels[nodes] < 0).any() or taken[nodes].any():
            raise CorruptFileError(f"{path / f'{part}.npy'}: corrupt, these are not nodes of a split")
        taken[nodes] = True
    with naming(path / "features.npy"):
        for rows in blocks_of_rows(*features.shape):
            checked_feature_block(features[rows], rows.start)


def _check_names(path: Path, content: Any, ends: Any) -> None:
    texts = TextArrays(content, ends)
    if (np.diff(ends, prepend=0) < 0).any():
        raise CorruptFileError(f"{path / 'name_ends.npy'}: corrupt, it does not describe the names")
    try:
        for rows in blocks_of_rows(len(ends), NAME_LENGTH):
            texts[rows]
    except UnicodeDecodeError:
        raise CorruptFileError(f"{path / 'name_bytes.npy'}: corrupt, the names are not UTF-8") from None


def _read(request: FileRequest) -> RawGraph:
    check_store(request.path)
    return raw_from_graph(open_store(request.path))


def _write(raw: RawGraph, path: Path, *, overwrite: bool) -> list[Path]:
    return [write_store(arrays_of_graph(raw.build()), path, overwrite=overwrite)]


FORMAT = FileFormat("mapped", "a mapped graph of confgcn convert --mapped", (), is_store, _read, _write)
