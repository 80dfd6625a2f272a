"""A memory-mapped graph is written completely or not at all, and replaces another one only on request."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from confgcn.data.formats.arrays import ArrayFolder, arrays_of_folder
from confgcn.data.formats.store import is_store, open_store, store_sha256
from confgcn.data.formats.store_writing import GraphArrays, arrays_of_graph, write_store
from confgcn.exceptions import DataError, ResourceError, UsageError
from confgcn.graph import Graph


def left_in(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


def test_the_same_graph_has_the_same_bytes(arrays: GraphArrays, store: Path, tmp_path: Path) -> None:
    other = write_store(arrays, tmp_path / "other")
    assert store_sha256(other) == store_sha256(store)
    assert is_store(store)
    assert not is_store(tmp_path / "arrays")


def test_a_graph_in_memory_can_be_mapped_too(small_graph: Graph, six_nodes: Graph, tmp_path: Path) -> None:
    for graph in (replace(small_graph, reader_notices=("odd",)), six_nodes):
        opened = open_store(write_store(arrays_of_graph(graph), tmp_path / graph.name))
        assert opened.fingerprint == graph.fingerprint
        assert opened.reader_notices == graph.reader_notices


def test_sparse_features_become_dense(tmp_path: Path) -> None:
    graph = Graph.build([(0, 1)], sp.csr_matrix(np.eye(3)), [0, 1, -1], train=[0, 1])
    opened = open_store(write_store(arrays_of_graph(graph), tmp_path / "store"))
    assert opened.features.tolist() == np.eye(3).tolist()  # type: ignore[union-attr]


def test_an_existing_graph_is_replaced_only_on_request(arrays: GraphArrays, store: Path, tmp_path: Path) -> None:
    before = store_sha256(store)
    with pytest.raises(UsageError, match="exists already"):
        write_store(arrays, store)
    write_store(replace(arrays, name="another"), store, overwrite=True)
    assert store_sha256(store) != before
    assert left_in(tmp_path) == {"arrays", "store"}
    with pytest.raises(UsageError, match="is not a memory-mapped graph"):
        write_store(arrays, tmp_path / "arrays", overwrite=True)
    (tmp_path / "link").symlink_to(store)
    with pytest.raises(UsageError, match="is not a memory-mapped graph"):
        write_store(arrays, tmp_path / "link", overwrite=True)


@pytest.mark.parametrize("change", [{"edges": [[0, 99]]}, {"features": np.full((11, 4), np.inf)}])
def test_bad_input_leaves_nothing_behind(array_folder: Path, tmp_path: Path, change: dict[str, Any]) -> None:
    for name, array in change.items():
        np.save(array_folder / f"{name}.npy", array)
    with pytest.raises(DataError, match=r"row 0"):
        write_store(arrays_of_folder(ArrayFolder(array_folder)), tmp_path / "store")
    assert left_in(tmp_path) == {"arrays"}


def test_what_a_killed_process_left_is_removed(arrays: GraphArrays, tmp_path: Path) -> None:
    (tmp_path / "store.999999999.tmp").mkdir()
    write_store(arrays, tmp_path / "store")
    assert left_in(tmp_path) == {"arrays", "store"}


def test_a_full_disk_is_reported_before_anything_is_written(
    arrays: GraphArrays, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Usage:
        free = 10

    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage)
    with pytest.raises(ResourceError, match=r"needs up to [\d,]+ bytes of disk space, 10 are free"):
        write_store(arrays, tmp_path / "store")
    assert left_in(tmp_path) == {"arrays"}


def test_a_graph_with_edge_weights_is_refused() -> None:
    graph = Graph.build([(0, 1)], np.eye(2), [0, 1], edge_weight=[2.0])
    with pytest.raises(UsageError, match=r"edge weights cannot be written as a store; write an \.npz archive"):
        arrays_of_graph(graph)
