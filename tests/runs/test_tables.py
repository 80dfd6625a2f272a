"""Columns as CSV and Parquet: the same table at once and block by block, every cell as it was."""

from __future__ import annotations

import csv
import io

import numpy as np
import pyarrow.parquet as pq
import torch

from confgcn.data.formats.delimited import quoted
from confgcn.runs.tables import csv_blocks, csv_bytes, numbers, parquet_blocks


def rows(content: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode(), newline="")))


def test_numbers_give_the_same_float32_back_and_nan_is_blank() -> None:
    values = torch.cat([torch.randn(1000), torch.tensor([0.0, 1.0, 1 / 3, -2e-30, 3e38, 123456789.5, 1e-5])])
    texts = [row[0] for row in rows(csv_bytes({"x": numbers(values)}))[1:]]
    assert np.array_equal(np.array(texts, dtype=np.float32), values.numpy())
    assert csv_bytes({"x": numbers(torch.tensor([0.5, torch.nan, 1.0]))}) == b"x\n0.5\n\n1\n"


def test_texts_come_back_as_they_were_and_are_quoted_only_where_needed() -> None:
    texts = ["plain", "a,b", 'a "b"', " leading", "trailing\t", "two\nlines", "#", "ü;", "", "in side", "\u2003"]
    columns = {"text, or so": texts, "number": numbers(torch.arange(len(texts)))}
    content = csv_bytes(columns)
    expected = [["text, or so", "number"], *([text, str(place)] for place, text in enumerate(texts))]
    assert rows(content) == expected
    assert content.decode() == "".join(",".join(map(quoted, row)) + "\n" for row in expected)


def test_blocks_of_rows_are_one_table() -> None:
    tables = [
        {"a": ["1", "2"], "b": numbers(torch.tensor([0.5, 2]))},
        {"a": ["x,y"], "b": numbers(torch.tensor([3.0]))},
    ]
    whole = {"a": ["1", "2", "x,y"], "b": numbers(torch.tensor([0.5, 2, 3]))}
    blocks = list(csv_blocks(tables))
    assert blocks[0] == b"a,b\n"
    assert b"".join(blocks) == csv_bytes(whole)
    blocks = list(parquet_blocks(tables))
    assert len(blocks) == 3
    read = pq.read_table(io.BytesIO(b"".join(blocks))).to_pydict()
    assert read == {"a": whole["a"], "b": whole["b"].tolist()}


def test_a_blank_number_is_missing_in_parquet() -> None:
    content = b"".join(parquet_blocks([{"x": numbers(torch.tensor([0.5, torch.nan]))}]))
    assert pq.read_table(io.BytesIO(content)).to_pydict() == {"x": [0.5, None]}


def test_a_table_without_rows_has_a_header() -> None:
    assert csv_bytes({"a": [], "b": numbers(torch.empty(0))}) == b"a,b\n"
