"""Natural order, and what building a raw graph checks."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from confgcn.data.raw import RawGraph, natural_order, raw_from_graph
from confgcn.exceptions import DataError
from confgcn.graph import Graph
from confgcn.sparse import SparseMatrix

EDGES = np.array([[0, 1], [1, 2]])


def raw(**changes: object) -> RawGraph:
    given = {"features": np.arange(6.0).reshape(3, 2) + 1, "labels": ["x", None, "y"]}
    return RawGraph("g", ["b10", "b9", "a"], EDGES, **{**given, **changes})


def test_numbers_in_names_count_as_numbers() -> None:
    texts = ["a10", "a9", "10", "9", "09", "²", "", "1" * 5000, "a9b2", "a9b10"]
    ordered = [texts[place] for place in natural_order(texts)]
    assert ordered == ["", "09", "9", "10", "1" * 5000, "a9", "a9b2", "a9b10", "a10", "²"]


def test_the_order_of_rows_columns_and_edges_changes_nothing() -> None:
    one = raw(feature_names=["f2", "f10"]).build()
    order = [2, 0, 1]
    features = (np.arange(6.0).reshape(3, 2) + 1)[order][:, ::-1]
    ids = [["b10", "b9", "a"][row] for row in order]
    edges = np.array([[0, 2], [2, 1]])  # the same by name, the other way round
    other = RawGraph("g", ids, edges, features, ["f10", "f2"], [["x", None, "y"][row] for row in order]).build()
    assert one.fingerprint == other.fingerprint
    assert one.node_names == ("a", "b9", "b10")
    assert one.feature_names == other.feature_names == ("f2", "f10")


def test_few_values_are_kept_sparse_and_many_dense_whatever_they_came_as() -> None:
    wide = np.zeros((3, 20))
    wide[0, 3] = 2.0
    for features in (wide, sp.csr_matrix(wide), sp.coo_matrix(wide)):
        assert isinstance(raw(features=features).build().features, SparseMatrix)
    for features in (np.ones((3, 2)), sp.csr_matrix(np.ones((3, 2)))):
        assert not isinstance(raw(features=features).build().features, SparseMatrix)
    explicit = sp.csr_matrix(wide)
    explicit.data = np.append(explicit.data, 0.0)
    explicit.indices = np.append(explicit.indices, 5)
    explicit.indptr = np.array([0, 2, 2, 2])
    assert raw(features=explicit).build().fingerprint == raw(features=wide).build().fingerprint


def test_every_labelled_node_is_trained_on_unless_there_is_a_split() -> None:
    assert raw().build().train.tolist() == [0, 2]
    split = raw(split=["test", "", "train"]).build()
    assert (split.train.tolist(), split.validation.tolist(), split.test.tolist()) == ([0], [], [2])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"features": None}, "no features; .*--add-features degree, positional, identity"),
        ({"split": ["test", "train", ""]}, "'b9' is in the train set and has no label"),
        ({"split": ["dev", "", ""]}, "split 'dev': expected train, validation, test"),
        ({"labels": ["x"]}, "one label per node, 3, got 1"),
        ({"class_names": ["x"]}, "label 'y' is not one of the classes x"),
        ({"features": np.array([["1"], ["2"], ["3"]])}, "expected numbers"),
        ({"feature_names": ["a", "a"]}, "feature names: 'a' occurs twice"),
        ({"features": np.ones((2, 2))}, r"shape \(3, at least 1\)"),
    ],
)
def test_what_is_wrong_is_named(changes: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        raw(**changes).build()


def test_a_graph_without_nodes_and_ids_that_stand_twice_are_refused() -> None:
    with pytest.raises(DataError, match="no nodes"):
        RawGraph("g", [], np.empty((0, 2), dtype=int)).build()
    with pytest.raises(DataError, match="'a' occurs twice"):
        RawGraph("g", ["a", "a", "b"], EDGES, np.ones((3, 1))).build()


def test_a_graph_and_its_raw_form_are_the_same(small_graph: Graph) -> None:
    assert raw_from_graph(small_graph).build().fingerprint == small_graph.fingerprint


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"split": ["test", "train", ""]}, "'b9' is in the train set and has no label"),
        ({"split": ["", ""]}, "g: expected one entry of the split per node, 3, got 2"),
        ({"labels": ["x"]}, "one label per node, 3, got 1"),
        ({"class_names": ["x", "x", "y"]}, "class names: 'x' occurs twice"),
        ({"features": np.full((3, 1), np.nan)}, "row 0, column 0 is NaN"),
        ({"feature_names": ["a"]}, "feature names: expected 2, got 1"),
    ],
)
def test_what_is_wrong_is_found_before_a_graph_is_built(changes: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        raw(**changes).check()


def test_features_that_are_not_there_are_no_fault_yet() -> None:
    raw(features=None).check()
    raw().check()
    with pytest.raises(DataError, match="no nodes"):
        RawGraph("g", [], np.empty((0, 2), dtype=int)).check()
    with pytest.raises(DataError, match="row 1 names node 2"):
        RawGraph("g", ["a", "b"], EDGES).check()


def test_long_texts_in_messages_are_shortened() -> None:
    long = "x" * 3000
    for changes in ({"class_names": [long, *(f"{long}{n}" for n in range(99))]}, {"split": [long, "", ""]}):
        with pytest.raises(DataError, match=r"x{40}") as raised:
            raw(**changes).build()
        assert len(str(raised.value)) < 1000
