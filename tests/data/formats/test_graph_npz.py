"""The archive of a graph holds everything exactly, and a damaged one is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from confgcn.data.formats.array_files import read_npz
from confgcn.data.formats.graph_npz import graph_npz_bytes, is_graph_npz, read_graph_npz
from confgcn.data.raw import RawGraph, raw_from_graph
from confgcn.exceptions import CorruptFileError, DataError
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
    "remarks": ("something",),
}


def written(folder: Path, **changes: Any) -> Path:
    path = folder / "graph.npz"
    path.write_bytes(graph_npz_bytes(RawGraph(**{**EVERYTHING, **changes})))
    return path


def altered(path: Path, **changes: Any) -> Path:
    arrays: dict[str, Any] = {**read_npz(path), **changes}
    np.savez(path, **{key: array for key, array in arrays.items() if array is not None})
    return path


def test_everything_comes_back(tmp_path: Path) -> None:
    raw = read_graph_npz(written(tmp_path))
    for key in ("name", "ids", "feature_names", "labels", "split", "class_names", "remarks"):
        assert getattr(raw, key) == EVERYTHING[key]
    assert raw.edges.tolist() == EVERYTHING["edges"].tolist()
    assert raw.features.dtype == np.float32
    assert raw.features.tobytes() == EVERYTHING["features"].tobytes()


def test_what_is_not_there_stays_away(tmp_path: Path) -> None:
    nothing = dict.fromkeys(["features", "feature_names", "labels", "split", "class_names"])
    raw = read_graph_npz(written(tmp_path, **nothing, remarks=(), edges=np.empty((0, 2), dtype=np.int64)))
    assert {key: getattr(raw, key) for key in nothing} == nothing
    assert raw.edges.shape == (0, 2)


def test_sparse_features_stay_sparse(tmp_path: Path) -> None:
    raw = read_graph_npz(written(tmp_path, features=sp.coo_matrix(EVERYTHING["features"])))
    assert sp.issparse(raw.features)
    assert raw.features.toarray().tolist() == EVERYTHING["features"].tolist()


def test_the_same_graph_has_the_same_bytes() -> None:
    assert graph_npz_bytes(RawGraph(**EVERYTHING)) == graph_npz_bytes(RawGraph(**EVERYTHING))


def test_ours_is_told_from_others(tmp_path: Path) -> None:
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
    with pytest.raises(CorruptFileError, match="lacks a part of the features"):
        read_graph_npz(altered(path, features_indptr=None))


def test_text_that_is_no_unicode_cannot_be_written() -> None:
    with pytest.raises(DataError, match=r"ids: .* cannot be written as UTF-8"):
        graph_npz_bytes(RawGraph(**{**EVERYTHING, "ids": ["a", "b", "\ud800"]}))


def test_edge_weights_are_kept(tmp_path: Path) -> None:
    graph = Graph.build([(0, 1), (2, 1)], np.eye(3), [0, 1, 0], train=[0, 1], edge_weight=[3.0, 0.5])
    path = tmp_path / "graph.npz"
    path.write_bytes(graph_npz_bytes(raw_from_graph(graph)))
    assert read_graph_npz(path).build().fingerprint == graph.fingerprint
