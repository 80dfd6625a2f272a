"""From shards on disk to the part of the graph that one worker trains on, and back to the whole."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from confgcn.data.input_files import naming
from confgcn.distributed.exchange import make_exchange
from confgcn.distributed.shard_check import check_shards
from confgcn.distributed.shard_files import DENSE, NAMES, SPARSE, SPLIT, ShardFolder, worker_of
from confgcn.exceptions import CorruptFileError
from confgcn.graph import Graph, Shard
from confgcn.graph.validation import checked_names
from confgcn.io.json_files import read_json
from confgcn.sparse import SparseMatrix, SparseStructure

_NO_NAME = ""


def load_shard(folder: ShardFolder, rank: int, size: int) -> Graph:
    """The part of a worker, joined with the others in its halo. Every worker of the job calls it at the same time."""
    own_parts = folder.parts_of(rank, size)
    check_shards(folder, own_parts)
    nodes, order = torch.cat([folder.array("nodes", part) for part in own_parts]).sort()
    borrowed, owners = _borrowed(folder, own_parts, size)
    adjacency = _renumbered(_joined_rows(folder, own_parts, order), nodes, borrowed, owners)
    by_owner = torch.argsort(owners, stable=True)
    halo = make_exchange(borrowed[by_owner], owners[by_owner], nodes)
    shard = Shard(halo, nodes, borrowed[by_owner], folder.num_nodes)
    return _assembled(folder, own_parts, order, adjacency, (_NO_NAME,) * len(nodes), shard)


def load_whole(folder: ShardFolder) -> Graph:
    """The graph that the shards were cut from."""
    parts = list(range(folder.num_parts))
    check_shards(folder, parts)
    order = torch.cat([folder.array("nodes", part) for part in parts]).argsort()
    return _assembled(folder, parts, order, _joined_rows(folder, parts, order), _names(folder))


def _assembled(
    folder: ShardFolder,
    parts: list[int],
    order: Tensor,
    adjacency: SparseStructure,
    names: tuple[str, ...],
    shard: Shard | None = None,
) -> Graph:
    """The graph of these parts, whose nodes are put in this order."""
    record = folder.record
    split = torch.cat([folder.array("split", part) for part in parts])[order]
    train, validation, test = ((split == SPLIT.index(name)).nonzero().squeeze(1) for name in SPLIT[1:])
    return Graph(
        name=record.name,
        adjacency=adjacency,
        features=_features(folder, parts, order),
        labels=torch.cat([folder.array("labels", part) for part in parts])[order],
        train=train,
        validation=validation,
        test=test,
        node_ids=torch.arange(len(order)),
        node_names=names,
        class_names=tuple(record.class_names),
        edge_counts=record.edge_counts,
        feature_names=tuple(record.feature_names),
        reader_notices=tuple(record.remarks),
        shard=shard,
    )


def _names(folder: ShardFolder) -> tuple[str, ...]:
    if NAMES not in folder.record.files:
        return tuple(map(str, range(folder.num_nodes)))
    file = folder.path / NAMES
    names = read_json(file).get("names")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise CorruptFileError(f"{file}: corrupt, it holds no list of names")
    with naming(file):
        return checked_names(names, "node", folder.num_nodes)


def _borrowed(folder: ShardFolder, own_parts: list[int], size: int) -> tuple[Tensor, Tensor]:
    """The nodes that the worker's parts borrow of other workers, sorted, and those workers."""
    nodes = torch.cat([folder.array("borrowed", part) for part in own_parts])
    parts = torch.cat([folder.array("borrowed_parts", part) for part in own_parts])
    first = torch.from_numpy(np.unique(nodes.numpy(), return_index=True)[1])
    is_elsewhere = ~torch.isin(parts[first], torch.tensor(own_parts))
    chosen = first[is_elsewhere]
    return nodes[chosen], worker_of(parts[chosen], folder.num_parts, size)


def _joined_rows(folder: ShardFolder, parts: list[int], order: Tensor) -> SparseStructure:
    """The edges into the nodes of these parts, sources by their places in the whole."""
    if len(parts) == 1:
        return SparseStructure(
            folder.array("indptr", parts[0]), folder.array("indices", parts[0]), (len(order), folder.num_nodes)
        )
    counts = torch.cat([folder.array("indptr", part).diff() for part in parts])
    indptr = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    indices = torch.cat([folder.array("indices", part) for part in parts])
    return SparseStructure(indptr, indices, (len(order), folder.num_nodes)).at_rows(order)[0]


def _renumbered(rows: SparseStructure, own: Tensor, borrowed: Tensor, owners: Tensor) -> SparseStructure:
    """The same edges over the worker's columns: its own nodes, then those it borrows, by their owners."""
    place = torch.empty_like(borrowed)
    place[torch.argsort(owners, stable=True)] = torch.arange(len(own), len(own) + len(borrowed))
    columns = torch.searchsorted(own, rows.indices)
    is_own = own[columns.clamp_(max=len(own) - 1)] == rows.indices
    columns[~is_own] = place[torch.searchsorted(borrowed, rows.indices[~is_own])]
    width = len(own) + len(borrowed)
    keys = rows.rows.mul(width).add_(columns).sort().values
    return SparseStructure(rows.indptr.clone(), keys.remainder_(width), (len(own), width))


def _features(folder: ShardFolder, parts: list[int], order: Tensor) -> Tensor | SparseMatrix:
    if not folder.record.sparse_features:
        return _dense_features([folder.array(DENSE[0], part) for part in parts], order)
    indptr, indices, values = ([folder.array(name, part) for part in parts] for name in SPARSE)
    counts = torch.cat([pointers.diff() for pointers in indptr])
    shape = (len(counts), folder.record.num_features)
    structure = SparseStructure(torch.cat([counts.new_zeros(1), counts.cumsum(0)]), torch.cat(indices), shape)
    return SparseMatrix(structure, torch.cat(values)).at_rows(order)


def _dense_features(blocks: list[Tensor], order: Tensor) -> Tensor:
    """The rows of all blocks in this order, without another copy of them."""
    if len(blocks) == 1:
        return blocks[0]
    joined, places = blocks[0].new_empty(len(order), blocks[0].shape[1]), torch.argsort(order)
    for block, rows in zip(blocks, places.split([len(block) for block in blocks]), strict=True):
        joined[rows] = block
    return joined
