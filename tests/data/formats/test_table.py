"""Numbers become texts that give them back, and ids and labels never get a .0."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confgcn.data.formats.table import Table, column_texts, is_blank, listed, plain_numbers, shortened


@pytest.mark.parametrize(
    ("numbers", "texts"),
    [
        pytest.param(np.array([7, -1, 2**62 + 1]), ["7", "-1", "4611686018427387905"], id="whole"),
        pytest.param(np.array([2**64 - 1], dtype=np.uint64), ["18446744073709551615"], id="unsigned"),
        pytest.param(np.array([7.0, np.nan, 0.5, -0.0]), ["7", "", "0.5", "-0"], id="float64"),
        pytest.param(np.array([7.0, 0.1], dtype=np.float32), ["7", "0.100000001"], id="float32"),
        pytest.param(np.array([3.4028235e38], dtype=np.float32), ["3.4028234663852886e+38"], id="largest float32"),
        pytest.param(np.array([True, False]), ["true", "false"], id="booleans"),
    ],
)
def test_numbers_as_texts(numbers: Any, texts: list[str]) -> None:
    assert column_texts(numbers) == texts


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_every_float_comes_back_from_its_text(dtype: Any) -> None:
    bits = np.random.default_rng(0).bytes(40_000)
    numbers = np.frombuffer(bits, dtype=dtype)
    numbers = numbers[np.isfinite(numbers)]
    back = np.array(column_texts(numbers), dtype=np.float64).astype(dtype)
    assert back.tobytes() == numbers.tobytes()


def test_a_row_is_placed_by_its_line() -> None:
    table = Table(Path("nodes.csv"), {"id": ["a", "b"]}, [2, 5])
    assert len(table) == 2
    assert table.place(1) == "nodes.csv, line 5"
    assert table.texts("id") == ["a", "b"]


def test_blank_is_nothing_or_spaces() -> None:
    assert [is_blank(text) for text in ("", "  ", "\t", "0", " x")] == [True, True, True, False, False]


def test_plain_numbers_are_all_numbers_or_none() -> None:
    found = plain_numbers(["1", " 2.5", "1e3", "-0"])
    assert found is not None
    assert found.tolist() == [1, 2.5, 1000, 0]
    assert plain_numbers(["1", ""]) is None
    assert plain_numbers(["1", "x"]) is None
    assert plain_numbers(["1_0", "2_0"]) is None


def test_names_in_a_message_are_few_short_and_on_one_line() -> None:
    assert listed([]) == "(none)"
    assert listed(["a", "b\nc"]) == "a, b\\nc"
    assert listed(dict.fromkeys("abcdefghijkl")) == "a, b, c, d, e, f, g, h, i, j and 2 more"
    assert listed("abcdefghij") == "a, b, c, d, e, f, g, h, i, j"
    assert shortened("x" * 40) == "x" * 40
    assert shortened("x" * 41) == "x" * 40 + "..."
