"""Readers of a graph in shards: as one graph, and as the shards that two workers train on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from confgcn.distributed import shards
from confgcn.distributed.shard_files import DENSE, IN_EVERY_SHARD, SPARSE, ShardFolder
from confgcn.ops import Halo
from confgcn.runs.graph_input import GraphFiles, files_input
from confgcn.runs.stored_graph import columns_of
from fuzzing import seeds
from fuzzing.graph_readers import looked_at
from fuzzing.reader import Reader
from fuzzing.seals import seal_shards

WORKERS = 2
OF_ALL = ("partition.json", "columns.npy", "names.json")


def shard_readers(graph: Path) -> Iterator[Reader]:
    """One for each file of a folder of shards; of the second shard, which has one on either side."""
    dense, sparse = seeds.shards(graph, sparse=False), seeds.shards(graph, sparse=True)
    of_part = [f"shard-0001/{name}.npy" for name in (*IN_EVERY_SHARD, *DENSE)]
    for slot in (*OF_ALL, *of_part):
        yield Reader(f"shards/{Path(slot).name}", _read, {slot: dense[slot]}, dense, 0.5, seal=seal_shards)
    for slot in ("partition.json", *(f"shard-0001/{name}.npy" for name in SPARSE)):
        yield Reader(f"shards/sparse/{Path(slot).name}", _read, {slot: sparse[slot]}, sparse, 0.5, seal=seal_shards)


def _read(folder: Path) -> object:
    """Read the shard of every worker as the kernels do, without the exchange with other workers."""
    looked_at(files_input(GraphFiles(folder)))
    found = ShardFolder(folder)
    with mock.patch.object(shards, "make_exchange", return_value=mock.Mock(spec=Halo)):
        parts = [shards.load_shard(found, rank, WORKERS) for rank in range(WORKERS)]
    return [part.adjacency.transposed for part in parts], columns_of(found)
