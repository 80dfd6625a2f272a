"""Labels and split are read as they stand in a table, and columns are written with the numbers of the graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from confgcn.data.formats.node_columns import node_columns, read_labels, read_split
from confgcn.data.formats.table import Table
from confgcn.data.raw import RawGraph
from confgcn.exceptions import DataError

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


def table_of(cells: Any) -> Table:
    return Table(Path("nodes.csv"), {"label": cells}, range(2, 2 + len(cells)))


def test_l05_a_blank_is_the_one_sign_for_unknown() -> None:
    notices: list[str] = []
    assert read_labels(table_of(["a", "", "  ", " b "]), "label", notices) == ["a", None, None, " b "]
    assert notices == []


@pytest.mark.parametrize("word", ["NA", "n/a", "NaN", "null", "None", "?", "-1", "-100", "Unknown"])
def test_l05_a_text_that_may_mean_unknown_is_a_class_with_a_notice(word: str) -> None:
    notices: list[str] = []
    assert read_labels(table_of(["1", word, word]), "label", notices) == ["1", word, word]
    assert len(notices) == 1
    assert f"label {word!r} (2 nodes) is read as a class of that name; leave the cell blank" in notices[0]


def test_l06_labels_that_are_numbers_must_be_whole() -> None:
    with pytest.raises(DataError, match=r"column 'label': label '0\.5' is not a whole number"):
        read_labels(table_of(["1", "0.5", ""]), "label", [])


def test_l06_numbers_among_words_are_names() -> None:
    assert read_labels(table_of(["v0.5", "0.5"]), "label", []) == ["v0.5", "0.5"]


def test_l06_one_number_in_two_spellings_is_refused() -> None:
    with pytest.raises(DataError, match=r"labels '1' and '1\.0' are the same number"):
        read_labels(table_of(["1", "1.0", "2"]), "label", [])


def test_l06_whole_floats_of_a_typed_table_are_whole_numbers() -> None:
    assert read_labels(table_of(np.array([7.0, np.nan, 8.0])), "label", []) == ["7", None, "8"]


def test_parts_have_several_names_in_any_case() -> None:
    cells = ["train", "Training", "VAL", "valid", " validation", "test", "Testing", "", " "]
    parts = ["train", "train", "validation", "validation", "validation", "test", "test", "", ""]
    assert read_split(table_of(cells), "label") == parts


def test_an_unknown_part_names_its_line() -> None:
    with pytest.raises(DataError, match=r"nodes\.csv, line 3, column 'label': 'dev': expected train"):
        read_split(table_of(["train", "dev"]), "label")
