"""Text tables are read to the letter, or refused with the line."""

from __future__ import annotations

import csv
import gzip
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confgcn.data.formats import delimited
from confgcn.data.formats.csv_lines import Records
from confgcn.data.formats.delimited import delimited_bytes, read_delimited
from confgcn.data.formats.table import Table
from confgcn.exceptions import DataError


def saved(folder: Path, content: str | bytes, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def columns(table: Table) -> dict[str, list[Any]]:
    """Texts as they are read, arrays as numbers."""
    return {
        name: column.tolist() if isinstance(column, np.ndarray) else list(table.texts(name))
        for name, column in table.columns.items()
    }


def test_columns_and_the_first_line_of_each_row(tmp_path: Path) -> None:
    table = read_delimited(saved(tmp_path, 'id,note\na,"x\ny"\nb,z\n'))
    assert columns(table) == {"id": ["a", "b"], "note": ["x\ny", "z"]}
    assert list(table.lines) == [2, 4]


def test_g08_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path: Path) -> None:
    assert list(read_delimited(saved(tmp_path, b"\xef\xbb\xbfsource,target\na,b\n")).columns) == ["source", "target"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False], ids=["final newline", "none"])
def test_g09_line_ends_make_no_difference(tmp_path: Path, end: str, last: bool) -> None:
    text = end.join(["source,target", "a,b", "b,c"]) + (end if last else "")
    table = read_delimited(saved(tmp_path, text))
    assert columns(table) == {"source": ["a", "b"], "target": ["b", "c"]}
    assert list(table.lines) == [2, 3]


def test_g09_line_ends_may_be_mixed(tmp_path: Path) -> None:
    table = read_delimited(saved(tmp_path, "source,target\r\na,b\rb,c\nc,d"))
    assert table.texts("target") == ["b", "c", "d"]
    assert list(table.lines) == [2, 3, 4]


def test_g14_quotes_hold_commas_quotes_and_line_ends(tmp_path: Path) -> None:
    table = read_delimited(saved(tmp_path, 'id,label\n"a,1","say ""hi"""\n"b\r\n2", x \n'))
    assert columns(table) == {"id": ["a,1", "b\r\n2"], "label": ['say "hi"', " x "]}


def test_characters_that_only_some_programs_take_for_line_ends_stay_in_the_text(tmp_path: Path) -> None:
    odd = "a\x0bb\x0cc\x1cd\x85e\u2028f"
    assert read_delimited(saved(tmp_path, f"id,x\n{odd},1\n")).texts("id") == [odd]


def test_g15_blank_lines_and_comments_are_skipped_between_records_only(tmp_path: Path) -> None:
    table = read_delimited(saved(tmp_path, '# by hand\n\nid,note\n  \n#1,no row\na,"two\n\n# lines"\n"#2",x\n'))
    assert columns(table) == {"id": ["a", "#2"], "note": ["two\n\n# lines", "x"]}
    assert list(table.lines) == [6, 9]
    assert table.comments == 1  # the one above the header cannot have been a row


def test_a_row_of_blank_cells_is_a_row(tmp_path: Path) -> None:
    assert columns(read_delimited(saved(tmp_path, "a\tb\n\t\n", "table.tsv"))) == {"a": [""], "b": [""]}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("table.tsv", 'a\tb;"c,d"\n1\t2\n'),
        ("table.TSV.gz", "a\tb\n1\t2\n"),
        ("table.csv", "a\tb\n1\t2\n"),
        ("table.txt", "a;b\n1;2\n"),
        ("table.csv", '"a,,,";b\n1;2\n'),
        ("table.csv", '"a\n,,";b\n1;2\n'),
    ],
)
def test_the_separator_is_told_by_suffix_or_header(tmp_path: Path, name: str, text: str) -> None:
    content = gzip.compress(text.encode()) if name.endswith("gz") else text.encode()
    assert list(columns(read_delimited(saved(tmp_path, content, name))).values()) == [["1"], ["2"]]


def test_one_column_needs_no_separator(tmp_path: Path) -> None:
    assert columns(read_delimited(saved(tmp_path, "id\na;b\n"))) == {"id": ["a;b"]}


def test_g06_a_ragged_row_names_its_line_and_both_counts(tmp_path: Path) -> None:
    rows = "a,b\n" * 4998
    with pytest.raises(DataError, match=r"table\.csv, line 5000: 3 fields, but the header has 2"):
        read_delimited(saved(tmp_path, f"source,target\n{rows}a,b,c\n"))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(b"", "the file is empty", id="G04 empty"),
        pytest.param(b"\n# only this\n", "empty but for blank lines", id="comments alone"),
        pytest.param(b"a,b\n1,\xff\n", "line 2: not UTF-8", id="not UTF-8"),
        pytest.param("a,b\n1,2\n".encode("utf-16"), "not UTF-8", id="UTF-16"),
        pytest.param(b"a,b\n1,\x00\n", "line 2: not text", id="NUL"),
        pytest.param(b"PK\x03\x04\x00\x00", "not text", id="zip archive"),
        pytest.param(b'a,b\n1,"2\n3,4\n', "line 2: not a CSV record", id="open quote"),
        pytest.param(b'a,b\n1,"2"3\n', "line 2: not a CSV record", id="text after a quote"),
        pytest.param(b"a,a\n1,2\n", "column 'a' appears twice in the header", id="same name twice"),
        pytest.param(b",a\n0,1\n", "column 1 has no name", id="index of pandas"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    with pytest.raises(DataError, match=rf"table\.csv.*{words}"):
        read_delimited(saved(tmp_path, content))


def test_g12_a_file_packed_twice_is_not_parsed_as_text(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not UTF-8"):
        read_delimited(saved(tmp_path, gzip.compress(gzip.compress(b"a,b\n1,2\n"))))


def test_a_header_alone_is_a_table_without_rows(tmp_path: Path) -> None:
    table = read_delimited(saved(tmp_path, "a,b\n"), lambda name: name == "a")
    assert columns(table) == {"a": [], "b": []}
    assert len(table) == 0


def test_columns_of_numbers_are_arrays_unless_they_are_to_stay_texts(tmp_path: Path) -> None:
    table = read_delimited(saved(tmp_path, "id,x,y\n007,1,a\n8,2.5,3\n"), lambda name: name == "id")
    assert table.texts("id") == ["007", "8"]
    assert isinstance(table.columns["x"], np.ndarray)
    assert table.columns["x"].tolist() == [1, 2.5]
    assert table.texts("y") == ["a", "3"]


def test_a_word_after_many_numbers_keeps_all_of_the_column_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 14)  # two rows
    path = saved(tmp_path, "id,x,y\na,01,1\nb,2.50,2\nc,3,3\nd,word,4\ne,5,5\n")
    table = read_delimited(path, lambda name: name == "id")
    assert table.texts("x") == ["01", "2.50", "3", "word", "5"]
    assert list(table.columns["y"]) == [1, 2, 3, 4, 5]
    assert table.texts("id") == list("abcde")


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    texts = {"id": ["a,b", 'c"d', "e\r\nf", "#g", " h ", "=cmd()"], "x;y;z": ["", "1", "\t", "ü", "\u2028", "'"]}
    assert columns(read_delimited(saved(tmp_path, delimited_bytes(texts)))) == texts


def test_a_text_with_nul_cannot_be_written() -> None:
    with pytest.raises(DataError, match="NUL"):
        delimited_bytes({"id": ["a\0"]})


def test_a_text_longer_than_is_read_is_not_written() -> None:
    longest = csv.field_size_limit()
    assert len(delimited_bytes({"id": ["x" * longest]})) > longest
    with pytest.raises(DataError, match=r"a text has 131,073 characters.*\.npz"):
        delimited_bytes({"id": ["x" * (longest + 1)]})


def test_a_quote_that_is_never_closed_does_not_take_for_ever(tmp_path: Path) -> None:
    lines = '"never closed\n' + "a,b\n" * 30_000
    with pytest.raises(DataError, match=r"table\.csv, line 1: not a CSV record"):
        read_delimited(saved(tmp_path, lines))


def test_a_long_name_that_stands_twice_is_shortened(tmp_path: Path) -> None:
    name = "x" * 5000
    with pytest.raises(DataError, match=r"'x{60}'\.\.\. \(5,000 characters\) appears twice in the header"):
        read_delimited(saved(tmp_path, f"{name},{name}\n"))


def test_a_record_longer_than_a_block_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 8)
    long = "x" * 1000
    assert columns(read_delimited(saved(tmp_path, f"id,note\na,{long}\nb,y\n"))) == {
        "id": ["a", "b"],
        "note": [long, "y"],
    }


def test_a_byte_order_mark_inside_the_file_is_text(tmp_path: Path) -> None:
    table = read_delimited(saved(tmp_path, "\ufeffid,x\n\ufeffa,1\n\ufeffb,2\n"))
    assert table.texts("id") == ["\ufeffa", "\ufeffb"]


def test_line_numbers_are_right_below_blank_lines_comments_and_quoted_line_ends(tmp_path: Path) -> None:
    table = read_delimited(saved(tmp_path, '\n#c\nid,x\r\n\r\na,"1\n2"\r  \n#c\n"b",3\n\nc,4'))
    assert columns(table) == {"id": ["a", "b", "c"], "x": ["1\n2", "3", "4"]}
    assert [table.lines[row] for row in range(3)] == [5, 9, 11]


@pytest.mark.parametrize("text", [" 2", "+2", "2.", "\uff12", "2e0", "\t2"])
def test_numbers_are_read_as_python_reads_them(tmp_path: Path, text: str) -> None:
    assert columns(read_delimited(saved(tmp_path, f"id,x\na,1\nb,{text}\n"), lambda name: name == "id"))["x"] == [1, 2]


@pytest.mark.parametrize("text", ["1_0", "nan(7)", "0x10", "1d5"])
def test_what_python_does_not_read_as_a_number_stays_text(tmp_path: Path, text: str) -> None:
    table = read_delimited(saved(tmp_path, f"id,x\na,1\nb,{text}\n"), lambda name: name == "id")
    assert columns(table)["x"] == ["1", text]


CELLS = ["a", "1", '"q"', '"x\ny"', '"a""b"', " ", "", "#z", '"#z"', '"\n#c\n"', 'x"y', "-1e3", ' "', "\x0b", "é"]
ENDS = ["\n", "\r\n", "\r", "\n\n", '\n#c"\n', "\n  \n"]


@settings(max_examples=300, deadline=None)
@given(rows=st.lists(st.tuples(st.sampled_from(CELLS), st.sampled_from(CELLS), st.sampled_from(ENDS))))
def test_cells_and_lines_are_those_of_the_csv_module(rows: list[tuple[str, str, str]]) -> None:
    content = ("a,b\n" + "".join(f"{one},{other}{end}" for one, other, end in rows)).encode()
    with tempfile.TemporaryDirectory() as folder:
        path = saved(Path(folder), content)
        try:
            table = read_delimited(path)
            found = [*zip(*columns(table).values(), strict=True)], list(table.lines)
        except DataError:
            found = None
    assert found == by_csv_module(path, content)


def by_csv_module(path: Path, content: bytes) -> tuple[list[tuple[str, ...]], list[int]] | None:
    """The rows below the header and their lines; None where there is an error."""
    records = Records(path, content)
    try:
        rows = [(tuple(record), records.lines.first) for record in records][1:]
    except DataError:
        return None
    return ([row for row, _ in rows], [line for _, line in rows]) if all(len(row) == 2 for row, _ in rows) else None


def test_a_reading_thread_that_cannot_start_is_a_lack_of_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> Any:
        raise pa.ArrowException("Unknown error: Failed to launch worker thread: Resource temporarily unavailable")

    monkeypatch.setattr(delimited.arrow_csv, "open_csv", fails)
    with pytest.raises(MemoryError, match=r"table\.csv: .*worker thread"):
        read_delimited(saved(tmp_path, "a,b\n1,2\n"))
