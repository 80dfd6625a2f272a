"""Every bad array is refused by a message that names what is wrong; every good one takes its canonical form."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from confgcn.exceptions import DataError
from confgcn.graph import Graph
from confgcn.graph import validation as checks
from confgcn.sparse import SparseMatrix

THREE_NODES = {"edges": [(0, 1), (1, 2)], "features": np.eye(3), "labels": [0, 1, 0]}


def build(**changes: Any) -> Graph:
    return Graph.build(**{**THREE_NODES, **changes})


def refusal(**changes: Any) -> str:
    with pytest.raises(DataError) as caught:
        build(**changes)
    return str(caught.value)


def with_entry(row: int, column: int, value: float) -> np.ndarray:
    features = np.eye(3)
    features[row, column] = value
    return features


def broken_csr(**parts: Any) -> sp.csr_matrix:
    matrix = sp.csr_matrix(np.eye(3))
    for name, value in parts.items():
        setattr(matrix, name, np.array(value))
    return matrix


@pytest.mark.parametrize(
    ("edges", "words"),
    [
        pytest.param([(0, 1), (2, 7)], ["row 1", "node 7", "0 to 2", "1 such rows"], id="E01 too large"),
        pytest.param([(0, 1), (1, 3)], ["row 1", "node 3"], id="E01 too large by one"),
        pytest.param([(0, -1), (1, 2), (-5, -6)], ["row 0", "node -1", "2 such rows"], id="E02 negative"),
        pytest.param(np.array([(0, 2**63)], np.uint64), [str(2**63)], id="E02 beyond int64"),
        pytest.param([(10, 500)], ["row 0", "node 10", "0 to 2"], id="E05 ids that are not positions"),
        pytest.param([("paper a", "paper b")], ["positions of nodes", "<U7"], id="E06 text"),
        pytest.param([(0.0, 1.0)], ["whole numbers", "float64"], id="E06 floats"),
        pytest.param([(True, False)], ["whole numbers", "bool"], id="E06 booleans"),
        pytest.param([(0, 1, 2)], ["(edges, 2)", "(1, 3)"], id="E21 three columns"),
        pytest.param([0, 1], ["(edges, 2)", "(2,)"], id="E21 one column"),
        pytest.param(np.zeros((3, 4), int), ["(edges, 2)", "(3, 4)"], id="E22 adjacency that is not square"),
    ],
)
def test_bad_edges_are_named(edges: Any, words: list[str]) -> None:
    message = refusal(edges=edges)
    assert message.startswith("edges:")
    assert [word for word in words if word not in message] == []


@pytest.mark.parametrize("features", [np.empty((0, 4)), [], 3.0, sp.csr_matrix((0, 4))])
def test_e17_a_graph_without_nodes_is_refused(features: Any) -> None:
    assert "no nodes" in refusal(edges=[], features=features, labels=[])


@pytest.mark.parametrize("shift", [3000, 99])
@pytest.mark.parametrize("kind", ["coo rows", "coo columns", "lil", "bsr"])
def test_x13_indices_out_of_bounds_are_refused_in_every_format(kind: str, shift: int) -> None:
    matrix = sp.coo_matrix(np.ones((4, 2)))
    if kind == "coo rows":
        matrix.row = matrix.row + shift
    elif kind == "coo columns":
        matrix.col = matrix.col + shift
    elif kind == "lil":
        matrix = matrix.tolil()
        matrix.rows[0] = [shift, shift + 1]
    else:
        matrix = matrix.tobsr(blocksize=(2, 1))
        matrix.indices = matrix.indices + shift
    assert "features" in refusal(edges=[(0, 1)], features=matrix, labels=[0, 1, 0, 1])


def test_x13_duplicates_of_a_small_type_do_not_overflow() -> None:
    entries = (np.array([100, 100, 1], np.int8), ([0, 0, 1], [0, 0, 1]))
    graph = build(edges=[(0, 1)], features=sp.coo_matrix(entries, shape=(2, 2)), labels=[0, 1])
    assert graph.features.values.tolist() == [200.0, 1.0]


def test_l11_a_mask_of_numbers_is_not_taken_for_positions() -> None:
    assert "dtype bool" in refusal(labels=[0, 1, 0, 1], features=np.eye(4), train=np.array([0, 1, 1, 0], np.uint8))


def test_a_masked_array_is_refused() -> None:
    assert "mask" in refusal(features=np.ma.masked_invalid([[1.0], [np.nan]]), labels=[0, 1], edges=[(0, 1)])


@pytest.mark.parametrize(("names", "word"), [([1, "1"], "twice"), (["a", "\ud800"], "UTF-8")])
def test_names_are_distinct_as_text_and_can_be_written(names: list[Any], word: str) -> None:
    assert word in refusal(edges=[(0, 1)], features=np.eye(2), labels=[0, 1], node_names=names)


def test_x06_missing_features_are_named_with_a_way_out() -> None:
    assert "numpy.eye" in refusal(edges=[(0, 1)], features=None, labels=[0, 1])


@pytest.mark.parametrize("as_given", [np.array, sp.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    ("value", "shown"),
    [
        pytest.param(np.nan, "NaN", id="X01"),
        pytest.param(np.inf, "inf", id="X02 +inf"),
        pytest.param(-np.inf, "-inf", id="X02 -inf"),
        pytest.param(1e39, "1e+39", id="X02 overflows float32"),
        pytest.param(-1e39, "-1e+39", id="X02 overflows float32 below"),
    ],
)
def test_a_feature_that_is_not_a_finite_float32_is_placed_and_counted(as_given: Any, value: float, shown: str) -> None:
    features = with_entry(1, 2, value)
    features[2, 0] = value
    message = refusal(features=as_given(features))
    assert f"row 1, column 2 is {shown}," in message
    assert "2 such values" in message


@pytest.mark.parametrize(
    ("features", "words"),
    [
        pytest.param(np.ones((2, 4)), ["labels", "(2,)", "(3,)"], id="X07 a row too few"),
        pytest.param(np.ones((4, 4)), ["labels", "(4,)", "(3,)"], id="X07 a row too many"),
        pytest.param(np.ones(3), ["features", "(3, at least 1)", "(3,)"], id="X07 one column without its axis"),
        pytest.param(np.ones((3, 0)), ["features", "(3, at least 1)", "(3, 0)"], id="X07 no column"),
        pytest.param(sp.csr_matrix((3, 0)), ["features", "(3, 0)"], id="X07 no column, sparse"),
        pytest.param(np.ones((3, 2, 2)), ["features", "(3, 2, 2)"], id="X07 three axes"),
        pytest.param(np.eye(3) * 1j, ["features", "complex128"], id="X09 complex"),
        pytest.param(sp.csr_matrix(np.eye(3) * 1j), ["features", "complex128"], id="X09 complex, sparse"),
        pytest.param(np.eye(3).astype(object), ["features", "object"], id="X09 object"),
        pytest.param(np.eye(3).astype(str), ["features", "<U"], id="X09 text"),
        pytest.param(np.zeros((3, 1), "datetime64[s]"), ["features", "datetime64[s]"], id="X09 time"),
        pytest.param(broken_csr(indices=[0, 9, 2]), ["features", "0 to 2", "0 to 9"], id="X13 column too large"),
        pytest.param(broken_csr(indices=[0, -4, 2]), ["features", "0 to 2", "-4 to 2"], id="X13 column negative"),
        pytest.param(broken_csr(indptr=[0, 2, 1, 3]), ["features", "row pointers of 3 rows"], id="X13 pointers fall"),
        pytest.param(broken_csr(indptr=[0, 1, 2, 9]), ["row pointers", "3 entries"], id="X13 pointers past the end"),
        pytest.param(broken_csr(indptr=[1, 1, 2, 3]), ["row pointers"], id="X13 pointers start late"),
        pytest.param(broken_csr(indptr=[0, 1, 3]), ["row pointers"], id="X13 pointer missing"),
        pytest.param(broken_csr(data=[1.0, 1.0]), ["3 column indices", "2 values"], id="X13 value missing"),
    ],
)
def test_bad_features_are_named(features: Any, words: list[str]) -> None:
    message = refusal(features=features)
    assert [word for word in words if word not in message] == []


def test_x07_features_of_another_number_of_nodes_are_refused_with_both_shapes() -> None:
    with pytest.raises(DataError, match=r"\(3, at least 1\).*got \(2, 5\)"):
        checks.checked_features(np.ones((2, 5)), 3)


@pytest.mark.parametrize(
    "ragged",
    [{"features": [[1, 2], [3, 4], [5]]}, {"edges": [(0, 1), (1,)]}, {"labels": [0, [1], 0]}, {"train": [0, [1]]}],
    ids=lambda ragged: next(iter(ragged)),
)
def test_ragged_lists_are_refused_by_name(ragged: dict[str, Any]) -> None:
    assert next(iter(ragged)) in refusal(**ragged)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16", "float64", ">f4", ">f8", ">i2"])
def test_x10_every_number_type_gives_the_same_graph(dtype: str) -> None:
    assert build(features=np.eye(3).astype(dtype)).fingerprint == build().fingerprint


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float64"])
def test_x10_every_number_type_gives_the_same_sparse_graph(dtype: str) -> None:
    expected = build(features=sp.csr_matrix(np.eye(3, dtype=np.float32))).fingerprint
    assert build(features=sp.csr_matrix(np.eye(3)).astype(dtype)).fingerprint == expected


@pytest.mark.parametrize("form", [sp.csc_matrix, sp.coo_matrix, sp.lil_matrix, sp.csr_array, sp.coo_array])
def test_every_sparse_form_gives_the_same_graph(form: Any) -> None:
    features = np.array([[0, 2.0], [3, 0], [4, 5]])
    assert build(features=form(features)).fingerprint == build(features=sp.csr_matrix(features)).fingerprint


def test_x12_a_million_sparse_columns_stay_sparse() -> None:
    features = sp.csr_matrix((np.ones(3), ([0, 1, 2], [0, 500_000, 999_999])), shape=(3, 10**6))
    tracemalloc.start()
    graph = build(features=features)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(graph.features, SparseMatrix)
    assert graph.features.shape == (3, 10**6)
    assert peak < 100_000


def test_x13_unsorted_and_duplicate_columns_are_sorted_and_summed() -> None:
    features = sp.csr_matrix(([1.0, 2.0, 4.0, 8.0], [2, 0, 2, 1], [0, 3, 3, 4]), shape=(3, 3))
    given = features.copy()
    stored = build(features=features).features
    assert isinstance(stored, SparseMatrix)
    assert stored.structure.indptr.tolist() == [0, 2, 2, 3]
    assert stored.structure.indices.tolist() == [0, 2, 1]
    assert stored.values.tolist() == [2.0, 5.0, 8.0]
    assert features.indices.tolist() == given.indices.tolist()


def test_x13_duplicates_that_sum_to_infinity_are_refused() -> None:
    features = sp.csr_matrix(([3e38, 3e38], [1, 1], [0, 0, 2, 2]), shape=(3, 3))
    assert "row 1, column 1" in refusal(features=features)


def test_x13_a_column_matrix_with_rows_out_of_bounds_does_not_crash() -> None:
    program = (
        "import numpy as np, scipy.sparse as sp\n"
        "from confgcn.exceptions import DataError\n"
        "from confgcn.graph import Graph\n"
        "features = sp.csc_matrix(np.eye(3))\n"
        "features.indices[1] = 200_000_000\n"
        "try:\n"
        "    Graph.build([(0, 1)], features, [0, 1, 0])\n"
        "except DataError:\n"
        "    raise SystemExit(42)\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 42


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        pytest.param([0, -100, 1], ["node 1", "-100", "-1 for unknown"], id="L05 the sentinel of torch"),
        pytest.param([0, 1, -2], ["node 2", "-2"], id="L05 another negative number"),
        pytest.param(np.array([0, 1, 2**64 - 1], np.uint64), ["node 2"], id="L05 wraps to -1"),
        pytest.param(["0", "1", "NA"], ["-1 for unknown", "<U2"], id="L05 NA"),
        pytest.param([0, 1, None], ["-1 for unknown", "object"], id="L05 None"),
        pytest.param([0.0, 1.0, 0.0], ["whole numbers", "float64"], id="L06 whole floats"),
        pytest.param([0.5, 1.0, np.nan], ["whole numbers", "float64"], id="L06 regression target"),
        pytest.param(["a", "b", "a"], ["class_names", "<U1"], id="L07 text"),
        pytest.param([[1, 0], [0, 1], [1, 1]], ["(3,)", "(3, 2)"], id="L08 several labels"),
        pytest.param([0, 1], ["(3,)", "(2,)"], id="a label too few"),
    ],
)
def test_bad_labels_are_named(labels: Any, words: list[str]) -> None:
    message = refusal(labels=labels)
    assert message.startswith("labels:")
    assert [word for word in words if word not in message] == []


def test_a_label_beyond_the_class_names_is_named() -> None:
    message = refusal(labels=[0, 1, 2], class_names=["a", "b"])
    assert "node 2 has label 2, expected 0 to 1" in message


def test_l05_minus_one_means_unknown_and_makes_no_class() -> None:
    graph = build(labels=[-1, 0, -1])
    assert graph.labels.tolist() == [-1, 0, -1]
    assert graph.class_names == ("0",)


def test_l07_class_names_are_kept_verbatim() -> None:
    names = ("<script>alert(1)</script>", "naïve ☃ \u202eabc", "{{7*7}}")
    assert build(class_names=names).class_names == names


def test_e07_node_names_that_differ_in_bytes_stay_distinct() -> None:
    names = ("caf\u00e9", "cafe\u0301", "caf\u00e9\u200b")
    assert build(node_names=names).node_names == names


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ({"node_names": ["a", "b", "a"]}, ["node names", "'a' occurs twice"]),
        ({"node_names": ["a", "b"]}, ["node names", "expected 3, got 2"]),
        ({"class_names": ["x", "x"]}, ["class names", "'x' occurs twice"]),
    ],
)
def test_bad_names_are_named(names: dict[str, Any], words: list[str]) -> None:
    message = refusal(**names)
    assert [word for word in words if word not in message] == []


@pytest.mark.parametrize(("first", "second"), [("train", "validation"), ("train", "test"), ("validation", "test")])
def test_l10_parts_that_overlap_are_named_with_count_and_examples(first: str, second: str) -> None:
    message = refusal(**{first: [0, 1, 2], second: [1, 2]})
    assert f"{first} and {second} share 2 nodes (for example 1, 2)" in message


def test_l10_masks_that_overlap_are_refused() -> None:
    assert "train and test share 1 nodes (for example 2)" in refusal(
        train=[True, False, True], test=[False, False, True]
    )


@pytest.mark.parametrize("part", ["train", "validation", "test"])
@pytest.mark.parametrize(
    ("value", "words"),
    [
        pytest.param([True, False], ["mask", "(3,)", "(2,)"], id="L11 mask too short"),
        pytest.param([[True], [False], [True]], ["mask", "(3,)", "(3, 1)"], id="L11 mask with two axes"),
        pytest.param([False, False, False], ["mask", "no node"], id="L11 empty mask"),
        pytest.param([0, 3], ["0 to 2", "0 to 3"], id="position too large"),
        pytest.param([-1], ["0 to 2", "-1 to -1"], id="position negative"),
        pytest.param([0.0, 1.0], ["positions", "float64"], id="position not whole"),
        pytest.param([[0, 1]], ["positions", "(1, 2)"], id="positions with two axes"),
        pytest.param([1, 2], ["1 nodes have no label", "node 2"], id="node without a label"),
    ],
)
def test_bad_parts_of_the_split_are_named(part: str, value: Any, words: list[str]) -> None:
    message = refusal(**{"labels": [0, 1, -1], part: value})
    assert message.startswith(part)
    assert [word for word in words if word not in message] == []


def test_l11_no_positions_are_an_empty_part() -> None:
    assert build(train=[0], validation=[], test=np.array([])).split_names() == ["train", "", ""]


def test_masks_and_unsorted_positions_give_the_same_split() -> None:
    by_mask = build(train=[True, False, True], test=[False, True, False])
    by_position = build(train=[2, 0], test=[1])
    assert by_position.train.tolist() == [0, 2]
    assert by_mask.fingerprint == by_position.fingerprint


def test_a_long_text_is_shown_by_its_beginning() -> None:
    assert checks.shown("x" * 60) == repr("x" * 60)
    assert checks.shown("x" * 61) == repr("x" * 60) + "... (61 characters)"
    assert checks.shown("a\nb") == r"'a\nb'"


@pytest.mark.parametrize("count", [-1, checks.MAX_NODES + 1])
def test_a_number_of_nodes_is_checked_before_anything_is_made_of_it(count: int) -> None:
    checks.check_num_nodes(checks.MAX_NODES)
    checks.check_num_nodes(0)
    with pytest.raises(DataError, match="number of nodes: expected 0 to 100,000,000, got"):
        checks.check_num_nodes(count)


def test_what_is_wrong_in_a_block_is_told_by_its_place_among_all_rows() -> None:
    with pytest.raises(DataError, match=r"features: row 8, column 1 is inf.*\(1 such values in rows 7 to 8\)"):
        checks.checked_feature_block(np.array([[1.0, 2.0], [3.0, np.inf]]), 7)
    with pytest.raises(DataError, match=r"edges: row 8 names node 5.*\(1 such rows in rows 7 to 8\)"):
        checks.checked_edges([(0, 1), (0, 5)], 5, first_row=7)
    assert checks.checked_feature_block(np.array([[1, 2]]), 7).dtype == np.float32
