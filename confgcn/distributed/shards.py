"""Partition a graph, write its shards, and read the shards of one worker or the whole graph."""

from __future__ import annotations

import os
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from confgcn.data.formats.array_files import npy_writer, write_npy
from confgcn.data.input_files import naming
from confgcn.distributed.exchange import make_exchange
from confgcn.distributed.shard_check import check_shards
from confgcn.distributed.shard_files import (
    COLUMNS,
    DENSE,
    KEY,
    LAYOUT,
    MANIFEST,
    NAMES,
    SPARSE,
    SPLIT,
    Partitioner,
    ShardFolder,
    shard_name,
    worker_of,
)
from confgcn.exceptions import CorruptFileError, UsageError
from confgcn.graph import Graph, Shard
from confgcn.graph.partition import metis
from confgcn.graph.validation import checked_names
from confgcn.io.atomic_files import atomic_folder, write_atomic
from confgcn.io.blocks import blocks_of_entries, blocks_of_rows
from confgcn.io.checksums import file_digest
from confgcn.io.json_files import read_json, to_json, write_checksummed_json
from confgcn.sparse import SparseMatrix, SparseStructure
from confgcn.training.seed import seeded

_MIXER = 0x9E3779B97F4A7C15 - 2**64  # Fibonacci hashing: neighbouring numbers get distant hashes


def default_partitioner() -> Partitioner:
    """METIS, where it is installed."""
    return "hash" if find_spec("pymetis") is None else "metis"


def shards_of_nodes(graph: Graph, num_shards: int, how: Partitioner, *, seed: int = 0) -> tuple[Tensor, Partitioner]:
    """The shard of each node, (N,), none of them empty, and the partitioner that was used in the end."""
    if not 1 <= num_shards <= graph.num_nodes:
        raise UsageError(f"shards = {num_shards}: expected a whole number from 1 to {graph.num_nodes}, one node each")
    if num_shards == 1:
        return torch.zeros(graph.num_nodes, dtype=torch.long), how
    if how == "metis":
        with seeded(seed):
            shards = metis(graph, num_shards)
    else:
        shards = ((torch.arange(graph.num_nodes) * _MIXER) >> 32) % num_shards
    is_used = torch.bincount(shards, minlength=num_shards) > 0
    return (shards, how) if bool(is_used.all()) else (torch.arange(graph.num_nodes) % num_shards, "hash")


def write_shards(path: Path, graph: Graph, shards: Tensor, about: dict[str, Any], columns: Tensor) -> dict[str, Any]:
    """Write the shards of a graph into a new folder; returns the content of partition.json.

    ``about`` holds the entries of partition.json on the origin of the graph, ``columns`` (2, F) the mean and standard
    deviation of its features.
    """
    if graph.edge_weight is not None:
        raise UsageError(f"{graph.name}: a graph with edge weights cannot be sharded; train it in one process")
    if os.path.lexists(path):
        raise UsageError(f"{path}: exists; choose another folder for the shards")
    with atomic_folder(path) as folder:
        write_npy(folder / f"{COLUMNS}.npy", columns.numpy())
        _write_names(folder, graph)
        split = _split(graph)
        crossing = sum(_write_shard(folder, graph, shards, shard, split) for shard in range(int(shards.max()) + 1))
        files = {str(file.relative_to(folder)): file_digest(file) for file in sorted(folder.rglob("*.*"))}
        record = {**about, **_described(graph, shards), "crossing_edges": crossing, "files": files}
        write_checksummed_json(folder / MANIFEST, record)
    return record


def _described(graph: Graph, shards: Tensor) -> dict[str, Any]:
    return {
        KEY: LAYOUT,
        "name": graph.name,
        "shards": int(shards.max()) + 1,
        "num_nodes": graph.num_nodes,
        "num_features": graph.num_features,
        "entries": graph.adjacency.num_entries,
        "class_names": list(graph.class_names),
        "feature_names": list(graph.feature_names),
        "notices": list(graph.reader_notices),
        "edge_counts": asdict(graph.edge_counts),
        "sparse_features": isinstance(graph.features, SparseMatrix),
        "feature_dtype": str(
            graph.features.values.dtype if isinstance(graph.features, SparseMatrix) else graph.features.dtype
        ),
        "graph_sha256": graph.fingerprint,
    }


def _write_names(folder: Path, graph: Graph) -> None:
    if any(name != str(number) for number, name in enumerate(graph.node_names)):
        write_atomic(folder / NAMES, to_json({"names": list(graph.node_names)}))


def _split(graph: Graph) -> Tensor:
    """The split of each node, (N,): a position in ``SPLIT``."""
    split = torch.zeros(graph.num_nodes, dtype=torch.int8)
    for number, name in enumerate(SPLIT[1:], start=1):
        split[getattr(graph, name)] = number
    return split


def _write_shard(folder: Path, graph: Graph, shards: Tensor, shard: int, split: Tensor) -> int:
    """Write one shard; returns the number of its edges from other shards."""
    path = folder / shard_name(shard)
    path.mkdir()
    nodes = (shards == shard).nonzero().squeeze(1)
    halo_nodes, crossing = _write_edges(path, graph.adjacency, shards, nodes)
    arrays = {"nodes": nodes, "labels": graph.labels[nodes], "split": split[nodes], "halo_nodes": halo_nodes}
    for name, array in {**arrays, "halo_shards": shards[halo_nodes]}.items():
        write_npy(path / f"{name}.npy", array.numpy())
    _write_features(path, graph.features, nodes)
    return crossing


def _write_edges(path: Path, adjacency: SparseStructure, shards: Tensor, nodes: Tensor) -> tuple[Tensor, int]:
    """Write the edges into the nodes of one shard; returns its halo nodes, and the number of edges from them."""
    counts = adjacency.indptr[nodes + 1] - adjacency.indptr[nodes]
    indptr = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    write_npy(path / "indptr.npy", indptr.numpy())
    halo_nodes, crossing = [nodes[:0]], 0
    with npy_writer(path / "indices.npy", np.int64) as append:
        for rows in blocks_of_entries(indptr.numpy()):
            sources = adjacency.at_rows(nodes[rows])[0].indices
            append(sources.numpy())
            elsewhere = sources[shards[sources] != shards[nodes[0]]]
            halo_nodes.append(elsewhere.unique())
            crossing += len(elsewhere)
    return torch.cat(halo_nodes).unique(), crossing


def _write_features(path: Path, features: Tensor | SparseMatrix, nodes: Tensor) -> None:
    if isinstance(features, SparseMatrix):
        own = features.at_rows(nodes)
        arrays = (own.structure.indptr, own.structure.indices, own.values)
        for name, array in zip(SPARSE, arrays, strict=True):
            write_npy(path / f"{name}.npy", array.numpy())
        return
    with npy_writer(path / f"{DENSE[0]}.npy", features[:0].numpy().dtype, (features.shape[1],)) as append:
        for rows in blocks_of_rows(len(nodes), features.shape[1]):
            append(features[nodes[rows]].numpy())


def load_shard(folder: ShardFolder, rank: int, size: int) -> Graph:
    """The shards of one worker as one graph. All workers of the job call this at the same time."""
    own_shards = folder.shards_of(rank, size)
    check_shards(folder, own_shards)
    nodes, order = _joined("nodes", folder, own_shards).sort()
    halo_nodes, owners = _halo_nodes(folder, own_shards, size)
    adjacency = _renumbered(_joined_rows(folder, own_shards, order), nodes, halo_nodes, owners)
    by_owner = torch.argsort(owners, stable=True)
    halo = make_exchange(halo_nodes[by_owner], owners[by_owner], nodes)
    shard = Shard(halo, nodes, halo_nodes[by_owner], folder.num_nodes)
    return _assembled(folder, own_shards, order, adjacency, ("",) * len(nodes), shard)


def load_all_shards(folder: ShardFolder) -> Graph:
    """The graph of all shards."""
    shards = list(range(folder.num_shards))
    check_shards(folder, shards)
    order = _joined("nodes", folder, shards).argsort()
    return _assembled(folder, shards, order, _joined_rows(folder, shards, order), _names(folder))


def _assembled(
    folder: ShardFolder,
    shards: list[int],
    order: Tensor,
    adjacency: SparseStructure,
    names: tuple[str, ...],
    shard: Shard | None = None,
) -> Graph:
    """The graph of these shards, with its nodes in this order."""
    record = folder.record
    split = _joined("split", folder, shards)[order]
    train, validation, test = ((split == SPLIT.index(name)).nonzero().squeeze(1) for name in SPLIT[1:])
    return Graph(
        name=record.name,
        adjacency=adjacency,
        features=_features(folder, shards, order),
        labels=_joined("labels", folder, shards)[order],
        train=train,
        validation=validation,
        test=test,
        node_ids=torch.arange(len(order)),
        node_names=names,
        class_names=tuple(record.class_names),
        edge_counts=record.edge_counts,
        feature_names=tuple(record.feature_names),
        reader_notices=tuple(record.notices),
        shard=shard,
    )


def _joined(name: str, folder: ShardFolder, shards: list[int]) -> Tensor:
    """One array of several shards, one after the other."""
    return torch.cat([folder.array(name, shard) for shard in shards])


def _names(folder: ShardFolder) -> tuple[str, ...]:
    if NAMES not in folder.record.files:
        return tuple(map(str, range(folder.num_nodes)))
    file = folder.path / NAMES
    names = read_json(file).get("names")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise CorruptFileError(f"{file}: corrupt, it does not hold a list of names")
    with naming(file):
        return checked_names(names, "node", folder.num_nodes)


def _halo_nodes(folder: ShardFolder, own_shards: list[int], size: int) -> tuple[Tensor, Tensor]:
    """The halo nodes of a worker's shards, sorted, and the workers that own them."""
    nodes = _joined("halo_nodes", folder, own_shards)
    shards = _joined("halo_shards", folder, own_shards)
    first = torch.from_numpy(np.unique(nodes.numpy(), return_index=True)[1])
    is_elsewhere = ~torch.isin(shards[first], torch.tensor(own_shards))
    chosen = first[is_elsewhere]
    return nodes[chosen], worker_of(shards[chosen], folder.num_shards, size)


def _joined_rows(folder: ShardFolder, shards: list[int], order: Tensor) -> SparseStructure:
    """The edges into the nodes of these shards, sources by their positions in the whole graph."""
    if len(shards) == 1:
        return SparseStructure(
            folder.array("indptr", shards[0]), folder.array("indices", shards[0]), (len(order), folder.num_nodes)
        )
    counts = torch.cat([folder.array("indptr", shard).diff() for shard in shards])
    indptr = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    indices = _joined("indices", folder, shards)
    return SparseStructure(indptr, indices, (len(order), folder.num_nodes)).at_rows(order)[0]


def _renumbered(rows: SparseStructure, own: Tensor, halo_nodes: Tensor, owners: Tensor) -> SparseStructure:
    """The same edges over the worker's columns: its own nodes, then the halo nodes by owner."""
    column = torch.empty_like(halo_nodes)
    column[torch.argsort(owners, stable=True)] = torch.arange(len(own), len(own) + len(halo_nodes))
    columns = torch.searchsorted(own, rows.indices)
    is_own = own[columns.clamp_(max=len(own) - 1)] == rows.indices
    columns[~is_own] = column[torch.searchsorted(halo_nodes, rows.indices[~is_own])]
    width = len(own) + len(halo_nodes)
    keys = rows.rows.mul(width).add_(columns).sort().values
    return SparseStructure(rows.indptr.clone(), keys.remainder_(width), (len(own), width))


def _features(folder: ShardFolder, shards: list[int], order: Tensor) -> Tensor | SparseMatrix:
    if not folder.record.sparse_features:
        return _dense_features([folder.array(DENSE[0], shard) for shard in shards], order)
    indptr, indices, values = ([folder.array(name, shard) for shard in shards] for name in SPARSE)
    counts = torch.cat([pointers.diff() for pointers in indptr])
    shape = (len(counts), folder.record.num_features)
    structure = SparseStructure(torch.cat([counts.new_zeros(1), counts.cumsum(0)]), torch.cat(indices), shape)
    return SparseMatrix(structure, torch.cat(values)).at_rows(order)


def _dense_features(blocks: list[Tensor], order: Tensor) -> Tensor:
    """The rows of all blocks in this order, without another copy of them."""
    if len(blocks) == 1:
        return blocks[0]
    joined, positions = blocks[0].new_empty(len(order), blocks[0].shape[1]), torch.argsort(order)
    for block, rows in zip(blocks, positions.split([len(block) for block in blocks]), strict=True):
        joined[rows] = block
    return joined
