"""Columns as CSV: the same bytes at once and block by block, every cell quoted where it needs it."""

from __future__ import annotations

import csv
import io
import math

import torch

from confgcn.data.formats.delimited import quoted
from confgcn.runs.csv_table import csv_blocks, numbers, table_bytes


def test_numbers_have_nine_digits_each() -> None:
    values = [0.0, -0.0, 1.0, 1 / 3, -2e-308, 1e300, 123456789.5, math.inf, math.nan, 1e-5, 5e-324]
    assert numbers(torch.tensor(values, dtype=torch.float64)) == [format(value, ".9g") for value in values]
    assert numbers(torch.empty(0)) == []


def test_nine_digits_give_a_float32_back() -> None:
    values = torch.randn(1000)
    assert torch.equal(torch.tensor([float(text) for text in numbers(values)]), values)


def test_cells_come_back_as_they_were() -> None:
    texts = ["plain", "a,b", 'a "b"', " leading", "trailing\t", "two\nlines", "#", "ü;", "", "in side", "\u2003"]
    columns = {"text, or so": texts, "number": [str(number) for number in range(len(texts))]}
    content = table_bytes(columns)
    assert list(csv.reader(io.StringIO(content.decode(), newline=""))) == [
        list(columns),
        *map(list, zip(*columns.values(), strict=True)),
    ]
    lines = [",".join(map(quoted, row)) for row in (columns, *zip(*columns.values(), strict=True))]
    assert content.decode() == "".join(line + "\n" for line in lines)


def test_blocks_of_rows_are_one_table() -> None:
    parts = [{"a": ["1", "2"], "b": ["x,y", ""]}, {"a": ["3"], "b": ["z"]}]
    blocks = list(csv_blocks(parts))
    assert b"".join(blocks) == table_bytes({"a": ["1", "2", "3"], "b": ["x,y", "", "z"]})
    assert blocks[0] == b"a,b\n"


def test_a_table_without_rows_has_a_header() -> None:
    assert table_bytes({"a": [], "b": []}) == b"a,b\n"
