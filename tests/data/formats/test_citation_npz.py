"""Citation archives: four papers, three citations, in both spellings of the keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from confgcn.data.formats.citation_npz import read_citation_npz
from confgcn.exceptions import CorruptFileError, DataError, UnsafeFileError
from confgcn.graph import Graph

ADJACENCY = sp.csr_matrix(([1.0, 1, 1], ([0, 0, 3], [1, 2, 2])), shape=(4, 4))
FEATURES = sp.csr_matrix([[0.5, 0], [0, 1], [2, 3], [0, 0]])


def read(
    folder: Path, *, adjacency: Any = ADJACENCY, prefixes: tuple[str, str] = ("adj_", "attr_"), **changes: Any
) -> Graph:
    arrays: dict[str, Any] = {"labels": np.array([0, 1, 1, 0])}
    for prefix, matrix in zip(prefixes, (adjacency, FEATURES), strict=True):
        parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "shape": matrix.shape}
        arrays.update({prefix + part: np.array(value) for part, value in parts.items()})
    path = folder / "papers.npz"
    np.savez(path, **{**arrays, **changes})
    return read_citation_npz(path, name="papers")


def test_edges_features_and_labels_are_read(tmp_path: Path) -> None:
    expected = Graph.build([(0, 1), (0, 2), (2, 3)], FEATURES, [0, 1, 1, 0])
    graph = read(tmp_path)
    assert graph.fingerprint == expected.fingerprint
    assert graph.name == "papers"
    assert graph.split_names() == [""] * 4


def test_both_spellings_of_the_keys_give_the_same_graph(tmp_path: Path) -> None:
    other = read(tmp_path, prefixes=("adj_matrix.", "attr_matrix."))
    assert other.fingerprint == read(tmp_path).fingerprint


def test_entries_that_are_not_needed_may_be_objects(tmp_path: Path) -> None:
    extra = {"idx_to_class": np.array({0: "a"}, dtype=object)}
    assert read(tmp_path, **extra).fingerprint == read(tmp_path).fingerprint


def test_a_needed_object_array_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsafeFileError, match=r"labels\.npy"):
        read(tmp_path, labels=np.array([0, 1, 1, None]))


def test_unsorted_and_duplicate_columns_change_no_byte(tmp_path: Path) -> None:
    unsorted = {"adj_data": np.ones(4), "adj_indices": np.array([2, 1, 2, 2]), "adj_indptr": np.array([0, 3, 3, 3, 4])}
    assert read(tmp_path, **unsorted).fingerprint == read(tmp_path).fingerprint


@pytest.mark.parametrize("shape", [(3, 4), (4, 5), (5, 5)], ids=["rows missing", "not square", "another size"])
def test_e22_an_adjacency_of_another_shape_is_refused_with_both_shapes(tmp_path: Path, shape: tuple[int, int]) -> None:
    with pytest.raises(DataError) as caught:
        read(tmp_path, adjacency=sp.csr_matrix(shape))
    assert str(shape) in str(caught.value)
    assert "(4, 2)" in str(caught.value)
    assert "papers.npz" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param({"adj_indptr": np.array([0, 2, 1, 2, 3])}, "adj: the row pointers", id="pointers fall"),
        pytest.param({"adj_indptr": np.array([0, 2, 2, 3])}, "4 rows of 3 entries", id="pointer missing"),
        pytest.param(
            {"adj_indptr": np.array([0, 2, 2, 2, 10**9])}, "adj: the row pointers", id="pointers past the end"
        ),
        pytest.param({"adj_indices": np.array([1, 2, 4])}, "adj: .*0 to 3, got 1 to 4", id="column too large"),
        pytest.param({"attr_indices": np.array([0, 1, -1, 1])}, "attr: .*0 to 1, got -1 to 1", id="column negative"),
        pytest.param({"adj_data": np.ones(2)}, "3 column indices but 2 values", id="value missing"),
        pytest.param({"adj_indices": np.array([1.5, 2, 2])}, "adj", id="columns not whole"),
        pytest.param({"adj_shape": np.array([4])}, "adj_shape has 1 numbers", id="one side"),
        pytest.param({"adj_shape": np.array([-1, 4]), "adj_indptr": np.array([], int)}, "adj", id="negative side"),
        pytest.param({"labels": np.array([0, 1])}, r"labels: .*\(4,\), got \(2,\)", id="label missing"),
        pytest.param({"labels": np.array([0, 0.5, 1, 1])}, "labels: .*float64", id="L06 labels not whole"),
        pytest.param({"labels": np.array(["a", "b", "a", "b"])}, "labels: .*<U1", id="L07 labels are text"),
        pytest.param({"attr_data": np.array([1, 2, np.nan, 3])}, "row 2, column 0 is NaN", id="X01"),
    ],
)
def test_bad_arrays_are_named(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError, match=words):
        read(tmp_path, **change)


def test_an_archive_of_something_else_lists_what_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "other.npz"
    np.savez(path, weights=np.ones(2), biases=np.ones(2))
    with pytest.raises(DataError, match=r"adj_data.*adj_matrix\.data.*found weights, biases"):
        read_citation_npz(path, name="other")


@pytest.mark.parametrize("raw", [b"", b"not a zip archive"])
def test_a_file_that_is_no_archive_is_corrupt(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "papers.npz"
    path.write_bytes(raw)
    with pytest.raises(CorruptFileError, match=r"papers\.npz: not a readable npz archive"):
        read_citation_npz(path, name="papers")


@pytest.mark.parametrize("value", [2.0, -1.0, 0.5, np.nan])
def test_weights_of_edges_are_not_silently_dropped(tmp_path: Path, value: float) -> None:
    weighted = ADJACENCY.copy()
    weighted.data[1] = value
    with pytest.raises(DataError, match=r"adjacency: row 0, column 2 is .*, expected 0 or 1"):
        read(tmp_path, adjacency=weighted)


def test_zeros_that_are_stored_are_no_edges(tmp_path: Path) -> None:
    stored = sp.csr_matrix(([1.0, 1, 0, 1], ([0, 0, 1, 3], [1, 2, 3, 2])), shape=(4, 4))
    assert read(tmp_path, adjacency=stored).fingerprint == read(tmp_path).fingerprint
