"""Columns become features by one rule, in training and afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from confgcn.data.formats.feature_columns import MOST_LEVELS, encode_columns
from confgcn.data.formats.table import Table
from confgcn.exceptions import DataError


def table_of(**columns: Any) -> Table:
    count = len(next(iter(columns.values())))
    return Table(Path("nodes.csv"), columns, range(2, 2 + count))


def encoded(table: Table, **options: Any) -> tuple[dict[str, list[float]], list[str]]:
    found = encode_columns(table, list(table.columns), **options)
    matrix = found.matrix(len(table))
    dense = matrix.toarray() if sp.issparse(matrix) else matrix
    return {name: dense[:, place].tolist() for place, name in enumerate(found.names)}, found.notices


def test_numbers_stay_numbers() -> None:
    table = table_of(a=["1", " 2.5 ", "-1e3"], b=np.array([1, 2, 3]), c=np.array([True, False, True]))
    assert encoded(table) == ({"a": [1, 2.5, -1000], "b": [1, 2, 3], "c": [1, 0, 1]}, [])


def test_words_become_a_column_per_level_and_a_blank_is_none_of_them() -> None:
    columns, notices = encoded(table_of(colour=["red", "", "blue", "red"], x=["1", "2", "3", "4"]))
    assert columns == {"x": [1, 2, 3, 4], "colour=red": [1, 0, 0, 1], "colour=blue": [0, 0, 1, 0]}
    assert notices == []


def test_true_and_false_are_one_and_zero() -> None:
    assert encoded(table_of(flag=["true", "False", "TRUE"])) == ({"flag": [1, 0, 1]}, [])


def test_whole_numbers_of_few_values_stay_a_number_unless_they_are_said_to_be_names() -> None:
    table = table_of(zone=["1", "2", "1", "01"])
    assert encoded(table)[0] == {"zone": [1, 2, 1, 1]}
    asked = encoded(table, categorical=["zone"])[0]
    assert asked == {"zone=1": [1, 0, 1, 0], "zone=2": [0, 1, 0, 0], "zone=01": [0, 0, 0, 1]}


def test_digits_with_underscores_are_names() -> None:
    assert list(encoded(table_of(version=["1_0", "2_0"]))[0]) == ["version=1_0", "version=2_0"]


@pytest.mark.parametrize(
    ("levels", "rows", "is_text"),
    [(MOST_LEVELS, 1000, False), (MOST_LEVELS + 1, 1000, True), (10, 10, False), (11, 22, False), (11, 21, True)],
)
def test_text_is_not_used_and_said_so(levels: int, rows: int, is_text: bool) -> None:
    table = table_of(title=[f"word {row % levels}" for row in range(rows)])
    columns, notices = encoded(table)
    assert len(columns) == (0 if is_text else levels)
    assert len(notices) == is_text
    assert all(f"column 'title' is text with {levels} different values" in notice for notice in notices)
    assert len(encoded(table, categorical=["title"])[0]) == levels


def test_a_typo_among_numbers_is_named_where_the_column_becomes_text() -> None:
    cells = [str(row) for row in range(60)]
    cells[7] = "8,5"
    assert "for example '8,5' in line 9: not used" in encoded(table_of(age=cells))[1][0]


def test_an_empty_column_is_not_used_and_said_so() -> None:
    assert encoded(table_of(a=["", " "])) == ({}, ["nodes.csv: column 'a' is empty: not used"])
    assert encoded(table_of(a=np.array([np.nan, np.nan])))[0] == {}


@pytest.mark.parametrize("gap", ["", " ", "nan", "NA", "n/a", "null", "?"])
def test_x01_a_gap_in_numbers_names_line_column_and_count(gap: str) -> None:
    table = table_of(x=["1", gap, "3", gap])
    with pytest.raises(
        DataError, match=r"nodes\.csv, line 3, column 'x': there is no number \(2 such rows\).*--impute"
    ):
        encoded(table)
    columns, notices = encoded(table, impute=True)
    assert columns == {"x": [1, 2, 3, 2]}
    assert notices == ["nodes.csv: column 'x': 2 gaps filled with the mean, 2"]


def test_x01_a_gap_in_a_typed_column_is_a_gap() -> None:
    with pytest.raises(DataError, match="line 3, column 'x': there is no number"):
        encoded(table_of(x=np.array([1.0, np.nan])))


@pytest.mark.parametrize("value", ["inf", "-Infinity", "1e39", "-1e39"])
def test_x02_a_number_beyond_float32_names_line_and_column(value: str) -> None:
    with pytest.raises(DataError, match=r"line 3, column 'x': .* is not a finite float32 \(1 such values\)"):
        encoded(table_of(x=["1", value]), impute=True)


def test_x12_a_category_of_many_levels_stays_sparse() -> None:
    found = encode_columns(table_of(name=[f"n{row}" for row in range(20)]), ["name"], categorical=["name"])
    matrix = found.matrix(20)
    assert sp.issparse(matrix)
    assert np.array_equal(matrix.toarray(), np.eye(20))


def test_like_asks_for_the_features_of_the_training() -> None:
    table = table_of(x=["1", "2"], colour=["blue", "red"], size=["1", "2"])
    like = ["colour=red", "colour=blue", "colour=green", "size=1", "size=2", "x"]
    assert encoded(table, like=like)[0] == {
        "x": [1, 2],
        "colour=red": [0, 1],
        "colour=blue": [1, 0],
        "colour=green": [0, 0],
        "size=1": [1, 0],
        "size=2": [0, 1],
    }


def test_like_takes_a_column_called_like_a_level_as_numbers() -> None:
    assert encoded(table_of(**{"colour=red": ["1", "0"]}), like=["colour=red"])[0] == {"colour=red": [1, 0]}


def test_like_takes_a_level_that_training_never_saw_as_none() -> None:
    columns, notices = encoded(table_of(colour=["red", "pink"]), like=["colour=red", "colour=blue"])
    assert columns == {"colour=red": [1, 0], "colour=blue": [0, 0]}
    assert notices == ["nodes.csv: column 'colour' has 1 values that were not in training, read as missing: 'pink'"]


def test_x14_like_names_missing_and_surplus_columns_and_both_counts() -> None:
    with pytest.raises(
        DataError,
        match=r"trained with 3 features, this table gives 2; missing: 'b', 'c=1'; not in training: 'd'.*--ignore",
    ):
        encoded(table_of(a=["1"], d=["2"]), like=["a", "b", "c=1"])


def test_like_leaves_out_what_the_graph_itself_gives() -> None:
    assert encoded(table_of(a=["1"]), like=["a", "graph:degree", "graph:near 7"])[0] == {"a": [1]}


def test_like_skips_words_that_were_no_feature() -> None:
    columns, notices = encoded(table_of(a=["1"], title=["some words"]), like=["a"])
    assert columns == {"a": [1]}
    assert notices == ["nodes.csv: column 'title' was not a feature in training: not used"]


def test_like_refuses_words_where_training_had_numbers() -> None:
    with pytest.raises(DataError, match=r"line 3, column 'a': expected a number, as in training, got 'x'"):
        encoded(table_of(a=["1", "x"]), like=["a"])


def test_numbers_with_a_decimal_comma_give_a_notice() -> None:
    _, notices = encoded(table_of(x=["1,5", "2,5", ""]))
    assert any("decimal comma" in notice for notice in notices)
    assert not encoded(table_of(x=["a,b", "2,5"]))[1]
