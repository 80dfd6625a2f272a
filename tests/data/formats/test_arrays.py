"""A folder of arrays is recognised, and every wrong array is named with its file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confgcn.data.formats import arrays
from confgcn.data.formats.arrays import ArrayFolder, arrays_of_folder, is_array_folder, read_array_folder
from confgcn.data.formats.parquet import parquet_bytes
from confgcn.data.formats.registry import read_graph
from confgcn.data.formats.table import TableOptions
from confgcn.exceptions import ConfGCNError, DataError, ResourceError, UnsafeFileError, UsageError

EDGES = np.array([[0, 1], [1, 2], [1, 2], [3, 3]])
Given = Callable[..., Path]


@pytest.fixture
def given(tmp_path: Path) -> Given:
    """A folder of four nodes, but for these files: an array, a text, or None for no file."""

    def made(**changes: Any) -> Path:
        folder = tmp_path / "mine"
        folder.mkdir()
        files = {"edges": EDGES, "features": np.eye(4, 2), "labels": np.array([0, 2, -1, 0]), **changes}
        for name, content in files.items():
            if isinstance(content, str):
                (folder / f"{name}.txt").write_text(content)
            elif isinstance(content, bytes):
                (folder / f"{name}.parquet").write_bytes(content)
            elif content is not None:
                np.save(folder / f"{name}.npy", content, allow_pickle=True)
        return folder

    return made


def test_a_folder_of_arrays_is_a_graph(given: Given) -> None:
    graph = read_graph(given()).build()
    assert (graph.name, graph.node_names, graph.class_names) == ("mine", ("0", "1", "2", "3"), ("0", "1", "2"))
    assert graph.labels.tolist() == [0, 2, -1, 0]
    assert graph.train.tolist() == [0, 1, 3]
    assert graph.edge_counts.duplicates == 1
    assert graph.edge_counts.loops == 1


@pytest.mark.parametrize(
    "split",
    [{"split": np.array([1, 2, 0, 3], dtype=np.int8)}, {"train": [0], "validation": [1], "test": [3]}],
    ids=["codes", "positions"],
)
def test_a_split_is_read_from_codes_or_positions(given: Given, split: dict[str, Any]) -> None:
    graph = read_graph(given(**split)).build()
    assert [part.tolist() for part in (graph.train, graph.validation, graph.test)] == [[0], [1], [3]]


def test_names_of_nodes_and_classes_are_lines(given: Given) -> None:
    graph = read_graph(given(nodes="n10\r\nn2\r\nn1\r\né\r\n", classes="cat\ndog\nemu")).build()
    assert graph.node_names == ("n1", "n2", "n10", "é")
    assert graph.class_names == ("cat", "dog", "emu")
    assert graph.labels.tolist() == [-1, 2, 0, 0]


def test_edges_may_be_two_columns(given: Given) -> None:
    columns = parquet_bytes({"a": EDGES[:, 0].astype(np.int32), "b": EDGES[:, 1].astype(np.uint64)})
    folder = given(edges=columns)
    assert read_graph(folder).edges.tolist() == EDGES.tolist()
    (folder / "nodes.parquet").write_bytes(b"")
    assert not is_array_folder(folder)  # but the tables that such a folder always was


@pytest.mark.parametrize("kind", ["i1", "u8", ">i4"])
def test_any_whole_numbers_are_positions(given: Given, kind: str) -> None:
    assert read_graph(given(edges=EDGES.astype(kind))).edges.tolist() == EDGES.tolist()


def test_no_edges_are_a_graph(given: Given) -> None:
    assert read_graph(given(edges=np.empty((0, 2), dtype=np.int64))).build().edge_counts.unique == 0


WRONG: list[tuple[dict[str, Any], type[ConfGCNError], str]] = [
    ({"edges": np.array([[0, 4]])}, DataError, r"edges\.npy.*row 0 names node 4.*0 to 3"),
    ({"edges": np.array([[0, -1]])}, DataError, r"edges\.npy.*row 0 names node -1"),
    ({"edges": EDGES.astype(float)}, DataError, r"edges\.npy.*whole numbers"),
    ({"edges": EDGES.T}, DataError, r"edges\.npy.*two columns"),
    ({"edges": np.array([{}, 1])}, UnsafeFileError, r"edges\.npy.*object array"),
    ({"edges": parquet_bytes({"a": ["0"], "b": ["1"]})}, DataError, r"edges\.parquet.*'a'.*whole numbers"),
    ({"edges": parquet_bytes({"a": EDGES[:, 0]})}, DataError, r"edges\.parquet.*two columns"),
    ({"edges": b"PAR1 nothing"}, DataError, r"edges\.parquet.*not a readable"),
    ({"labels": None}, ResourceError, r"labels\.npy: missing"),
    ({"labels": np.array([0.5, 1, 0, 0])}, DataError, r"labels\.npy.*whole numbers"),
    ({"labels": np.array([0, -100, 0, 0])}, DataError, r"labels\.npy.*node 1 has label -100"),
    ({"labels": np.empty(0, dtype=int)}, DataError, r"labels\.npy.*no nodes"),
    ({"labels": np.zeros((4, 1), dtype=int)}, DataError, r"labels\.npy.*one per node"),
    ({"classes": "cat\n"}, DataError, r"labels\.npy.*node 1 has label 2"),
    ({"classes": "cat\ncat\ndog\n"}, DataError, r"classes\.txt.*'cat' occurs twice"),
    ({"nodes": "a\nb\n"}, DataError, r"nodes\.txt.*expected 4, got 2"),
    ({"features": np.eye(3)}, DataError, r"features\.npy.*one row per node"),
    ({"features": np.array(["a"] * 4)[:, None]}, DataError, r"features\.npy.*expected numbers"),
    ({"split": np.array([1, 2, 0, 4])}, DataError, r"split\.npy: node 3 has 4, expected 0 for none, 1 for train"),
    ({"split": np.array([1, 2, 0])}, DataError, r"split\.npy.*one whole number per node"),
    ({"split": np.array([1, 1, 1, 0])}, DataError, r"split\.npy.*train: 1 nodes have no label"),
    ({"train": [0], "test": [0]}, DataError, "share 1 nodes"),
    ({"train": [9]}, DataError, r"train\.npy.*0 to 3"),
    ({"train": [0], "split": np.zeros(4, dtype=int)}, DataError, r"split\.npy or in train\.npy"),
]


@pytest.mark.parametrize(("changes", "error", "message"), WRONG)
def test_what_is_wrong_is_named_with_its_file(
    given: Given, changes: dict[str, Any], error: type[ConfGCNError], message: str
) -> None:
    folder = given(**changes)
    with pytest.raises(error, match=message):
        read_graph(folder)
    with pytest.raises(error, match=message):
        list(arrays_of_folder(ArrayFolder(folder)).edges())


def test_a_row_that_is_wrong_is_counted_from_the_first_block(given: Given, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("confgcn.io.blocks.BLOCK", 2)
    with pytest.raises(DataError, match=r"row 3 names node 9.*1 such rows in rows 3 to 3"):
        read_graph(given(edges=np.array([[0, 1], [1, 2], [1, 2], [9, 3]])))


@pytest.mark.parametrize("name", ["nodes.csv", "features.npz", "edges.csv", "edges.parquet"])
def test_two_forms_of_one_thing_are_refused(given: Given, name: str) -> None:
    folder = given()
    (folder / name).write_text("")
    with pytest.raises(DataError, match=name):
        read_graph(folder)


def test_options_about_columns_have_no_meaning(given: Given) -> None:
    with pytest.raises(UsageError, match="are for tables"):
        read_graph(given(), TableOptions(label="x"))


def test_without_features_they_are_computed_or_required(given: Given) -> None:
    folder = given(features=None)
    assert read_array_folder(folder).build(["degree"]).num_features > 0
    with pytest.raises(DataError, match=r"no features\.npy; --add-features"):
        arrays_of_folder(ArrayFolder(folder))


@pytest.mark.parametrize(("most", "file"), [(63, "edges"), (64, "features")])
def test_what_is_too_large_for_memory_is_to_be_mapped(
    given: Given, monkeypatch: pytest.MonkeyPatch, most: int, file: str
) -> None:
    monkeypatch.setattr(arrays, "MAX_BYTES", most)
    folder = given(features=np.ones((4, 30)))
    with pytest.raises(DataError, match=rf"{file}\.npy.*--mapped"):
        read_graph(folder)
