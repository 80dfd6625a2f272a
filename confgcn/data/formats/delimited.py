"""Tables as text: CSV as RFC 4180 has it, with commas, tabs or semicolons, in UTF-8, plain or compressed.

The first record names the columns. Between records, blank lines and lines that start with # are skipped; a first
cell that starts with # is therefore put in quotes.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from confgcn.data.formats.compressed import read_content
from confgcn.data.formats.table import Column, Table, plain_numbers
from confgcn.data.input_files import suffix_of
from confgcn.exceptions import DataError
from confgcn.graph.validation import shown

DELIMITERS = (",", "\t", ";")
BLOCK_ROWS = 1024
BLANK = " \r\n"

_NEEDS_QUOTES = re.compile(r"""[",;\t\r\n#]|^\s|\s$""")
_MAY_NEED_QUOTES = re.compile(r"""[",;#\s]""")


def read_delimited(path: Path, is_text: Callable[[str], bool] | None = None) -> Table:
    """The table in a text file.

    Columns are texts; those that are not ``is_text``, by name, become numbers at once where every cell is one, which
    takes a tenth of the memory.
    """
    content = read_content(path)
    if not content:
        raise DataError(f"{path}: the file is empty: no edges or nodes, not even a header")
    _check_is_text(path, content)
    chosen = is_text or bool  # no column has an empty name
    table, mixed = _read(path, content, chosen)
    if mixed:  # the texts of numbers that came before a word are gone
        table, _ = _read(path, content, lambda name: name in mixed or chosen(name))
    return table


def _read(path: Path, content: bytes, is_text: Callable[[str], bool]) -> tuple[Table, set[str]]:
    lines = _Lines(content)
    records = _records(path, lines, _delimiter(path, content))
    header = next(records, None)
    if header is None:
        raise DataError(f"{path}: the file is empty but for blank lines and comments: no edges or nodes")
    _check_header(path, header)
    lines.comments = 0  # those above the header are no rows
    columns = _Columns(header, is_text)
    block, numbers = [], []
    for row in records:
        if len(row) != len(header):
            raise DataError(_ragged(path, lines.first, len(row), len(header)))
        block.append(row)
        numbers.append(lines.first)
        if len(block) == BLOCK_ROWS:
            columns.add(block)
            block = []
    columns.add(block)
    return Table(path, columns.joined(), numbers, comments=lines.comments), columns.mixed


def delimited_bytes(columns: dict[str, Sequence[str]]) -> bytes:
    """A table as CSV that :func:`read_delimited` reads back to the same texts."""
    rows = [list(columns), *zip(*columns.values(), strict=True)]
    longest = max((len(text) for row in rows for text in row), default=0)
    if longest > csv.field_size_limit():
        raise DataError(f"a text has {longest:,} characters, more than is read from a text file; write an .npz file")
    text = "".join(",".join(map(quoted, row)) + "\n" for row in rows)
    if "\0" in text:
        raise DataError("a text holds the character NUL, which a text file cannot; write an .npz file")
    return text.encode()


class _Columns:
    """Columns that grow by blocks of rows, as texts or as numbers."""

    def __init__(self, header: Sequence[str], is_text: Callable[[str], bool]) -> None:
        self._texts: dict[str, list[str]] = {name: [] for name in header if is_text(name)}
        self._numbers: dict[str, list[npt.NDArray[np.float64]]] = {name: [] for name in header if not is_text(name)}
        self._header = header
        self.mixed: set[str] = set()  # columns in which a word came after numbers

    def add(self, rows: Sequence[Sequence[str]]) -> None:
        """Rows below those that are there."""
        for name, cells in zip(self._header, zip(*rows, strict=True), strict=bool(rows)):
            numbers = plain_numbers(cells) if name in self._numbers else None
            if numbers is not None:
                self._numbers[name].append(numbers)
            elif name in self._texts:
                self._texts[name].extend(cells)
            elif self._numbers[name]:
                self.mixed.add(name)
            else:
                del self._numbers[name]
                self._texts[name] = list(cells)

    def joined(self) -> dict[str, Column]:
        """The columns in the order of the header; none of the numbers where a column has no row."""
        joined: dict[str, Column] = {}
        for name in self._header:
            blocks = self._numbers.get(name)
            joined[name] = np.concatenate(blocks) if blocks else self._texts.get(name, [])
        return joined


class _Lines:
    """The lines of a file for the csv module, without the blank ones and comments between records."""

    def __init__(self, content: bytes) -> None:
        self._lines = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig", newline="")
        self.number = 0
        self.first = 0  # the first line of the last record
        self.comments = 0
        self.between_records = True

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        for line in self._lines:
            self.number += 1
            if not self.between_records:
                return line
            if line.startswith("#"):
                self.comments += 1
            elif line.strip(BLANK):
                self.between_records = False
                self.first = self.number
                return line
        raise StopIteration


def _records(path: Path, lines: _Lines, delimiter: str) -> Iterator[list[str]]:
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        for record in reader:
            yield record
            lines.between_records = True
    except csv.Error as error:
        raise DataError(f"{path}, line {lines.first}: not a CSV record ({error}); is a quote left open?") from None


def _check_is_text(path: Path, content: bytes) -> None:
    try:
        content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(f"{path}, line {line}: not UTF-8 text; write the table as UTF-8") from None
    if b"\0" in content:
        line = content.count(b"\n", 0, content.index(b"\0")) + 1
        raise DataError(f"{path}, line {line}: not text, it holds the byte NUL; write the table as UTF-8 text")


def _delimiter(path: Path, content: bytes) -> str:
    if suffix_of(path) == ".tsv":
        return "\t"
    header, quotes = [], 0
    for line in _Lines(content):
        header.append(line)
        quotes += line.count('"')
        if quotes % 2 == 0:
            break
    outside_quotes = re.sub('"[^"]*"', "", "".join(header))
    return max(DELIMITERS, key=outside_quotes.count)


def _check_header(path: Path, header: list[str]) -> None:
    twice = [name for name, times in Counter(header).items() if times > 1 and name]
    if twice:
        raise DataError(f"{path}: column {shown(twice[0])} stands twice in the header; rename one")
    if "" in header:
        raise DataError(
            f"{path}: column {header.index('') + 1} has no name; is it a row index? Then write the table without it"
        )


def _ragged(path: Path, line: int, found: int, expected: int) -> str:
    return (
        f"{path}, line {line}: {found} fields, but the header has {expected}; "
        'put a cell that holds the separator in quotes: "..."'
    )


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if _NEEDS_QUOTES.search(text) else text


def quoted_column(texts: list[str]) -> list[str]:
    """All texts, quoted where they need it; numbers never do, and are not looked at one by one."""
    return [quoted(text) for text in texts] if _MAY_NEED_QUOTES.search("".join(texts)) else texts
