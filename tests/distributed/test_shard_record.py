"""The record of shards: whatever does not describe a graph is refused, also under a seal that fits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from confgcn.distributed.shard_files import MANIFEST, ShardFolder
from confgcn.distributed.shard_record import read_shard_record
from confgcn.exceptions import CorruptFileError, DataError, ResourceError
from confgcn.io.json_files import read_checksummed_json, write_checksummed_json

HASH = 64 * "0"


def altered(folder: Path, **changes: Any) -> Path:
    write_checksummed_json(folder / MANIFEST, {**read_checksummed_json(folder / MANIFEST), **changes})
    return folder / MANIFEST


def test_a_sound_one_is_read(shards: Path) -> None:
    record = read_shard_record(shards / MANIFEST)
    assert (record.parts, record.num_nodes, record.num_features, record.entries) == (3, 6, 2, 16)
    assert record.class_names == ["0", "1"]
    assert record.edge_counts.unique == 5


@pytest.mark.parametrize(
    "changes",
    [
        {"parts": 0},
        {"parts": 10_001},
        {"parts": "3"},
        {"parts": 3.0},
        {"num_nodes": 0},
        {"num_nodes": 10**9},
        {"num_nodes": True},
        {"num_features": 0},
        {"name": 5},
        {"is_named": 1},
        {"split_seed": -1},
        {"split_seed": 2**40},
        {"cut_by": "other"},
        {"class_names": "ab"},
        {"class_names": [0, 1]},
        {"feature_names": None},
        {"remarks": [None]},
        {"edge_counts": {"listed": 5}},
        {"sparse_features": "no"},
        {"feature_dtype": "torch.int64"},
        {"feature_dtype": "object"},
        {"suited_scaling": "none"},
        {"graph_sha256": "../x"},
        {"files": []},
        {"files": {"columns.npy": "x"}},
        {"other": 1},
    ],
    ids=str,
)
def test_a_value_that_cannot_be_is_named(shards: Path, changes: dict[str, Any]) -> None:
    with pytest.raises(CorruptFileError, match=rf"{MANIFEST}: describes no graph in shards \({next(iter(changes))}"):
        read_shard_record(altered(shards, **changes))


@pytest.mark.parametrize("name", ["name", "parts", "files", "edge_counts", "split_seed"])
def test_a_value_that_is_missing_is_named(shards: Path, name: str) -> None:
    record = read_checksummed_json(shards / MANIFEST)
    del record[name]
    write_checksummed_json(shards / MANIFEST, record)
    with pytest.raises(CorruptFileError, match=rf"\({name}: field required"):
        read_shard_record(shards / MANIFEST)


def test_classes_of_one_name_are_refused(shards: Path) -> None:
    with pytest.raises(DataError, match=f"{MANIFEST}.*'a' stands twice"):
        read_shard_record(altered(shards, class_names=["a", "a"]))


def test_names_of_more_features_than_there_are(shards: Path) -> None:
    with pytest.raises(CorruptFileError, match="3 names of 2 features"):
        read_shard_record(altered(shards, feature_names=["a", "b", "c"]))


def test_a_named_graph_is_one_that_there_is(shards: Path) -> None:
    assert read_shard_record(altered(shards, is_named=True, name="cora")).name == "cora"
    with pytest.raises(CorruptFileError, match=r"none named '\.\./cora'"):
        read_shard_record(altered(shards, is_named=True, name="../cora"))


@pytest.mark.parametrize(
    ("name", "is_extra"),
    [("../outside", True), ("/etc/passwd", True), ("part-0003/nodes.npy", True), ("part-0001/nodes.npy", False)],
)
def test_the_files_are_those_of_the_parts_and_no_others(shards: Path, name: str, is_extra: bool) -> None:
    files = read_checksummed_json(shards / MANIFEST)["files"]
    altered(shards, files={**files, name: HASH} if is_extra else {key: files[key] for key in files if key != name})
    with pytest.raises(CorruptFileError, match=f"too few files or too many: '{name}'"):
        _ = ShardFolder(shards).record


def test_where_there_is_no_record_there_are_no_shards(tmp_path: Path) -> None:
    with pytest.raises(ResourceError, match=MANIFEST):
        _ = ShardFolder(tmp_path).record
