"""Shards become the whole again, or the part of a worker: by hand, on a path of six nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch

from confgcn.distributed import shards as module
from confgcn.distributed.shard_files import MANIFEST, NAMES, ShardFolder
from confgcn.distributed.shards import load_shard, load_whole
from confgcn.exceptions import CorruptFileError, DataError
from confgcn.io.json_files import read_checksummed_json, to_json, write_checksummed_json
from confgcn.ops import Halo
from confgcn.sparse import SparseMatrix

Forge = Callable[[Path, str, Any], None]


@pytest.fixture
def exchange() -> Iterator[mock.Mock]:
    """Nobody is there to exchange anything with."""
    with mock.patch.object(module, "make_exchange", return_value=mock.Mock(spec=Halo)) as made:
        yield made


def test_the_whole(shards: Path) -> None:
    graph = load_whole(ShardFolder(shards))
    assert graph.adjacency.indices.tolist() == [0, 1, 0, 1, 2, 1, 2, 3, 2, 3, 4, 3, 4, 5, 4, 5]
    assert graph.node_names == ("a", "b", "c", "d", "e", "f")
    assert graph.labels.tolist() == [0, 1, 0, 1, -1, -1]
    assert (graph.train.tolist(), graph.validation.tolist(), graph.test.tolist()) == ([0, 1], [2], [3])


def test_the_part_of_a_worker(shards: Path, exchange: mock.Mock) -> None:
    """Worker 1 of two has the last part, node 5, and borrows node 4 of worker 0."""
    part = load_shard(ShardFolder(shards), 1, 2)
    assert part.adjacency.shape == (1, 2)
    assert part.adjacency.indices.tolist() == [0, 1]
    borrowed, owners, own = exchange.call_args.args
    assert (borrowed.tolist(), owners.tolist(), own.tolist()) == ([4], [0], [5])


def test_a_worker_with_two_parts_borrows_of_others_alone(sparse_shards: Path, exchange: mock.Mock) -> None:
    part = load_shard(ShardFolder(sparse_shards), 0, 2)
    assert part.adjacency.shape == (5, 6)
    assert exchange.call_args.args[0].tolist() == [5]
    assert isinstance(part.features, SparseMatrix)
    assert part.features.structure.indptr.tolist() == [0, 2, 3, 4, 4, 6]


@pytest.mark.parametrize("rank", [0, 1])
def test_a_worker_refuses_what_is_wrong_with_its_part(
    shards: Path, forge: Forge, exchange: mock.Mock, rank: int
) -> None:
    place = f"part-{2 * rank:04d}/indices.npy"
    forge(shards, place, torch.full((8 if rank == 0 else 2,), 10**12).numpy())
    with pytest.raises(CorruptFileError, match=place):
        load_shard(ShardFolder(shards), rank, 2)
    load_shard(ShardFolder(shards), 1 - rank, 2)


@pytest.mark.parametrize(
    "content",
    [
        {"names": ["a", "b", "c", "d", "e"]},
        {"names": ["a", "b", "c", "d", "e", "e"]},
        {"names": ["a", "b", "c", "d", "e", 5]},
        {"names": ["a", "b", "c", "d", "e", None]},
        {"names": "abcdef"},
        {"names": {"a": 1}},
        {},
        [],
    ],
    ids=str,
)
def test_names_that_are_not_those_of_the_nodes(shards: Path, forge: Forge, content: Any) -> None:
    forge(shards, NAMES, content)
    with pytest.raises(DataError, match=r"names\.json"):
        load_whole(ShardFolder(shards))


def test_names_that_the_record_does_not_know_are_not_read(shards: Path) -> None:
    record = read_checksummed_json(shards / MANIFEST)
    del record["files"][NAMES]
    write_checksummed_json(shards / MANIFEST, record)
    (shards / NAMES).write_bytes(to_json({"names": ["x"] * 6}))
    assert load_whole(ShardFolder(shards)).node_names == ("0", "1", "2", "3", "4", "5")
