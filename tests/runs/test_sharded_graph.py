"""A graph in shards as the source of runs, and as a run finds it again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from confgcn.data.synthetic import block_model
from confgcn.distributed.shard_files import MANIFEST, ShardFolder
from confgcn.exceptions import CorruptFileError, DataError, ResourceError, UsageError
from confgcn.io.files import read_sealed, write_sealed
from confgcn.runs.mapped_source import recorded_store
from confgcn.runs.sharded_graph import CHECKSUM, ShardedGraph, make_shards, recorded_shards


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_shards(tmp_path / "shards", block_model(200, seed=0), 2, how="hash", split_seed=3)
    return tmp_path / "shards"


def test_a_run_finds_its_shards_again(folder: Path) -> None:
    source = ShardedGraph(folder)
    graph = source.load(3)
    again = recorded_shards(source.record())
    assert again is not None
    assert again.fingerprint == graph.fingerprint
    assert recorded_shards({"source": {"path": str(folder)}}) is None


def test_another_split_is_refused(folder: Path) -> None:
    with pytest.raises(UsageError, match="made with split seed 3, not 0"):
        ShardedGraph(folder).load(0)


def test_other_shards_are_refused(folder: Path) -> None:
    record = ShardedGraph(folder).record()
    write_sealed(folder / MANIFEST, {**read_sealed(folder / MANIFEST), "name": "other"})
    with pytest.raises(DataError, match="other shards"):
        recorded_shards(record)


def test_shards_that_are_gone(folder: Path, tmp_path: Path) -> None:
    record = ShardedGraph(folder).record()
    folder.rename(tmp_path / "elsewhere")
    with pytest.raises(ResourceError, match=MANIFEST):
        recorded_shards(record)


@pytest.mark.parametrize("path", [None, True, 1.5, ["a"]])
def test_a_place_that_is_none(folder: Path, path: Any) -> None:
    place = {} if path is None else {"path": path}
    with pytest.raises(CorruptFileError, match="does not say where the graph is"):
        recorded_shards({"source": {CHECKSUM: ShardFolder(folder).sha256, **place}})
    with pytest.raises(CorruptFileError, match="does not say where the graph is"):
        recorded_store({"source": {"mapped_sha256": "0", **place}})
