"""The record and the arrays of shards are read if they are valid; objects are refused before anything is read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confgcn.distributed.shard_check import check_shards
from confgcn.distributed.shard_files import MANIFEST, ShardFolder, read_shard_record
from confgcn.distributed.shards import load_all_shards
from confgcn.exceptions import CorruptFileError, DataError, ResourceError, UnsafeFileError
from confgcn.io.json_files import read_checksummed_json, write_checksummed_json

Forge = Callable[[Path, str, Any], None]
ARRAYS = ["columns.npy"] + [
    f"shard-0001/{name}.npy"
    for name in ("nodes", "indptr", "indices", "halo_nodes", "halo_shards", "labels", "split", "features")
]


def test_changes_of_an_array_stay_in_memory(shards: Path) -> None:
    folder = ShardFolder(shards)
    folder.array("nodes", 0)[0] = 5
    assert folder.array("nodes", 0).tolist() == [0, 1, 2]
    assert folder.array("halo_nodes", 1).tolist() == [2, 5]
    assert folder.array("halo_shards", 1).tolist() == [0, 2]


def test_an_array_without_entries_is_one(shards: Path, forge: Forge) -> None:
    forge(shards, "shard-0000/halo_nodes.npy", np.empty(0, dtype=np.int64))
    assert ShardFolder(shards).array("halo_nodes", 0).shape == (0,)


def test_the_files_of_a_shard_and_of_the_whole_graph(shards: Path) -> None:
    files = ShardFolder(shards).files_of([2])
    names = {str(file.relative_to(shards)) for file in files}
    assert {"columns.npy", "names.json", "shard-0002/nodes.npy"} <= names
    assert not any(name.startswith(("shard-0000", "shard-0001")) for name in names)
    assert set(files.values()) <= set(read_checksummed_json(shards / MANIFEST)["files"].values())


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("kind", ["float16", "int32", ">i8", "<f8", "U3", "M8[s]"])
def test_an_array_of_another_type_is_refused(shards: Path, forge: Forge, name: str, kind: str) -> None:
    sound = np.load(shards / name)
    if sound.dtype == np.dtype(kind):
        pytest.skip("that is its type")
    forge(shards, name, sound.astype(np.int64).astype(kind))
    with pytest.raises(CorruptFileError, match=rf"{Path(name).name}: corrupt, expected "):
        load_all_shards(ShardFolder(shards))


@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_of_other_dimensions_is_refused(shards: Path, forge: Forge, name: str) -> None:
    forge(shards, name, np.load(shards / name)[None])
    with pytest.raises(CorruptFileError, match=rf"{Path(name).name}: corrupt, expected .* dimensions"):
        load_all_shards(ShardFolder(shards))


@pytest.mark.parametrize("name", ["columns.npy", "shard-0001/features.npy"])
def test_a_table_by_columns_is_refused(shards: Path, forge: Forge, name: str) -> None:
    forge(shards, name, np.asfortranarray(np.load(shards / name)))
    with pytest.raises(CorruptFileError, match=rf"{Path(name).name}: corrupt, expected .* by rows"):
        load_all_shards(ShardFolder(shards))


@pytest.mark.parametrize("is_forged", [False, True])
@pytest.mark.parametrize("name", ARRAYS)
def test_objects_are_refused_as_unsafe_whether_or_not_the_checksum_fits(
    shards: Path, forge: Forge, name: str, is_forged: bool
) -> None:
    if is_forged:
        forge(shards, name, np.array([{}, {}], dtype=object))
    else:
        np.save(shards / name, np.array([{}, {}], dtype=object), allow_pickle=True)
    with pytest.raises(UnsafeFileError, match=Path(name).name):
        load_all_shards(ShardFolder(shards))


@pytest.mark.parametrize("name", ARRAYS)
def test_a_header_that_claims_more_than_there_is_is_refused(shards: Path, name: str) -> None:
    content = (shards / name).read_bytes()
    (shards / name).write_bytes(content.replace(b"'shape': (", b"'shape': (9", 1))
    with pytest.raises(DataError, match=Path(name).name):
        load_all_shards(ShardFolder(shards))


@pytest.mark.parametrize("name", [*ARRAYS, "names.json"])
def test_a_file_that_is_missing_is_named(shards: Path, name: str) -> None:
    (shards / name).unlink()
    with pytest.raises(CorruptFileError, match=f"{Path(name).name}: missing, though {MANIFEST} names it"):
        load_all_shards(ShardFolder(shards))


def test_nodes_of_another_worker_that_are_missing_are_named(shards: Path) -> None:
    (shards / "shard-0001/nodes.npy").unlink()
    with pytest.raises(CorruptFileError, match=r"nodes\.npy: missing"):
        check_shards(ShardFolder(shards), [0])


HASH = 64 * "0"


def altered(folder: Path, **changes: Any) -> Path:
    write_checksummed_json(folder / MANIFEST, {**read_checksummed_json(folder / MANIFEST), **changes})
    return folder / MANIFEST


def test_a_sound_one_is_read(shards: Path) -> None:
    record = read_shard_record(shards / MANIFEST)
    assert (record.shards, record.num_nodes, record.num_features, record.entries) == (3, 6, 2, 16)
    assert record.class_names == ["0", "1"]
    assert record.edge_counts.unique == 5


@pytest.mark.parametrize(
    "changes",
    [
        {"shards": 0},
        {"shards": 10_001},
        {"shards": "3"},
        {"shards": 3.0},
        {"num_nodes": 0},
        {"num_nodes": 10**9},
        {"num_nodes": True},
        {"num_features": 0},
        {"name": 5},
        {"is_named": 1},
        {"split_seed": -1},
        {"split_seed": 2**40},
        {"partitioned_by": "other"},
        {"class_names": "ab"},
        {"class_names": [0, 1]},
        {"feature_names": None},
        {"notices": [None]},
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
    with pytest.raises(
        CorruptFileError, match=rf"{MANIFEST}: does not describe a graph in shards \({next(iter(changes))}"
    ):
        read_shard_record(altered(shards, **changes))


@pytest.mark.parametrize("name", ["name", "shards", "files", "edge_counts", "split_seed"])
def test_a_value_that_is_missing_is_named(shards: Path, name: str) -> None:
    record = read_checksummed_json(shards / MANIFEST)
    del record[name]
    write_checksummed_json(shards / MANIFEST, record)
    with pytest.raises(CorruptFileError, match=rf"\({name}: field required"):
        read_shard_record(shards / MANIFEST)


def test_classes_of_one_name_are_refused(shards: Path) -> None:
    with pytest.raises(DataError, match=f"{MANIFEST}.*'a' occurs twice"):
        read_shard_record(altered(shards, class_names=["a", "a"]))


def test_names_of_more_features_than_there_are(shards: Path) -> None:
    with pytest.raises(CorruptFileError, match="3 names of 2 features"):
        read_shard_record(altered(shards, feature_names=["a", "b", "c"]))


def test_a_named_graph_must_exist(shards: Path) -> None:
    assert read_shard_record(altered(shards, is_named=True, name="cora")).name == "cora"
    with pytest.raises(CorruptFileError, match=r"no known graph is named '\.\./cora'"):
        read_shard_record(altered(shards, is_named=True, name="../cora"))


@pytest.mark.parametrize(
    ("name", "is_extra"),
    [("../outside", True), ("/etc/passwd", True), ("shard-0003/nodes.npy", True), ("shard-0001/nodes.npy", False)],
)
def test_the_files_are_those_of_the_shards_and_no_others(shards: Path, name: str, is_extra: bool) -> None:
    files = read_checksummed_json(shards / MANIFEST)["files"]
    altered(shards, files={**files, name: HASH} if is_extra else {key: files[key] for key in files if key != name})
    with pytest.raises(CorruptFileError, match=f"too few files or too many: '{name}'"):
        _ = ShardFolder(shards).record


def test_where_there_is_no_record_there_are_no_shards(tmp_path: Path) -> None:
    with pytest.raises(ResourceError, match=MANIFEST):
        _ = ShardFolder(tmp_path).record
