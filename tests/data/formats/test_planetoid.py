"""Planetoid files, written as Python 2 wrote them, on nine papers with one number missing from test.index."""

from __future__ import annotations

import pickle
import struct
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from confgcn.data.formats import planetoid_pickle
from confgcn.data.formats.planetoid import read_planetoid
from confgcn.exceptions import CorruptFileError, DataError
from confgcn.graph import Graph
from confgcn.sparse import SparseMatrix

NEIGHBOURS = {0: [1, 5], 1: [0, 2], 2: [1], 3: [4, 4], 4: [3, 4], 5: [0, 6], 6: [5], 7: [], 8: [2]}
ONE_HOT = np.array([[1, 0], [0, 1], [1, 0], [0, 1], [0, 0]], dtype=np.int32)
ALL_X = sp.csr_matrix([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1]])
TEST_INDEX = [8, 5, 6]  # 7 is missing
TEST_X = sp.csr_matrix([[8.0, 0, 0], [0, 5, 0], [0, 0, 6]])
TEST_Y = np.array([[0, 1], [1, 0], [1, 0]], dtype=np.int32)


class Python2Pickler(pickle._Pickler):
    """Writes bytes as Python 2 did, as a string without a global."""

    def save_bytes(self, raw: bytes) -> None:
        self.write(pickle.BINSTRING + struct.pack("<i", len(raw)) + raw)
        self.memoize(raw)

    dispatch = {**pickle._Pickler.dispatch, bytes: save_bytes}  # noqa: RUF012


def read(folder: Path, *, test_index: list[Any] = TEST_INDEX, **changes: Any) -> Graph:
    parts = {"x": ALL_X[:2], "y": ONE_HOT[:2], "allx": ALL_X, "ally": ONE_HOT, "tx": TEST_X, "ty": TEST_Y}
    parts["graph"] = defaultdict(list, NEIGHBOURS)
    for part, value in {**parts, **changes}.items():
        with (folder / f"ind.tiny.{part}").open("wb") as stream:
            Python2Pickler(stream, protocol=2).dump(value)
    (folder / "ind.tiny.test.index").write_text("".join(f"{number}\n" for number in test_index))
    return read_planetoid(folder, "tiny", validation_size=2)


def test_edges_come_from_the_dictionary(tmp_path: Path) -> None:
    graph = read(tmp_path)
    rows, columns = graph.adjacency.rows.tolist(), graph.adjacency.indices.tolist()
    once = [(source, target) for source, target in zip(rows, columns, strict=True) if source < target]
    assert once == [(0, 1), (0, 5), (1, 2), (2, 8), (3, 4), (5, 6)]
    assert (graph.edge_counts.listed, graph.edge_counts.duplicates, graph.edge_counts.loops) == (13, 1, 1)


def test_the_split_is_the_public_one(tmp_path: Path) -> None:
    graph = read(tmp_path)
    assert graph.train.tolist() == [0, 1]
    assert graph.validation.tolist() == [2, 3]
    assert graph.test.tolist() == [5, 6, 8]


def test_test_rows_stand_at_their_numbers_and_the_missing_node_is_empty(tmp_path: Path) -> None:
    graph = read(tmp_path)
    assert graph.labels.tolist() == [0, 1, 0, 1, -1, 0, 0, -1, 1]
    assert graph.class_names == ("0", "1")
    assert isinstance(graph.features, SparseMatrix)
    assert graph.features.row_sums().tolist() == [1, 1, 1, 2, 2, 5, 6, 0, 8]
    assert graph.features.structure.indices[-3:].tolist() == [1, 2, 0]


def test_order_of_test_rows_dictionary_and_lists_changes_no_byte(tmp_path: Path) -> None:
    order = [2, 0, 1]
    shuffled = read(
        tmp_path,
        tx=TEST_X[order],
        ty=TEST_Y[order],
        test_index=[TEST_INDEX[row] for row in order],
        graph={node: NEIGHBOURS[node][::-1] for node in reversed(NEIGHBOURS)},
    )
    assert shuffled.fingerprint == read(tmp_path).fingerprint


@pytest.mark.parametrize("change", [{"tx": TEST_X[::-1]}, {"ty": TEST_Y[::-1]}, {"test_index": TEST_INDEX[::-1]}])
def test_order_of_test_rows_alone_matters(tmp_path: Path, change: dict[str, Any]) -> None:
    assert read(tmp_path, **change).fingerprint != read(tmp_path).fingerprint


def test_a_node_that_only_the_dictionary_names_is_part_of_the_graph(tmp_path: Path) -> None:
    graph = read(tmp_path, graph={**NEIGHBOURS, 9: [0]})
    assert graph.num_nodes == 10
    assert graph.labels[9] == -1


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        pytest.param({"test_index": [8, 5]}, "test.index differ, 3 and 2", id="test.index too short"),
        pytest.param({"test_index": [8, 5, 5]}, "test.index", id="test.index repeats"),
        pytest.param({"test_index": [8, 5, "six"]}, "'six'", id="test.index is text"),
        pytest.param({"test_index": [8, 5, -6]}, "-6", id="test.index is negative"),
        pytest.param({"ally": ONE_HOT[:4]}, "ally", id="ally too short"),
        pytest.param({"tx": TEST_X[:, :2]}, "tx", id="tx too narrow"),
        pytest.param({"graph": np.eye(2)}, "graph", id="graph is an array"),
    ],
)
def test_files_that_contradict_each_other_are_corrupt(tmp_path: Path, change: dict[str, Any], problem: str) -> None:
    with pytest.raises(CorruptFileError, match=problem) as caught:
        read(tmp_path, **change)
    assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize(("target", "problem"), [(-1, "names node -1"), (99, "names node 99")])
def test_neighbours_that_are_no_nodes_are_named(tmp_path: Path, target: int, problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        read(tmp_path, graph={**NEIGHBOURS, 0: [target]})


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        pytest.param({"ally": ONE_HOT.ravel()}, r"ind\.tiny\.ally: expected a row per node.*\(10,\)", id="one side"),
        pytest.param({"ally": ONE_HOT[:, :0]}, r"ally: expected a row per node.*\(5, 0\)", id="no class"),
        pytest.param({"ty": TEST_Y * 2}, r"ind\.tiny\.ty: row 0, column 1 is 2, expected 0 or 1", id="two"),
        pytest.param({"ty": TEST_Y * np.nan}, r"ty: row 0, column 0 is nan, expected 0 or 1", id="not a number"),
        pytest.param({"ty": TEST_Y | 1}, r"ind\.tiny\.ty: row 0 has 2 classes, expected one at most", id="two classes"),
        pytest.param({"graph": {0: 5}}, r"ind\.tiny\.graph: '0' names node 5, expected a list", id="no list"),
        pytest.param({"graph": {0: ["1"]}}, "'0' names a str, expected a list of whole numbers", id="a text"),
        pytest.param({"graph": {0: [True]}}, "'0' names a bool", id="a truth value"),
        pytest.param({"graph": {0: [1.0]}}, "'0' names a float", id="a float"),
        pytest.param({"graph": {"a" * 999: [1]}}, "'a{50}' names a str", id="a key that is no number"),
        pytest.param({"graph": {-1: [1]}}, "'-1' names node -1", id="a key below zero"),
        pytest.param({"graph": {0: [77]}}, "graph: node 0 names node 77, but the last is 8", id="too large"),
        pytest.param({"graph": {10**9: []}}, "node 1000000000 is named, but only 8 have features", id="far too large"),
        pytest.param({"test_index": [4, 5, 6]}, "allx has 5 rows, test.index must name nodes from 5 on", id="overlap"),
        pytest.param({"y": 1 - ONE_HOT[:2]}, "y does not hold the first rows of ally", id="another y"),
        pytest.param({"x": ALL_X[1:3]}, "x does not hold the first rows of allx", id="another x"),
    ],
)
def test_files_of_another_form_are_corrupt(tmp_path: Path, change: dict[str, Any], problem: str) -> None:
    with pytest.raises(CorruptFileError, match=problem):
        read(tmp_path, **change)


def test_x_may_be_stored_in_another_way(tmp_path: Path) -> None:
    stored = ALL_X[:2].copy()
    stored.data, stored.indices, stored.indptr = np.array([0.5, 0.5, 1.0]), np.array([0, 0, 1]), np.array([0, 2, 3])
    assert read(tmp_path, x=stored).fingerprint == read(tmp_path).fingerprint


def test_validation_nodes_end_before_the_test_nodes_begin(tmp_path: Path) -> None:
    read(tmp_path, ally=np.eye(2, dtype=np.int32)[[0, 1, 0, 1, 1]])
    assert read_planetoid(tmp_path, "tiny", validation_size=500).validation.tolist() == [2, 3, 4]


def test_a_large_list_of_test_nodes_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read(tmp_path)
    largest = max(file.stat().st_size for file in tmp_path.iterdir())
    (tmp_path / "ind.tiny.test.index").write_text("8\n5\n6\n" + "\n" * largest)
    monkeypatch.setattr(planetoid_pickle, "MAX_FILE_BYTES", largest)
    with pytest.raises(DataError, match=rf"test\.index: larger than {largest} bytes"):
        read_planetoid(tmp_path, "tiny")


def test_one_shared_list_of_neighbours_is_not_multiplied_in_memory(tmp_path: Path) -> None:
    """Fourteen kilobytes could ask for millions of edges."""
    shared = [0] * 2_000
    with pytest.raises(CorruptFileError, match=r"ind\.tiny\.graph: names 4,000,000 neighbours"):
        read(tmp_path, graph=defaultdict(list, dict.fromkeys(range(2_000), shared)))
