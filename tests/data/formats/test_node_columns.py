"""Columns for writing hold the same numbers as the graph, each once."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from confgcn.data.formats.node_columns import node_columns
from confgcn.data.raw import RawGraph

EDGES = np.array([[0, 1]])


def test_labels_and_split_are_texts_with_nothing_for_none() -> None:
    columns = node_columns(RawGraph("g", ["a", "b"], EDGES, labels=["x", None], split=["train", ""]))
    assert columns.texts == {"label": ["x", ""], "split": ["train", ""]}
    assert (columns.features, columns.feature_names) == (None, ())


def test_what_is_not_given_has_no_column() -> None:
    assert node_columns(RawGraph("g", ["a", "b"], EDGES)).texts == {}


def test_entries_of_a_sparse_matrix_that_stand_twice_are_added_and_zeros_dropped() -> None:
    entries = np.array([1.0, 2.0, 0.0]), (np.array([0, 0, 1]), np.array([1, 1, 0]))
    columns = node_columns(RawGraph("g", ["a", "b"], EDGES, sp.coo_matrix(entries, shape=(2, 2))))
    assert columns.features.toarray().tolist() == [[0, 3], [0, 0]]
    assert columns.features.nnz == 1
    assert columns.feature_names == ("f0", "f1")


@pytest.mark.parametrize(("given", "kept"), [("?", "u1"), ("f2", "f4"), ("f4", "f4"), ("f8", "f8"), ("i8", "i8")])
def test_numbers_have_a_type_that_every_format_keeps(given: str, kept: str) -> None:
    features = node_columns(RawGraph("g", ["a", "b"], EDGES, np.eye(2, dtype=given))).features
    assert features.dtype == kept
    assert features.tolist() == [[1, 0], [0, 1]]
