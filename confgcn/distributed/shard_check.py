"""Check shards before they are used. Every array is read, a block at a time.

Checksums find accidents but not forgeries, and the kernels read and write wherever an index points: so all indices are
checked.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from confgcn.data.formats.csr_files import check_ascending, checked_entries
from confgcn.data.input_files import naming, unchanged
from confgcn.distributed.shard_files import COLUMNS, DENSE, MANIFEST, SPARSE, SPLIT, Array, ShardFolder, arrays_of_shard
from confgcn.exceptions import CorruptFileError
from confgcn.graph.validation import FLOAT32_MAX, checked_feature_block
from confgcn.io.blocks import blocks_of_rows
from confgcn.io.checksums import file_digest

Owners = npt.NDArray[np.int16]


def check_shards(folder: ShardFolder, shards: Sequence[int]) -> None:
    """Raise if a file of these shards was altered or is not valid. A shard is checked once."""
    shards = [shard for shard in shards if shard not in folder.checked]
    if not shards:
        return
    files = folder.files_of(shards)
    with unchanged(files):
        _check_columns(folder)
        for shard in shards:
            _mapped(folder, shard)
        for file, sha256 in files.items():
            if file_digest(file) != sha256:
                raise CorruptFileError(f"{file}: corrupt, its checksum does not match; make the shards again")
        owners = owners_of_nodes(folder)
        for shard in shards:
            arrays = _mapped(folder, shard)
            _check_edges(folder, shard, arrays, owners)
            _check_labels(folder, shard, arrays)
            _check_features(folder, shard, arrays)
    folder.checked.update(shards)


def owners_of_nodes(folder: ShardFolder) -> Owners:
    """The shard of every node, (N,); each node is in one of them."""
    total = sum(len(folder.mapped("nodes", shard)) for shard in range(folder.num_shards))
    if total != folder.num_nodes:
        raise CorruptFileError(f"{folder.path / MANIFEST}: corrupt, {folder.num_nodes} nodes, {total} in the shards")
    owners = np.full(total, -1, dtype=np.int16)
    for shard in range(folder.num_shards):
        nodes, file = folder.mapped("nodes", shard), folder.file_of("nodes", shard)
        check_ascending(file, nodes, total)
        for rows in blocks_of_rows(len(nodes)):
            if (owners[nodes[rows]] >= 0).any():
                raise CorruptFileError(f"{file}: corrupt, it holds a node of another shard")
            owners[nodes[rows]] = shard
    return owners


def _mapped(folder: ShardFolder, shard: int) -> dict[str, Array]:
    """The arrays of a shard, whose lengths fit each other."""
    arrays = {name: folder.mapped(name, shard) for name in arrays_of_shard(folder.record)}
    for name, shape in _shapes(arrays, folder.record.num_features).items():
        if arrays[name].shape != shape:
            file = folder.file_of(name, shard)
            raise CorruptFileError(f"{file}: corrupt, expected the shape {shape}, got {arrays[name].shape}")
    if not len(arrays["nodes"]):
        raise CorruptFileError(f"{folder.file_of('nodes', shard)}: corrupt, a shard without nodes")
    return arrays


def _shapes(arrays: dict[str, Array], num_features: int) -> dict[str, tuple[int, ...]]:
    """The expected shapes of all arrays whose length depends on another."""
    count = len(arrays["nodes"])
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("labels", "split"), (count,))
    shapes |= {"indptr": (count + 1,), "halo_shards": arrays["halo_nodes"].shape}
    if DENSE[0] in arrays:
        return shapes | {DENSE[0]: (count, num_features)}
    return shapes | {SPARSE[0]: (count + 1,), SPARSE[2]: arrays[SPARSE[1]].shape}


def _check_columns(folder: ShardFolder) -> None:
    columns, file, width = folder.mapped(COLUMNS), folder.file_of(COLUMNS), folder.record.num_features
    if columns.shape != (2, width):
        raise CorruptFileError(f"{file}: corrupt, expected the shape {(2, width)}, got {columns.shape}")
    if not np.isfinite(columns).all() or (columns[1] < 0).any():
        raise CorruptFileError(f"{file}: corrupt, these are not the means and deviations of features")


def _check_edges(folder: ShardFolder, shard: int, arrays: dict[str, Array], owners: Owners) -> None:
    """Every node has a self loop, and the halo nodes are exactly the sources in other shards."""
    halo_nodes, file = arrays["halo_nodes"], folder.file_of("halo_nodes", shard)
    check_ascending(file, halo_nodes, folder.num_nodes)
    if (owners[halo_nodes] != arrays["halo_shards"]).any():
        raise CorruptFileError(f"{folder.file_of('halo_shards', shard)}: corrupt, these shards do not hold the nodes")
    files = folder.file_of("indptr", shard), folder.file_of("indices", shard)
    loops, is_read = 0, np.zeros(len(halo_nodes), dtype=bool)
    for row, source in checked_entries(files, arrays["indptr"], arrays["indices"], folder.num_nodes):
        loops += int((source == arrays["nodes"][row]).sum())
        elsewhere = source[owners[source] != shard]
        places = np.searchsorted(halo_nodes, elsewhere)
        if (places == len(halo_nodes)).any() or (halo_nodes[places] != elsewhere).any():
            raise CorruptFileError(f"{file}: corrupt, it lacks a node that an edge comes from")
        is_read[places] = True
    if loops != len(arrays["nodes"]):
        raise CorruptFileError(f"{files[1]}: corrupt, {len(arrays['nodes']) - loops} nodes have no self loop")
    if not is_read.all():
        raise CorruptFileError(f"{file}: corrupt, it holds a node that no edge comes from")


def _check_labels(folder: ShardFolder, shard: int, arrays: dict[str, Array]) -> None:
    labels, split, num_classes = arrays["labels"], arrays["split"], len(folder.record.class_names)
    if labels.min() < -1 or labels.max() >= num_classes:
        raise CorruptFileError(
            f"{folder.file_of('labels', shard)}: corrupt, labels are from -1 to {num_classes - 1}, not "
            f"{labels.min()} to {labels.max()}"
        )
    if split.min() < 0 or split.max() >= len(SPLIT) or (labels[split > 0] < 0).any():
        raise CorruptFileError(f"{folder.file_of('split', shard)}: corrupt, not a split of the labelled nodes")


def _check_features(folder: ShardFolder, shard: int, arrays: dict[str, Array]) -> None:
    if not folder.record.sparse_features:
        features = arrays[DENSE[0]]
        with naming(folder.file_of(DENSE[0], shard)):
            for rows in blocks_of_rows(*features.shape):
                checked_feature_block(features[rows], rows.start)
        return
    indptr, indices, values = (arrays[name] for name in SPARSE)
    files = folder.file_of(SPARSE[0], shard), folder.file_of(SPARSE[1], shard)
    for _ in checked_entries(files, indptr, indices, folder.record.num_features):
        pass
    if not all((np.abs(values[rows]) <= FLOAT32_MAX).all() for rows in blocks_of_rows(len(values))):
        raise CorruptFileError(f"{folder.file_of(SPARSE[2], shard)}: corrupt, a value is not a finite float32")
