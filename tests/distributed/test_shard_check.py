"""Numbers that would lead astray are found though all checksums fit, by the name of their file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confgcn.distributed.shard_check import check_shards, owners_of_nodes
from confgcn.distributed.shard_files import MANIFEST, ShardFolder
from confgcn.exceptions import CorruptFileError, DataError
from confgcn.io.json_files import read_checksummed_json, write_checksummed_json

Forge = Callable[[Path, str, Any], None]
LEAST, MOST = -(2**63), 2**63 - 1


def check(folder: Path, *shards: int) -> None:
    check_shards(ShardFolder(folder), shards or (0, 1, 2))


def test_sound_ones_pass(shards: Path, sparse_shards: Path) -> None:
    check(shards)
    check(sparse_shards)
    assert owners_of_nodes(ShardFolder(shards)).tolist() == [0, 0, 0, 1, 1, 2]


def test_a_shard_is_checked_once(shards: Path, forge: Forge) -> None:
    folder = ShardFolder(shards)
    check_shards(folder, [0])
    (shards / "shard-0000/indices.npy").unlink()
    check_shards(folder, [0, 1])
    with pytest.raises(CorruptFileError, match=r"shard-0000/indices\.npy"):
        check(shards, 0)


def int64(*numbers: int) -> Any:
    return np.array(numbers, dtype=np.int64)


@pytest.mark.parametrize(
    ("name", "array", "problem"),
    [
        ("nodes", int64(4, 3), "nodes.npy: corrupt, expected numbers from 0 to 5"),
        ("nodes", int64(3, 3), "nodes.npy: corrupt, expected numbers from 0 to 5"),
        ("nodes", int64(-1, 4), "nodes.npy: corrupt, expected numbers from 0 to 5"),
        ("nodes", int64(3, 6), "nodes.npy: corrupt, expected numbers from 0 to 5"),
        ("nodes", int64(MOST, LEAST), "nodes.npy: corrupt, expected numbers from 0 to 5"),
        ("nodes", int64(2, 4), "nodes.npy: corrupt, it holds a node of another shard"),
        ("nodes", int64(4), "shape"),
        ("nodes", int64(), "shape"),
        ("indptr", int64(1, 3, 6), "indptr.npy: corrupt, it does not describe 6 entries"),
        ("indptr", int64(0, 3, 7), "indptr.npy: corrupt, it does not describe 6 entries"),
        ("indptr", int64(0, 7, 6), "indptr.npy: corrupt, it does not describe 6 entries"),
        ("indptr", int64(0, -1, 6), "indptr.npy: corrupt, it does not describe 6 entries"),
        ("indptr", int64(0, 6, 6), "indices.npy: corrupt, expected numbers from 0 to 5, sorted"),
        ("indptr", int64(0, 3, 3, 6), "indptr.npy: corrupt, expected the shape"),
        ("indices", int64(2, 3, 4, 3, 4, 6), "indices.npy: corrupt, expected numbers from 0 to 5"),
        ("indices", int64(-1, 3, 4, 3, 4, 5), "indices.npy: corrupt, expected numbers from 0 to 5"),
        ("indices", int64(3, 2, 4, 3, 4, 5), "indices.npy: corrupt, expected numbers from 0 to 5, sorted"),
        ("indices", int64(2, 3, 3, 3, 4, 5), "indices.npy: corrupt, expected numbers from 0 to 5, sorted"),
        ("indices", int64(2, 4, 5, 3, 4, 5), "indices.npy: corrupt, 1 nodes have no self loop"),
        ("indices", int64(1, 3, 4, 3, 4, 5), "halo_nodes.npy: corrupt, it lacks a node that an edge comes from"),
        ("indices", int64(0, 3, 4, 2, 4, 5), "halo_nodes.npy: corrupt, it lacks a node that an edge comes from"),
        ("indices", int64(2, 3, 4, 2, 3, 4), "halo_nodes.npy: corrupt, it holds a node that no edge comes from"),
        ("halo_nodes", int64(5, 2), "halo_nodes.npy: corrupt, expected numbers from 0 to 5"),
        ("halo_nodes", int64(2, 6), "halo_nodes.npy: corrupt, expected numbers from 0 to 5"),
        ("halo_nodes", int64(-4, 5), "halo_nodes.npy: corrupt, expected numbers from 0 to 5"),
        ("halo_nodes", int64(2, 2), "halo_nodes.npy: corrupt, expected numbers from 0 to 5"),
        ("halo_nodes", int64(1, 5), "halo_nodes.npy: corrupt, it lacks a node"),
        ("halo_shards", int64(2, 0), "halo_shards.npy: corrupt, these shards do not hold the nodes"),
        ("halo_shards", int64(0, 3), "halo_shards.npy: corrupt, these shards do not hold the nodes"),
        ("halo_shards", int64(0, 65538), "halo_shards.npy: corrupt, these shards do not hold the nodes"),
        ("halo_shards", int64(0), "halo_shards.npy: corrupt, expected the shape"),
        ("labels", int64(2, -1), "labels.npy: corrupt, labels are from -1 to 1"),
        ("labels", int64(-2, -1), "labels.npy: corrupt, labels are from -1 to 1"),
        ("labels", int64(-1, -1), "split.npy: corrupt, not a split of the labelled nodes"),
        ("labels", int64(1), "labels.npy: corrupt, expected the shape"),
        ("split", np.array([4, 0], dtype=np.int8), "split.npy: corrupt, not a split"),
        ("split", np.array([-1, 0], dtype=np.int8), "split.npy: corrupt, not a split"),
        ("split", np.array([3, 1], dtype=np.int8), "split.npy: corrupt, not a split"),
        ("split", np.array([3], dtype=np.int8), "split.npy: corrupt, expected the shape"),
        ("features", np.array([[0, np.nan], [1, 1]], dtype=np.float32), "features.npy: features: row 0, column 1"),
        ("features", np.array([[0, 1], [-np.inf, 1]], dtype=np.float32), "features.npy: features: row 1, column 0"),
        ("features", np.zeros((2, 3), dtype=np.float32), "features.npy: corrupt, expected the shape"),
        ("features", np.zeros((3, 2), dtype=np.float32), "features.npy: corrupt, expected the shape"),
    ],
    ids=lambda value: str(getattr(value, "tolist", lambda: value)())[:30],
)
def test_an_invalid_array_is_named(shards: Path, forge: Forge, name: str, array: Any, problem: str) -> None:
    forge(shards, f"shard-0001/{name}.npy", array)
    with pytest.raises(DataError, match=problem.replace(".", r"\.")):
        check(shards)


@pytest.mark.parametrize(
    ("name", "array", "problem"),
    [
        ("indptr", int64(0, 0, 3), "feature_indptr.npy: corrupt, it does not describe 2 entries"),
        ("indptr", int64(0, 3, 2), "feature_indptr.npy: corrupt, it does not describe 2 entries"),
        ("indptr", int64(0, 2), "feature_indptr.npy: corrupt, expected the shape"),
        ("indices", int64(0, 2), "feature_indices.npy: corrupt, expected numbers from 0 to 1"),
        ("indices", int64(-1, 1), "feature_indices.npy: corrupt, expected numbers from 0 to 1"),
        ("indices", int64(1, 0), "feature_indices.npy: corrupt, expected numbers from 0 to 1, sorted"),
        ("indices", int64(1, 1), "feature_indices.npy: corrupt, expected numbers from 0 to 1, sorted"),
        ("values", np.array([1, np.nan], dtype=np.float32), "feature_values.npy: corrupt, a value is not a finite"),
        ("values", np.array([np.inf, 1], dtype=np.float32), "feature_values.npy: corrupt, a value is not a finite"),
        ("values", np.zeros(3, dtype=np.float32), "feature_values.npy: corrupt, expected the shape"),
    ],
    ids=lambda value: str(getattr(value, "tolist", lambda: value)())[:30],
)
def test_sparse_features(sparse_shards: Path, forge: Forge, name: str, array: Any, problem: str) -> None:
    """Of nodes 3 and 4, the first has none and the second two."""
    forge(sparse_shards, f"shard-0001/feature_{name}.npy", array)
    with pytest.raises(CorruptFileError, match=problem.replace(".", r"\.")):
        check(sparse_shards)


@pytest.mark.parametrize(
    "columns",
    [np.zeros((2, 3)), np.zeros((3, 2)), np.full((2, 2), np.nan), np.full((2, 2), np.inf), np.full((2, 2), -1.0)],
    ids=["wide", "long", "NaN", "infinite", "negative"],
)
def test_columns_that_are_no_means_and_deviations(shards: Path, forge: Forge, columns: Any) -> None:
    forge(shards, "columns.npy", columns)
    with pytest.raises(CorruptFileError, match=r"columns\.npy: corrupt"):
        check(shards, 0)


def test_a_shard_without_nodes(shards: Path, forge: Forge) -> None:
    for name in ("nodes", "labels", "halo_nodes", "halo_shards", "indices"):
        forge(shards, f"shard-0002/{name}.npy", int64())
    forge(shards, "shard-0002/split.npy", np.empty(0, dtype=np.int8))
    forge(shards, "shard-0002/features.npy", np.empty((0, 2), dtype=np.float32))
    forge(shards, "shard-0002/indptr.npy", int64(0))
    with pytest.raises(CorruptFileError, match=r"nodes\.npy: corrupt, a shard without nodes"):
        check(shards, 2)


@pytest.mark.parametrize("halo_nodes", [int64(), int64(2)])
def test_a_shard_with_too_few_halo_nodes(shards: Path, forge: Forge, halo_nodes: Any) -> None:
    forge(shards, "shard-0001/halo_nodes.npy", halo_nodes)
    forge(shards, "shard-0001/halo_shards.npy", 0 * halo_nodes)
    with pytest.raises(CorruptFileError, match=r"halo_nodes\.npy: corrupt, it lacks a node"):
        check(shards, 1)


@pytest.mark.parametrize("number", [5, 7, 99_999_999])
def test_the_number_of_nodes_is_checked_before_memory_is_allocated(shards: Path, number: int) -> None:
    write_checksummed_json(shards / MANIFEST, {**read_checksummed_json(shards / MANIFEST), "num_nodes": number})
    with pytest.raises(CorruptFileError, match=f"{MANIFEST}: corrupt, {number} nodes, 6 in the shards"):
        check(shards)


@pytest.mark.parametrize("nodes", [int64(4), int64(6), int64(-1)])
def test_a_worker_checks_the_nodes_of_other_shards_too(shards: Path, forge: Forge, nodes: Any) -> None:
    """Its halo rows are fetched from their owners."""
    forge(shards, "shard-0002/nodes.npy", nodes)
    with pytest.raises(CorruptFileError, match=r"shard-0002/nodes\.npy"):
        check(shards, 0)


@pytest.mark.parametrize("name", ["columns.npy", "shard-0001/nodes.npy", "shard-0001/features.npy", "names.json"])
def test_a_checksum_that_does_not_fit(shards: Path, name: str) -> None:
    file = shards / name
    content = file.read_bytes()
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(CorruptFileError, match=f"{file.name}: corrupt, its checksum"):
        check(shards, 1)
    if file.name == "features.npy":
        check(shards, 0)  # whose file it is not
