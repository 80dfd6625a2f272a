"""Cut a graph into shards and write them, one part after the other."""

from __future__ import annotations

import os
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from confgcn.data.formats.array_files import npy_writer, write_npy
from confgcn.distributed.shard_files import COLUMNS, DENSE, MANIFEST, NAMES, SPARSE, SPLIT, part_name
from confgcn.distributed.shard_record import KEY, LAYOUT
from confgcn.exceptions import UsageError
from confgcn.graph import Graph
from confgcn.graph.partition import metis
from confgcn.io.atomic_files import atomic_folder, write_atomic
from confgcn.io.blocks import blocks_of_entries, blocks_of_rows
from confgcn.io.checksums import file_digest
from confgcn.io.json_files import to_json, write_checksummed_json
from confgcn.sparse import SparseMatrix, SparseStructure
from confgcn.training.seed import seeded

Cut = Literal["metis", "hash"]
_MIXER = 0x9E3779B97F4A7C15 - 2**64  # Fibonacci hashing: near numbers come far apart


def best_cut() -> Cut:
    """METIS, where it is installed."""
    return "hash" if find_spec("pymetis") is None else "metis"


def parts_of_nodes(graph: Graph, num_parts: int, how: Cut, *, seed: int = 0) -> tuple[Tensor, Cut]:
    """The part of each node, (N,), none of which is empty, and how they were cut in the end."""
    if not 1 <= num_parts <= graph.num_nodes:
        raise UsageError(f"parts = {num_parts}: expected a whole number from 1 to {graph.num_nodes}, one node each")
    if num_parts == 1:
        return torch.zeros(graph.num_nodes, dtype=torch.long), how
    if how == "metis":
        with seeded(seed):
            parts = metis(graph, num_parts)
    else:
        parts = ((torch.arange(graph.num_nodes) * _MIXER) >> 32) % num_parts
    is_used = torch.bincount(parts, minlength=num_parts) > 0
    return (parts, how) if bool(is_used.all()) else (torch.arange(graph.num_nodes) % num_parts, "hash")


def write_shards(path: Path, graph: Graph, parts: Tensor, about: dict[str, Any], columns: Tensor) -> dict[str, Any]:
    """Write the shards of a graph into a new folder, which is there when it is whole; returns what partition.json says.

    ``about`` says where the graph came from, and ``columns`` (2, F) what its features are on average.
    """
    if graph.edge_weight is not None:
        raise UsageError(f"{graph.name}: a graph with edge weights cannot be sharded; train it in one process")
    if os.path.lexists(path):
        raise UsageError(f"{path}: exists; choose another folder for the shards")
    with atomic_folder(path) as folder:
        write_npy(folder / f"{COLUMNS}.npy", columns.numpy())
        _write_names(folder, graph)
        split = _split(graph)
        cut = sum(_write_part(folder, graph, parts, part, split) for part in range(int(parts.max()) + 1))
        files = {str(file.relative_to(folder)): file_digest(file) for file in sorted(folder.rglob("*.*"))}
        record = {**about, **_described(graph, parts), "crossing": cut, "files": files}
        write_checksummed_json(folder / MANIFEST, record)
    return record


def _described(graph: Graph, parts: Tensor) -> dict[str, Any]:
    return {
        KEY: LAYOUT,
        "name": graph.name,
        "parts": int(parts.max()) + 1,
        "num_nodes": graph.num_nodes,
        "num_features": graph.num_features,
        "entries": graph.adjacency.num_entries,
        "class_names": list(graph.class_names),
        "feature_names": list(graph.feature_names),
        "remarks": list(graph.reader_notices),
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
    """The part of the split that each node is in, (N,)."""
    split = torch.zeros(graph.num_nodes, dtype=torch.int8)
    for number, name in enumerate(SPLIT[1:], start=1):
        split[getattr(graph, name)] = number
    return split


def _write_part(folder: Path, graph: Graph, parts: Tensor, part: int, split: Tensor) -> int:
    """Returns how many of its edges come from other parts."""
    place = folder / part_name(part)
    place.mkdir()
    nodes = (parts == part).nonzero().squeeze(1)
    borrowed, crossing = _write_edges(place, graph.adjacency, parts, nodes)
    arrays = {"nodes": nodes, "labels": graph.labels[nodes], "split": split[nodes], "borrowed": borrowed}
    for name, array in {**arrays, "borrowed_parts": parts[borrowed]}.items():
        write_npy(place / f"{name}.npy", array.numpy())
    _write_features(place, graph.features, nodes)
    return crossing


def _write_edges(place: Path, adjacency: SparseStructure, parts: Tensor, nodes: Tensor) -> tuple[Tensor, int]:
    """Edges into these nodes of one part; returns the sources that other parts own, and how many edges they have."""
    counts = adjacency.indptr[nodes + 1] - adjacency.indptr[nodes]
    indptr = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    write_npy(place / "indptr.npy", indptr.numpy())
    borrowed, crossing = [nodes[:0]], 0
    with npy_writer(place / "indices.npy", np.int64) as append:
        for rows in blocks_of_entries(indptr.numpy()):
            sources = adjacency.at_rows(nodes[rows])[0].indices
            append(sources.numpy())
            elsewhere = sources[parts[sources] != parts[nodes[0]]]
            borrowed.append(elsewhere.unique())
            crossing += len(elsewhere)
    return torch.cat(borrowed).unique(), crossing


def _write_features(place: Path, features: Tensor | SparseMatrix, nodes: Tensor) -> None:
    if isinstance(features, SparseMatrix):
        own = features.at_rows(nodes)
        arrays = (own.structure.indptr, own.structure.indices, own.values)
        for name, array in zip(SPARSE, arrays, strict=True):
            write_npy(place / f"{name}.npy", array.numpy())
        return
    with npy_writer(place / f"{DENSE[0]}.npy", features[:0].numpy().dtype, (features.shape[1],)) as append:
        for rows in blocks_of_rows(len(nodes), features.shape[1]):
            append(features[nodes[rows]].numpy())
