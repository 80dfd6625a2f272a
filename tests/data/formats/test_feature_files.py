"""A matrix beside the tables is checked before it is believed, and joined by id."""

from __future__ import annotations

import io
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from confgcn.data.formats import array_files, feature_files
from confgcn.data.formats.feature_files import NodeFeatures, read_node_features
from confgcn.exceptions import CorruptFileError, DataError, UnsafeFileError

NUMBERS = np.array([[1.0, 0.0], [0.5, 2.0], [0.0, 3.0]])


def saved(folder: Path, array: Any) -> Path:
    np.save(folder / "features.npy", array)
    return folder / "features.npy"


def archived(folder: Path, **arrays: Any) -> Path:
    np.savez(folder / "features.npz", **arrays)
    return folder / "features.npz"


@pytest.mark.parametrize("dtype", ["<f4", ">f4", "f2", "f8", ">f8"])
def test_x10_floats_of_every_kind_are_the_same_numbers(tmp_path: Path, dtype: str) -> None:
    found = read_node_features(saved(tmp_path, NUMBERS.astype(dtype)))
    assert found.matrix.tolist() == NUMBERS.tolist()
    assert found.matrix.dtype.isnative


@pytest.mark.parametrize("dtype", ["i1", "u2", "<i8", ">i4", "?"])
def test_x10_whole_numbers_and_booleans_are_numbers(tmp_path: Path, dtype: str) -> None:
    found = read_node_features(saved(tmp_path, np.eye(3, dtype=dtype)))
    assert found.matrix.astype(float).tolist() == np.eye(3).tolist()


@pytest.mark.parametrize(
    "array",
    [
        pytest.param(np.array([["a", "b"]]), id="text"),
        pytest.param(np.array([[1j, 2]]), id="complex"),
        pytest.param(np.array([["2020-01-01"]], dtype="datetime64[D]"), id="dates"),
    ],
)
def test_x09_what_is_no_number_is_refused(tmp_path: Path, array: Any) -> None:
    with pytest.raises(DataError, match=r"features\.npy: expected numbers"):
        read_node_features(saved(tmp_path, array))
    with pytest.raises(DataError, match=r"features\.npz: expected numbers"):
        read_node_features(archived(tmp_path, features=array))


def test_x09_an_object_array_is_unsafe(tmp_path: Path) -> None:
    array = np.array([[None]], dtype=object)
    with pytest.raises(UnsafeFileError, match=r"features\.npy"):
        read_node_features(saved(tmp_path, array))
    with pytest.raises(UnsafeFileError, match=r"features\.npz"):
        read_node_features(archived(tmp_path, features=array))


@pytest.mark.parametrize("shape", [(3,), (3, 0), (2, 2, 2)])
def test_features_have_rows_and_columns(tmp_path: Path, shape: tuple[int, ...]) -> None:
    with pytest.raises(DataError, match="expected a matrix with a row per node"):
        read_node_features(saved(tmp_path, np.ones(shape)))


def test_x15_a_header_that_claims_80_tb_is_refused_before_allocating(tmp_path: Path) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**12, 10)})
    (tmp_path / "claims.npy").write_bytes(header.getvalue() + bytes(16))
    tracemalloc.start()
    with pytest.raises(DataError, match=r"claims\.npy: claims 80000000000000 bytes"):
        read_node_features(tmp_path / "claims.npy")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10**6


def test_every_truncation_is_an_error(tmp_path: Path) -> None:
    path = saved(tmp_path, NUMBERS)
    content = path.read_bytes()
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(DataError, match=r"features\.npy"):
            read_node_features(path)


@pytest.mark.parametrize(("there", "damaged"), [(b"}", b" "), (b"'descr'", b"b'decr'"), (b"<f8", b",f8")])
def test_a_damaged_header_is_a_corrupt_file(tmp_path: Path, there: bytes, damaged: bytes) -> None:
    path = saved(tmp_path, NUMBERS)
    path.write_bytes(path.read_bytes().replace(there, damaged))
    with pytest.raises(CorruptFileError, match=r"features\.npy: not a readable"):
        read_node_features(path)


def test_text_is_no_npy_file(tmp_path: Path) -> None:
    (tmp_path / "features.npy").write_text("id,x\na,1\n")
    with pytest.raises(CorruptFileError, match=r"not a readable \.npy file"):
        read_node_features(tmp_path / "features.npy")


def test_an_archive_may_hold_ids_and_names(tmp_path: Path) -> None:
    found = read_node_features(archived(tmp_path, features=NUMBERS, ids=["a", "b", "c"], feature_names=["p", "q"]))
    assert (found.ids, found.names) == (("a", "b", "c"), ("p", "q"))
    assert read_node_features(archived(tmp_path, features=NUMBERS, ids=[7, 8, 9])).ids == ("7", "8", "9")


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        pytest.param({"ids": ["a"]}, r"1 ids, but the features have the shape \(3, 2\)", id="too few ids"),
        pytest.param({"feature_names": ["a"]}, "1 feature_names, but", id="too few names"),
        pytest.param({"ids": ["a", "b", "a"]}, "ids: 'a' appears twice", id="id twice"),
        pytest.param({"ids": [0.5, 1, 2]}, "ids must be a row of texts or whole numbers", id="float ids"),
    ],
)
def test_ids_and_names_that_do_not_fit_are_refused(tmp_path: Path, arrays: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError, match=words):
        read_node_features(archived(tmp_path, features=NUMBERS, **arrays))


def test_a_sparse_matrix_of_scipy_stays_sparse(tmp_path: Path) -> None:
    sp.save_npz(tmp_path / "features.npz", sp.csr_array(NUMBERS))
    found = read_node_features(tmp_path / "features.npz").matrix
    assert sp.issparse(found)
    assert found.toarray().tolist() == NUMBERS.tolist()


def test_a_sparse_matrix_in_another_layout_is_refused(tmp_path: Path) -> None:
    sp.save_npz(tmp_path / "features.npz", sp.csc_array(NUMBERS))
    with pytest.raises(DataError, match="stored as csc; save it as csr"):
        read_node_features(tmp_path / "features.npz")


@pytest.mark.parametrize(("indices", "indptr"), [([0, 9], [0, 1, 2]), ([0, 1], [0, 5, 2]), ([0, 1], [0, 2, 1])])
def test_x13_indices_that_lead_outside_are_refused(tmp_path: Path, indices: list[int], indptr: list[int]) -> None:
    parts = {"data": [1.0, 2.0], "indices": indices, "indptr": indptr, "shape": [2, 2]}
    with pytest.raises(DataError, match=r"features\.npz"):
        read_node_features(archived(tmp_path, **parts))


def test_an_archive_without_features_lists_what_it_has(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"expected an array features.*found x"):
        read_node_features(archived(tmp_path, x=NUMBERS))


def features_of(matrix: Any, ids: tuple[str, ...] | None = None) -> NodeFeatures:
    return NodeFeatures(Path("features.npy"), matrix, None, ids)


def test_rows_belong_to_their_ids() -> None:
    matrix, notices = features_of(NUMBERS, ("a", "b", "c")).of(["b", "c", "a"])
    assert matrix.tolist() == NUMBERS[[1, 2, 0]].tolist()
    assert notices == []


def test_without_ids_row_i_belongs_to_node_i() -> None:
    assert features_of(NUMBERS).of(["2", "0", "1"])[0].tolist() == NUMBERS[[2, 0, 1]].tolist()


@pytest.mark.parametrize("ids", [["0", "1", "x"], ["0", "1", "02"], ["0", "1", "2.0"], ["0", "1", "3"]])
def test_without_ids_any_other_id_asks_for_them(ids: list[str]) -> None:
    with pytest.raises(DataError, match=rf"1 nodes without a row: '{ids[-1]}'.*add an array ids"):
        features_of(NUMBERS).of(ids)


def test_x07_rows_missing_and_surplus_are_named() -> None:
    with pytest.raises(
        DataError, match=r"3 rows of features for 3 nodes; 1 nodes without a row: 'd'; 1 rows without a node: 'c'$"
    ):
        features_of(NUMBERS, ("a", "b", "c")).of(["a", "b", "d"])


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e39])
def test_x01_x02_a_value_that_is_no_finite_float32_is_placed(value: float) -> None:
    matrix = NUMBERS.copy()
    matrix[1, 1] = value
    with pytest.raises(DataError, match=r"row 1, column 1 is .*\(1 such values\)"):
        features_of(matrix).of(["0", "1", "2"])
    with pytest.raises(DataError, match=r"row 1, column 1 is .*\(1 such values\)"):
        features_of(sp.csr_array(matrix)).of(["0", "1", "2"])


def test_x01_gaps_are_filled_when_asked() -> None:
    matrix = NUMBERS.copy()
    matrix[1, 1] = np.nan
    filled, notices = features_of(matrix).of(["0", "1", "2"], impute=True)
    assert filled[1, 1] == 1.5
    assert notices == ["features.npy: 1 missing features set to the mean of their column"]
    matrix[:, 1] = np.nan
    with pytest.raises(DataError, match="column 1 has no number, so it has no mean to fill gaps with"):
        features_of(matrix).of(["0", "1", "2"], impute=True)


def test_gaps_are_filled_with_what_is_given_for_a_column(tmp_path: Path) -> None:
    matrix = np.array([[np.nan, 1.0], [np.nan, np.nan]])
    features = NodeFeatures(tmp_path / "f.npz", matrix, ["a", "b"], ["x", "y"])
    found, _ = features.of(["x", "y"], impute=True, fills={"a": 7.0, "b": 9.0})
    assert found.tolist() == [[7.0, 1.0], [7.0, 9.0]]
    with pytest.raises(DataError, match="column 0 has no number"):
        features.of(["x", "y"], impute=True)


def test_the_rows_of_a_matrix_have_ids_given_or_not() -> None:
    assert list(features_of(NUMBERS, ("a", "b", "c")).own_ids) == ["a", "b", "c"]
    assert list(features_of(NUMBERS).own_ids) == ["0", "1", "2"]


def test_more_columns_than_is_reasonable_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feature_files, "MAX_COLUMNS", 2)
    assert read_node_features(saved(tmp_path, NUMBERS)).matrix.shape == (3, 2)
    with pytest.raises(DataError, match=r"1 to 2 columns, got \(3, 3\)"):
        read_node_features(saved(tmp_path, np.eye(3)))


def test_a_file_beyond_the_cap_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path, NUMBERS)
    monkeypatch.setattr(array_files, "MAX_BYTES", path.stat().st_size - 1)
    with pytest.raises(DataError, match=rf"features\.npy: holds {path.stat().st_size} bytes, more than is read"):
        read_node_features(path)


def test_what_a_header_leaves_over_is_no_part_that_may_be_lost(tmp_path: Path) -> None:
    path = saved(tmp_path, NUMBERS)
    path.write_bytes(path.read_bytes() + b"more")
    with pytest.raises(DataError, match=r"features\.npy: claims 48 bytes for the shape \(3, 2\), the file holds 52"):
        read_node_features(path)


def test_long_texts_of_a_file_are_shortened(tmp_path: Path) -> None:
    long = "x" * 3000
    with pytest.raises(DataError, match=r"ids: 'x{60}'\.\.\. \(3,000 characters\) appears twice"):
        read_node_features(archived(tmp_path, features=NUMBERS, ids=[long, "b", long]))
    with pytest.raises(DataError, match=r"found (y{40}\.\.\.|x)") as raised:
        read_node_features(archived(tmp_path, **{"x": NUMBERS, "y" * 3000: NUMBERS}))
    assert len(str(raised.value)) < 500
    parts = {"data": [1.0], "indices": [0], "indptr": [0, 1], "shape": [1, 1], "format": np.array("z" * 3000)}
    with pytest.raises(DataError, match=r"stored as z{40}\.\.\.; save it as csr"):
        read_node_features(archived(tmp_path, **parts))
    with pytest.raises(DataError, match=r"1 nodes without a row: 'x{60}'\.\.\."):
        features_of(NUMBERS).of(["0", "1", long])
