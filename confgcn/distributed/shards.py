"""From shards on disk to the part of the graph that one worker trains on, and back to the whole."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from confgcn.distributed.exchange import make_exchange
from confgcn.distributed.shard_files import DENSE, SPARSE, SPLIT, ShardFolder, worker_of
from confgcn.files import read_json
from confgcn.graph import EdgeCounts, Graph, Shard
from confgcn.sparse import SparseMatrix, SparseStructure

_NO_NAME = ""


def load_shard(folder: ShardFolder, rank: int, size: int) -> Graph:
    """The part of a worker, joined with the others in its halo. Every worker of the job calls it at the same time.

    Whether its files are whole is for :meth:`ShardFolder.check_share` to say.
    """
    own_parts = folder.parts_of(rank, size)
    nodes, order = torch.cat([folder.array("nodes", part) for part in own_parts]).sort()
    borrowed, owners = _borrowed(folder, own_parts, size)
    adjacency = _renumbered(_joined_rows(folder, own_parts, order), nodes, borrowed, owners)
    by_owner = torch.argsort(owners, stable=True)
    halo = make_exchange(borrowed[by_owner], owners[by_owner], nodes)
    names = (_NO_NAME,) * len(nodes)
    return _assembled(folder, own_parts, order, adjacency, names, Shard(halo, nodes, folder.num_nodes))


def load_whole(folder: ShardFolder) -> Graph:
    """The graph that the shards were cut from."""
    parts = list(range(folder.num_parts))
    for part in (None, *parts):
        folder.check(part)
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
        name=record["name"],
        adjacency=adjacency,
        features=_features(folder, parts, order),
        labels=torch.cat([folder.array("labels", part) for part in parts])[order],
        train=train,
        validation=validation,
        test=test,
        node_ids=torch.arange(len(order)),
        node_names=names,
        class_names=tuple(record["class_names"]),
        edge_counts=EdgeCounts(**record["edge_counts"]),
        feature_names=tuple(record["feature_names"]),
        remarks=tuple(record["remarks"]),
        shard=shard,
    )


def _names(folder: ShardFolder) -> tuple[str, ...]:
    file = folder.path / "names.json"
    return tuple(read_json(file)["names"]) if file.is_file() else tuple(map(str, range(folder.num_nodes)))


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
    if not folder.record["sparse_features"]:
        blocks = [folder.array(DENSE[0], part) for part in parts]
        return blocks[0] if len(blocks) == 1 else torch.cat(blocks)[order]
    indptr, indices, values = ([folder.array(name, part) for part in parts] for name in SPARSE)
    counts = torch.cat([pointers.diff() for pointers in indptr])
    shape = (len(counts), folder.record["num_features"])
    structure = SparseStructure(torch.cat([counts.new_zeros(1), counts.cumsum(0)]), torch.cat(indices), shape)
    return SparseMatrix(structure, torch.cat(values)).at_rows(order)
