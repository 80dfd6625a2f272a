"""The archive of a graph holds everything exactly, and a damaged one is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from confgcn.data.formats.array_files import read_npz
from confgcn.data.formats.npz import graph_npz_bytes, is_graph_npz, read_citation_npz, read_graph_npz
from confgcn.data.raw import RawGraph, raw_from_graph
from confgcn.exceptions import CorruptFileError, DataError, UnsafeFileError
from confgcn.graph import Graph

EVERYTHING: dict[str, Any] = {
    "name": "a graph",
    "ids": ["a\0", "", "é\n"],
    "edges": np.array([[0, 1], [2, 0], [2, 0]]),
    "features": np.array([[0.1, -0.0], [1, 2], [3, 4]], dtype=np.float32),
    "feature_names": ["x=\0", ""],
    "labels": ["b", None, " "],
    "split": ["train", "", "test"],
    "class_names": ["unused", "b", " "],
    "notices": ("something",),
}


def written(folder: Path, **changes: Any) -> Path:
    path = folder / "graph.npz"
    path.write_bytes(graph_npz_bytes(RawGraph(**{**EVERYTHING, **changes})))
    return path


def altered(path: Path, **changes: Any) -> Path:
    arrays: dict[str, Any] = {**read_npz(path), **changes}
    np.savez(path, **{key: array for key, array in arrays.items() if array is not None})
    return path


def test_everything_is_read_back(tmp_path: Path) -> None:
    raw = read_graph_npz(written(tmp_path))
    for key in ("name", "ids", "feature_names", "labels", "split", "class_names", "notices"):
        assert getattr(raw, key) == EVERYTHING[key]
    assert raw.edges.tolist() == EVERYTHING["edges"].tolist()
    assert raw.features.dtype == np.float32
    assert raw.features.tobytes() == EVERYTHING["features"].tobytes()


def test_what_is_not_there_stays_away(tmp_path: Path) -> None:
    nothing = dict.fromkeys(["features", "feature_names", "labels", "split", "class_names"])
    raw = read_graph_npz(written(tmp_path, **nothing, notices=(), edges=np.empty((0, 2), dtype=np.int64)))
    assert {key: getattr(raw, key) for key in nothing} == nothing
    assert raw.edges.shape == (0, 2)


def test_sparse_features_stay_sparse(tmp_path: Path) -> None:
    raw = read_graph_npz(written(tmp_path, features=sp.coo_matrix(EVERYTHING["features"])))
    assert sp.issparse(raw.features)
    assert raw.features.toarray().tolist() == EVERYTHING["features"].tolist()


def test_the_same_graph_has_the_same_bytes() -> None:
    assert graph_npz_bytes(RawGraph(**EVERYTHING)) == graph_npz_bytes(RawGraph(**EVERYTHING))


def test_own_archives_are_recognised(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", a=np.ones(2))
    assert is_graph_npz(written(tmp_path))
    assert not is_graph_npz(tmp_path / "other.npz")


def test_s09_another_version_is_named(tmp_path: Path) -> None:
    with pytest.raises(CorruptFileError, match="of version 2, this program reads version 1"):
        read_graph_npz(altered(written(tmp_path), confgcn_graph=np.array(2)))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param({"edges": None}, "lacks edges", id="no edges"),
        pytest.param({"ids_bytes": None}, "lacks ids", id="no ids"),
        pytest.param({"ids_ends": None}, "texts of ids are damaged", id="no ends"),
        pytest.param({"ids_ends": np.array([2, 1, 5])}, "texts of ids are damaged", id="ends that fall"),
        pytest.param({"ids_ends": np.array([0, 1, 2])}, "texts of ids are damaged", id="ends too early"),
        pytest.param({"ids_ends": np.array([3, 3, 5])}, "texts of ids are not UTF-8", id="cut inside a letter"),
        pytest.param({"labels": np.array([0, 1, 2])}, "labels must be whole numbers from -1 to 1", id="label"),
        pytest.param({"split": np.array([0, -1, 0])}, "split must be whole numbers from 0 to 3", id="split"),
    ],
)
def test_what_does_not_fit_together_is_corrupt(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(CorruptFileError, match=rf"graph\.npz: .*{words}"):
        read_graph_npz(altered(written(tmp_path), **changes))


def test_half_of_a_sparse_matrix_is_corrupt(tmp_path: Path) -> None:
    path = written(tmp_path, features=sp.csr_matrix(np.eye(3)), feature_names=None)
    with pytest.raises(CorruptFileError, match="features are incomplete"):
        read_graph_npz(altered(path, features_indptr=None))


def test_text_that_is_no_unicode_cannot_be_written() -> None:
    with pytest.raises(DataError, match=r"ids: .* cannot be written as UTF-8"):
        graph_npz_bytes(RawGraph(**{**EVERYTHING, "ids": ["a", "b", "\ud800"]}))


def test_edge_weights_are_kept(tmp_path: Path) -> None:
    graph = Graph.build([(0, 1), (2, 1)], np.eye(3), [0, 1, 0], train=[0, 1], edge_weight=[3.0, 0.5])
    path = tmp_path / "graph.npz"
    path.write_bytes(graph_npz_bytes(raw_from_graph(graph)))
    assert read_graph_npz(path).build().fingerprint == graph.fingerprint


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
