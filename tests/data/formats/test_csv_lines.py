"""Records of small CSV files and the lines that they start in."""

from __future__ import annotations

from pathlib import Path

import pytest

from confgcn.data.formats.csv_lines import LineNumbers, Records, raise_for_record
from confgcn.exceptions import DataError

CONTENT = b'# comment\nid;text\n\na;"two\nlines"\n# another\nb;one\n'


def test_records_have_the_line_they_start_in(tmp_path: Path) -> None:
    file = tmp_path / "nodes.csv"
    file.write_bytes(CONTENT)
    assert list(Records(file, CONTENT)) == [["id", "text"], ["a", "two\nlines"], ["b", "one"]]
    numbers = LineNumbers(file, 2)
    assert len(numbers) == 2
    assert list(numbers) == [4, 7]


@pytest.mark.parametrize(
    ("header", "delimiter"), [(b"a,b;c,d\n", ","), (b"a;b\n", ";"), (b"a\tb,c\td\n", "\t"), (b'"x,y,z";b\n', ";")]
)
def test_the_delimiter_is_the_most_frequent_one_outside_quotes(header: bytes, delimiter: str) -> None:
    assert Records(Path("nodes.csv"), header).delimiter == delimiter


def test_a_tsv_file_is_delimited_by_tabs() -> None:
    assert Records(Path("nodes.tsv"), b"a,b,c\td\n").delimiter == "\t"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"id,x\na,1\nb,2,3\n", r"line 3: 3 fields, but the header has 2"),
        (b"id,x\na,\xff\n", r"line 2: not UTF-8 text"),
        (b"id,x\na,1\n\0,2\n", r"line 3: not text, it holds the byte NUL"),
        (b'id,x\na,"1\n', r"line 2: not a CSV record .*is a quote left open"),
    ],
)
def test_the_first_wrong_line_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "nodes.csv"
    file.write_bytes(content)
    with pytest.raises(DataError, match=message):
        raise_for_record(file)
