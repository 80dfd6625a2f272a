"""A memory-mapped graph equals the graph in memory, and a damaged one is refused with the name of the file."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from confgcn.data.formats.arrays import ArrayFolder, arrays_of_folder, read_array_folder
from confgcn.data.formats.registry import read_graph
from confgcn.data.formats.store import RECORD, check_store, open_store
from confgcn.data.formats.store_writing import write_store
from confgcn.data.formats.text_arrays import Numbers
from confgcn.data.inspection import inspection_notices
from confgcn.data.statistics import describe
from confgcn.exceptions import CorruptFileError, DataError, ResourceError, UnsafeFileError
from confgcn.graph import Graph
from confgcn.io import blocks
from confgcn.io.json_files import read_checksummed_json, write_checksummed_json


def same(one: Graph, other: Graph) -> bool:
    return one.fingerprint == other.fingerprint and one.edge_counts == other.edge_counts


@pytest.mark.parametrize("block", [1, 7, blocks.BLOCK])
def test_it_is_the_graph_that_memory_would_hold(
    array_folder: Path, tmp_path: Path, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = read_array_folder(array_folder).build()
    described = describe(expected)
    monkeypatch.setattr(blocks, "BLOCK", block)
    store = write_store(arrays_of_folder(ArrayFolder(array_folder)), tmp_path / "store")
    check_store(store)
    graph = open_store(store)
    assert same(graph, expected)
    assert tuple(graph.node_names) == tuple(f"n{number}" for number in range(11))
    assert describe(graph) == described
    assert inspection_notices(graph, describe(graph)) == inspection_notices(expected, described)


def test_names_are_not_kept_where_there_are_none(array_folder: Path, tmp_path: Path) -> None:
    (array_folder / "nodes.txt").unlink()
    graph = open_store(write_store(arrays_of_folder(ArrayFolder(array_folder)), tmp_path / "store"))
    assert isinstance(graph.node_names, Numbers)
    assert graph.fingerprint == read_array_folder(array_folder).build().fingerprint


def test_arrays_are_mapped_and_writing_to_a_tensor_changes_no_file(store: Path) -> None:
    before = {file: file.read_bytes() for file in store.iterdir()}
    graph = open_store(store)
    mapped = Path("/proc/self/maps").read_text()
    assert [name for name in ("features", "indices", "indptr", "labels") if f"{store}/{name}.npy" not in mapped] == []
    for tensor in (graph.features, graph.labels, graph.adjacency.indices, graph.adjacency.indptr):
        assert isinstance(tensor, torch.Tensor)
        tensor.zero_()
    assert {file: file.read_bytes() for file in store.iterdir()} == before


def test_a_mapped_graph_can_be_read_into_memory(store: Path) -> None:
    assert same(
        read_graph(store).build(), replace(open_store(store), edge_counts=read_graph(store).build().edge_counts)
    )


@pytest.mark.parametrize("name", ["indices", "features", "labels"])
def test_a_truncated_array_is_not_opened(store: Path, name: str) -> None:
    file = store / f"{name}.npy"
    file.write_bytes(file.read_bytes()[:-8])
    with pytest.raises(DataError, match=rf"{name}\.npy"):
        open_store(store)


def test_an_array_of_another_type_is_not_opened(store: Path) -> None:
    np.save(store / "labels.npy", np.zeros(11, dtype=np.int32))
    with pytest.raises(CorruptFileError, match=r"labels\.npy: corrupt, mapped\.json lists int64 \(11,\), .* int32"):
        open_store(store)


def test_an_array_of_objects_is_never_loaded(store: Path) -> None:
    np.save(store / "labels.npy", np.array([{}] * 11), allow_pickle=True)
    with pytest.raises(UnsafeFileError, match=r"labels\.npy"):
        open_store(store)


def test_a_missing_array_is_named(store: Path) -> None:
    (store / "test.npy").unlink()
    with pytest.raises(CorruptFileError, match=r"test\.npy: missing, though mapped\.json lists it"):
        open_store(store)


def test_a_pipe_is_not_waited_for(store: Path) -> None:
    (store / "test.npy").unlink()
    os.mkfifo(store / "test.npy")
    with pytest.raises(ResourceError, match=r"test\.npy: expected a file, found a pipe"):
        open_store(store)


def test_a_damaged_record_is_refused(store: Path) -> None:
    content = (store / RECORD).read_text()
    for damaged in ("", "{}", content[:-9], content.replace('"listed": 30', '"listed": 31')):
        (store / RECORD).write_text(damaged)
        with pytest.raises(CorruptFileError, match=RECORD):
            open_store(store)


@pytest.mark.parametrize(
    "change",
    [
        {"arrays": {}},
        {"arrays": 3},
        {"class_names": ["a", "a"]},
        {"feature_names": ["one"]},
        {"more": 1},
        {"edge_counts": {"listed": "many"}},
    ],
)
def test_a_record_that_describes_no_graph_is_refused(store: Path, change: dict[str, Any]) -> None:
    write_checksummed_json(store / RECORD, {**read_checksummed_json(store / RECORD), **change})
    with pytest.raises(DataError, match=RECORD):
        open_store(store)


def test_shapes_that_do_not_fit_are_refused(store: Path) -> None:
    record = read_checksummed_json(store / RECORD)
    for name in record["arrays"]:
        for shape in ([], [3], [2, 2, 2]):
            if name in ("indices", "train", "validation", "test", "name_bytes") and len(shape) == 1:
                continue
            changed = json.loads(json.dumps(record))
            changed["arrays"][name]["shape"] = shape
            write_checksummed_json(store / RECORD, changed)
            with pytest.raises(CorruptFileError, match="describes no graph"):
                open_store(store)


def altered(store: Path, name: str, array: Any) -> None:
    """Another array, with a record that says so."""
    np.save(store / f"{name}.npy", array)
    record = read_checksummed_json(store / RECORD)
    digest = hashlib.sha256((store / f"{name}.npy").read_bytes()).hexdigest()
    record["arrays"][name] = {"shape": list(np.shape(array)), "sha256": digest}
    write_checksummed_json(store / RECORD, record)


def test_a_sound_one_passes(store: Path) -> None:
    check_store(store)


@pytest.mark.parametrize("name", ["indices", "features", "labels", "train", "name_bytes"])
def test_a_flipped_bit_is_found_by_the_check(store: Path, name: str) -> None:
    file = store / f"{name}.npy"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(CorruptFileError, match=rf"{name}\.npy: corrupt, its checksum"):
        check_store(store)


def flawed(array: Any, *places: int, value: Any) -> Any:
    changed = np.array(array)
    changed[places] = value
    return changed


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("indices", 3, 11),
        ("indices", 3, -1),
        ("indices", 1, 0),
        ("indptr", 4, 0),
        ("indptr", 4, 10**6),
        ("labels", 0, 3),
        ("labels", 0, -2),
        ("train", 0, 11),
        ("train", 0, -1),
        ("features", 5, np.nan),
        ("name_ends", 2, 0),
        ("name_bytes", 0, 0xFF),
    ],
)
def test_numbers_that_would_lead_astray_are_found_though_checksums_match(
    store: Path, name: str, place: int, value: Any
) -> None:
    altered(store, name, flawed(np.load(store / f"{name}.npy"), place, value=value))
    with pytest.raises(DataError, match=rf"{name}\.npy"):
        check_store(store)
