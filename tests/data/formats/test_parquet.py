"""Parquet tables: numbers stay numbers, ids never get a .0, and types that are no column are named."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confgcn.data.formats import parquet
from confgcn.data.formats.parquet import parquet_bytes, read_parquet, whole_number_blocks, whole_number_columns
from confgcn.exceptions import DataError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def saved(folder: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), folder / "nodes.parquet")
    return folder / "nodes.parquet"


def test_columns_keep_their_types_and_rows_are_counted_from_one(tmp_path: Path) -> None:
    table = read_parquet(saved(tmp_path, id=[7, 8], x=[0.5, 1.0], flag=[True, False], name=["a", None]))
    assert table.texts("id") == ["7", "8"]
    assert table.texts("x") == ["0.5", "1"]
    assert table.texts("flag") == ["true", "false"]
    assert table.texts("name") == ["a", ""]
    assert table.place(1) == f"{tmp_path / 'nodes.parquet'}, row 2"


@pytest.mark.parametrize(
    ("column", "texts"),
    [
        pytest.param(pa.array([2**53 + 1, None]), ["9007199254740993", ""], id="whole with a gap"),
        pytest.param(pa.array([2**64 - 1], pa.uint64()), ["18446744073709551615"], id="unsigned"),
        pytest.param(pa.array([True, None]), ["true", ""], id="boolean with a gap"),
        pytest.param(pa.array([7.0, None, float("nan")]), ["7", "", ""], id="float with gaps"),
        pytest.param(pa.array([0.1], pa.float32()), ["0.100000001"], id="float32"),
        pytest.param(pa.array(["a", "b", "a"]).dictionary_encode(), ["a", "b", "a"], id="dictionary"),
        pytest.param(pa.array(["a"], pa.large_string()), ["a"], id="large text"),
        pytest.param(pa.nulls(2), ["", ""], id="nulls"),
    ],
)
def test_texts_of_a_column(tmp_path: Path, column: Any, texts: list[str]) -> None:
    assert list(read_parquet(saved(tmp_path, a=column)).texts("a")) == texts


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        pytest.param([[1, 2]], "list", id="nested"),
        pytest.param([b"x"], "binary", id="binary"),
        pytest.param([datetime.datetime(2020, 1, 1)], "timestamp", id="time"),
        pytest.param([datetime.date(2020, 1, 1)], "date32", id="date"),
    ],
)
def test_x09_a_type_that_is_no_column_is_named_unless_ignored(tmp_path: Path, column: Any, kind: str) -> None:
    path = saved(tmp_path, id=[1], odd=column)
    with pytest.raises(DataError, match=rf"nodes\.parquet: column 'odd' has the type {kind}.*--ignore odd"):
        read_parquet(path)
    assert list(read_parquet(path, ["odd"]).columns) == ["id", "odd"]


def test_every_truncation_is_an_error(tmp_path: Path) -> None:
    path = saved(tmp_path, id=[1, 2])
    content = path.read_bytes()
    for length in range(0, len(content), 7):
        path.write_bytes(content[:length])
        with pytest.raises(DataError, match=r"nodes\.parquet: not a readable Parquet file"):
            read_parquet(path)


def test_text_that_is_no_utf8_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "nodes.parquet"
    pq.write_table(pa.table({"id": ["unmistakable"]}), path, compression="none", use_dictionary=False)
    path.write_bytes(path.read_bytes().replace(b"unmistakable", b"\xd8nmistakable"))
    with pytest.raises(DataError, match=r"nodes\.parquet: not a readable Parquet file"):
        read_parquet(path)


def test_a_table_beyond_the_cap_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path, a=pa.array(np.zeros(10_000, dtype=np.int64)))
    assert len(read_parquet(path)) == 10_000
    monkeypatch.setattr(parquet, "MAX_BYTES", 79_999)
    with pytest.raises(DataError, match="more than is read from one file"):
        read_parquet(path)


def test_g01_a_missing_file_is_an_error_of_the_machine(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere\.parquet"):
        read_parquet(tmp_path / "nowhere.parquet")


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "nodes.parquet"
    numbers = np.array([0.1, -0.0], dtype=np.float32)
    path.write_bytes(parquet_bytes({"id": ["a\0", "\n"], "label": [None, "x"], "f": numbers}))
    table = read_parquet(path)
    assert table.texts("id") == ["a\0", "\n"]
    assert table.texts("label") == ["", "x"]
    assert isinstance(table.columns["f"], np.ndarray)
    assert table.columns["f"].tobytes() == numbers.tobytes()


def test_long_names_and_types_are_shortened(tmp_path: Path) -> None:
    long = "x" * 4000
    nested = pa.array([{f"{long}{number}": 1 for number in range(20)}])
    with pytest.raises(DataError, match=r"column 'x{60}'\.\.\. \(4,000 characters\) has the type struct") as raised:
        read_parquet(saved(tmp_path, **{long: nested}))
    assert len(str(raised.value)) < 600
    pq.write_table(pa.table([[1], [2]], names=[long, long]), tmp_path / "nodes.parquet")
    with pytest.raises(DataError, match=r"column 'x{60}'\.\.\. \(4,000 characters\) appears twice; rename one"):
        read_parquet(tmp_path / "nodes.parquet")


def test_whole_numbers_are_read_some_rows_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "edges.parquet"
    path.write_bytes(parquet_bytes({"a": np.arange(5, dtype=np.uint8), "b": np.arange(5) - 2}))
    assert whole_number_columns(path) == (5, 2)
    found = [block.tolist() for block in whole_number_blocks(path, 2)]
    assert found == [[[0, -2], [1, -1]], [[2, 0], [3, 1]], [[4, 2]]]


def test_what_is_no_whole_number_is_named(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    path = tmp_path / "edges.parquet"
    path.write_bytes(parquet_bytes({"a": [1.5], "b": np.arange(1)}))
    with pytest.raises(DataError, match=r"edges\.parquet: column 'a' has the type double"):
        whole_number_columns(path)
    too_large = arrow.array([1, 2**63], arrow.uint64())
    for column, message in ((arrow.array([1, None]), "holds a blank"), (too_large, "not a readable")):
        arrow.parquet.write_table(arrow.table({"a": column, "b": column}), path)
        with pytest.raises(DataError, match=rf"edges\.parquet: {message}"):
            list(whole_number_blocks(path, 2))
