"""Arrays of Arrow made without pandas hold what pyarrow's own would."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from confgcn.data.formats.arrow_arrays import TEXT, arrow_numbers, arrow_texts, filled, first_row, numpy_numbers
from confgcn.exceptions import DataError


@pytest.mark.parametrize("texts", [[], ["a", "", "bc"], ["é", "", "👩‍🔬", "4"], ["", ""]])
def test_texts_are_those_of_pyarrow(texts: list[str]) -> None:
    assert arrow_texts(texts).equals(pa.array(texts, TEXT))


def test_a_text_that_is_not_unicode_is_named() -> None:
    with pytest.raises(DataError, match=r"'b.udc80' is not valid text"):
        arrow_texts(["a", "b\udc80"])


@pytest.mark.parametrize("dtype", ["int8", "uint64", "int64", "float32", "float64"])
def test_numbers_go_there_and_back(dtype: str) -> None:
    numbers = np.arange(8, dtype=dtype)[::2]
    array = arrow_numbers(numbers)
    assert array.equals(pa.array(numbers))
    assert numpy_numbers(array).dtype == numbers.dtype
    np.testing.assert_array_equal(numpy_numbers(array.slice(1)), numbers[1:])


def test_booleans_and_several_chunks_become_one_array() -> None:
    chunks = pa.chunked_array([pa.array([True, False]), pa.array([True])])
    np.testing.assert_array_equal(numpy_numbers(chunks), [True, False, True])
    assert numpy_numbers(chunks).dtype == np.bool_


@pytest.mark.parametrize(
    ("values", "value", "expected"),
    [(["a", None], "", ["a", ""]), ([1, None], -1, [1, -1]), ([0.5, None], 2, [0.5, 2])],
)
def test_gaps_are_filled(values: list[Any], value: str | float, expected: list[Any]) -> None:
    assert filled(pa.array(values), value).to_pylist() == expected


def test_gaps_of_floats_become_nan_in_their_own_type() -> None:
    numbers = numpy_numbers(filled(pa.array([1.5, None], pa.float32()), math.nan))
    assert numbers.dtype == np.float32
    np.testing.assert_array_equal(numbers, [1.5, math.nan])


def test_the_first_row_that_holds_a_text_is_found() -> None:
    assert first_row(arrow_texts(["a", "", ""]), "") == 1
    assert first_row(arrow_texts(["a"]), "") == -1
