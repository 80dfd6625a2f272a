"""Are shards what was written, and can their numbers be relied on? Every array is read, a block at a time.

A checksum tells of accidents; whoever forges one can forge all. So nothing is followed that was not looked at: the
kernels read and write wherever an index leads.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from confgcn.data.formats.csr_files import check_ascending, checked_entries
from confgcn.data.input_files import naming, unchanged
from confgcn.distributed.shard_files import (
    COLUMNS,
    DENSE,
    MANIFEST,
    SPARSE,
    SPLIT,
    Array,
    ShardFolder,
    arrays_of_part,
)
from confgcn.exceptions import CorruptFileError
from confgcn.graph.validation import FLOAT32_MAX, checked_feature_block
from confgcn.io.blocks import blocks_of_rows
from confgcn.io.checksums import file_digest

Owners = npt.NDArray[np.int16]


def check_shards(folder: ShardFolder, parts: Sequence[int]) -> None:
    """Refuse shards of which a file of these parts was altered, or that no program of ours has written.

    What was looked at is not read again.
    """
    parts = [part for part in parts if part not in folder.checked]
    if not parts:
        return
    files = folder.files_of(parts)
    with unchanged(files):
        _check_columns(folder)
        for part in parts:
            _mapped(folder, part)
        for file, sha256 in files.items():
            if file_digest(file) != sha256:
                raise CorruptFileError(f"{file}: corrupt, its checksum does not match; make the shards again")
        owners = owners_of_nodes(folder)
        for part in parts:
            arrays = _mapped(folder, part)
            _check_edges(folder, part, arrays, owners)
            _check_labels(folder, part, arrays)
            _check_features(folder, part, arrays)
    folder.checked.update(parts)


def owners_of_nodes(folder: ShardFolder) -> Owners:
    """The part of every node, (N,); each is in one of them."""
    found = sum(len(folder.mapped("nodes", part)) for part in range(folder.num_parts))
    if found != folder.num_nodes:
        raise CorruptFileError(f"{folder.path / MANIFEST}: corrupt, {folder.num_nodes} nodes, {found} in the parts")
    owners = np.full(found, -1, dtype=np.int16)
    for part in range(folder.num_parts):
        nodes, file = folder.mapped("nodes", part), folder.file_of("nodes", part)
        check_ascending(file, nodes, found)
        for rows in blocks_of_rows(len(nodes)):
            if (owners[nodes[rows]] >= 0).any():
                raise CorruptFileError(f"{file}: corrupt, it holds a node of another part")
            owners[nodes[rows]] = part
    return owners


def _mapped(folder: ShardFolder, part: int) -> dict[str, Array]:
    """The arrays of a part, which are as long as they must be to belong together."""
    arrays = {name: folder.mapped(name, part) for name in arrays_of_part(folder.record)}
    for name, shape in _shapes(arrays, folder.record.num_features).items():
        if arrays[name].shape != shape:
            file = folder.file_of(name, part)
            raise CorruptFileError(f"{file}: corrupt, expected the shape {shape}, got {arrays[name].shape}")
    if not len(arrays["nodes"]):
        raise CorruptFileError(f"{folder.file_of('nodes', part)}: corrupt, a part without nodes")
    return arrays


def _shapes(arrays: dict[str, Array], num_features: int) -> dict[str, tuple[int, ...]]:
    """Of all whose length is not their own affair."""
    count = len(arrays["nodes"])
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("labels", "split"), (count,))
    shapes |= {"indptr": (count + 1,), "borrowed_parts": arrays["borrowed"].shape}
    if DENSE[0] in arrays:
        return shapes | {DENSE[0]: (count, num_features)}
    return shapes | {SPARSE[0]: (count + 1,), SPARSE[2]: arrays[SPARSE[1]].shape}


def _check_columns(folder: ShardFolder) -> None:
    columns, file, width = folder.mapped(COLUMNS), folder.file_of(COLUMNS), folder.record.num_features
    if columns.shape != (2, width):
        raise CorruptFileError(f"{file}: corrupt, expected {(2, width)}, got {columns.shape}")
    if not np.isfinite(columns).all() or (columns[1] < 0).any():
        raise CorruptFileError(f"{file}: corrupt, these are not the means and deviations of features")


def _check_edges(folder: ShardFolder, part: int, arrays: dict[str, Array], owners: Owners) -> None:
    """Every node among its own sources, and of those that other parts own all borrowed, and no others."""
    borrowed, file = arrays["borrowed"], folder.file_of("borrowed", part)
    check_ascending(file, borrowed, folder.num_nodes)
    if (owners[borrowed] != arrays["borrowed_parts"]).any():
        raise CorruptFileError(f"{folder.file_of('borrowed_parts', part)}: corrupt, these parts do not hold the nodes")
    files = folder.file_of("indptr", part), folder.file_of("indices", part)
    loops, is_read = 0, np.zeros(len(borrowed), dtype=bool)
    for row, source in checked_entries(files, arrays["indptr"], arrays["indices"], folder.num_nodes):
        loops += int((source == arrays["nodes"][row]).sum())
        elsewhere = source[owners[source] != part]
        places = np.searchsorted(borrowed, elsewhere)
        if (places == len(borrowed)).any() or (borrowed[places] != elsewhere).any():
            raise CorruptFileError(f"{file}: corrupt, it lacks a node that an edge comes from")
        is_read[places] = True
    if loops != len(arrays["nodes"]):
        raise CorruptFileError(f"{files[1]}: corrupt, {len(arrays['nodes']) - loops} nodes have no self loop")
    if not is_read.all():
        raise CorruptFileError(f"{file}: corrupt, it holds a node that no edge comes from")


def _check_labels(folder: ShardFolder, part: int, arrays: dict[str, Array]) -> None:
    labels, split, num_classes = arrays["labels"], arrays["split"], len(folder.record.class_names)
    if labels.min() < -1 or labels.max() >= num_classes:
        raise CorruptFileError(
            f"{folder.file_of('labels', part)}: corrupt, labels are from -1 to {num_classes - 1}, not "
            f"{labels.min()} to {labels.max()}"
        )
    if split.min() < 0 or split.max() >= len(SPLIT) or (labels[split > 0] < 0).any():
        raise CorruptFileError(f"{folder.file_of('split', part)}: corrupt, this is no split of the labelled nodes")


def _check_features(folder: ShardFolder, part: int, arrays: dict[str, Array]) -> None:
    if not folder.record.sparse_features:
        features = arrays[DENSE[0]]
        with naming(folder.file_of(DENSE[0], part)):
            for rows in blocks_of_rows(*features.shape):
                checked_feature_block(features[rows], rows.start)
        return
    indptr, indices, values = (arrays[name] for name in SPARSE)
    files = folder.file_of(SPARSE[0], part), folder.file_of(SPARSE[1], part)
    for _ in checked_entries(files, indptr, indices, folder.record.num_features):
        pass
    if not all((np.abs(values[rows]) <= FLOAT32_MAX).all() for rows in blocks_of_rows(len(values))):
        raise CorruptFileError(f"{folder.file_of(SPARSE[2], part)}: corrupt, a value is not a finite float32")
