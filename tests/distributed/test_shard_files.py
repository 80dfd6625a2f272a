"""Arrays of shards are mapped if they are of the right kind; objects are refused before anything is read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confgcn.distributed.shard_check import check_shards
from confgcn.distributed.shard_files import MANIFEST, ShardFolder
from confgcn.distributed.shards import load_whole
from confgcn.exceptions import CorruptFileError, DataError, UnsafeFileError
from confgcn.io.json_files import read_checksummed_json

Forge = Callable[[Path, str, Any], None]
ARRAYS = ["columns.npy"] + [
    f"part-0001/{name}.npy"
    for name in ("nodes", "indptr", "indices", "borrowed", "borrowed_parts", "labels", "split", "features")
]


def test_what_is_written_to_an_array_stays_in_memory(shards: Path) -> None:
    folder = ShardFolder(shards)
    folder.array("nodes", 0)[0] = 5
    assert folder.array("nodes", 0).tolist() == [0, 1, 2]
    assert folder.array("borrowed", 1).tolist() == [2, 5]
    assert folder.array("borrowed_parts", 1).tolist() == [0, 2]


def test_an_array_without_entries_is_one(shards: Path, forge: Forge) -> None:
    forge(shards, "part-0000/borrowed.npy", np.empty(0, dtype=np.int64))
    assert ShardFolder(shards).array("borrowed", 0).shape == (0,)


def test_the_files_of_a_part_and_those_of_all(shards: Path) -> None:
    files = ShardFolder(shards).files_of([2])
    names = {str(file.relative_to(shards)) for file in files}
    assert {"columns.npy", "names.json", "part-0002/nodes.npy"} <= names
    assert not any(name.startswith(("part-0000", "part-0001")) for name in names)
    assert set(files.values()) <= set(read_checksummed_json(shards / MANIFEST)["files"].values())


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("kind", ["float16", "int32", ">i8", "<f8", "U3", "M8[s]"])
def test_an_array_of_another_type_is_refused(shards: Path, forge: Forge, name: str, kind: str) -> None:
    sound = np.load(shards / name)
    if sound.dtype == np.dtype(kind):
        pytest.skip("that is its type")
    forge(shards, name, sound.astype(np.int64).astype(kind))
    with pytest.raises(CorruptFileError, match=rf"{Path(name).name}: corrupt, expected "):
        load_whole(ShardFolder(shards))


@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_of_other_dimensions_is_refused(shards: Path, forge: Forge, name: str) -> None:
    forge(shards, name, np.load(shards / name)[None])
    with pytest.raises(CorruptFileError, match=rf"{Path(name).name}: corrupt, expected .* dimensions"):
        load_whole(ShardFolder(shards))


@pytest.mark.parametrize("name", ["columns.npy", "part-0001/features.npy"])
def test_a_table_by_columns_is_refused(shards: Path, forge: Forge, name: str) -> None:
    forge(shards, name, np.asfortranarray(np.load(shards / name)))
    with pytest.raises(CorruptFileError, match=rf"{Path(name).name}: corrupt, expected .* by rows"):
        load_whole(ShardFolder(shards))


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
        load_whole(ShardFolder(shards))


@pytest.mark.parametrize("name", ARRAYS)
def test_a_header_that_claims_more_than_there_is_is_refused(shards: Path, name: str) -> None:
    content = (shards / name).read_bytes()
    (shards / name).write_bytes(content.replace(b"'shape': (", b"'shape': (9", 1))
    with pytest.raises(DataError, match=Path(name).name):
        load_whole(ShardFolder(shards))


@pytest.mark.parametrize("name", [*ARRAYS, "names.json"])
def test_a_file_that_is_missing_is_named(shards: Path, name: str) -> None:
    (shards / name).unlink()
    with pytest.raises(CorruptFileError, match=f"{Path(name).name}: missing, though {MANIFEST} names it"):
        load_whole(ShardFolder(shards))


def test_nodes_of_another_worker_that_are_missing_are_named(shards: Path) -> None:
    (shards / "part-0001/nodes.npy").unlink()
    with pytest.raises(CorruptFileError, match=r"nodes\.npy: missing"):
        check_shards(ShardFolder(shards), [0])
