"""The records of a CSV file with their line numbers, by Python's csv module: slow, for the header and for messages."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import overload

from confgcn.data.formats.compressed import read_content
from confgcn.data.input_files import suffix_of
from confgcn.exceptions import DataError

DELIMITERS = (",", "\t", ";")
BLANK = " \r\n"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_LINE = re.compile(rb"[^\r\n]+(?:\r\n|\r|\n)?|\r\n|\r|\n")


class LineNumbers(Sequence[int]):
    """The first line of each record below the header, found when one of them is needed."""

    def __init__(self, path: Path, count: int) -> None:
        self._path = path
        self._count = count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, row: int) -> int: ...
    @overload
    def __getitem__(self, row: slice) -> Sequence[int]: ...
    def __getitem__(self, row: int | slice) -> int | Sequence[int]:
        return self._numbers[row]

    @cached_property
    def _numbers(self) -> list[int]:
        records = Records(self._path, read_content(self._path))
        return [records.lines.first for _ in records][1:]


class Records:
    """The records of a file one by one with their lines: slow, for the header and for messages."""

    def __init__(self, path: Path, content: bytes) -> None:
        self._path = path
        self.lines = _Lines(content)
        self.delimiter = "\t" if suffix_of(path) == ".tsv" else _frequent_delimiter(content)

    def __iter__(self) -> Iterator[list[str]]:
        try:
            for record in csv.reader(self.lines, delimiter=self.delimiter, strict=True):
                yield record
                self.lines.between_records = True
        except csv.Error as error:
            place = f"{self._path}, line {self.lines.first}"
            raise DataError(f"{place}: not a CSV record ({error}); is a quote left open?") from None


class _Lines:
    """The lines of a file for the csv module, without the blank ones and comments between records."""

    def __init__(self, content: bytes) -> None:
        self._lines = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig", errors="surrogateescape", newline="")
        self.num_bytes = len(BYTE_ORDER_MARK) if content.startswith(BYTE_ORDER_MARK) else 0
        self.number = 0
        self.first = 0  # the first line of the last record
        self.between_records = True

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        for line in self._lines:
            self.number += 1
            self.num_bytes += len(line.encode(errors="surrogateescape"))
            if not self.between_records:
                return line
            if not line.startswith("#") and line.strip(BLANK):
                self.between_records = False
                self.first = self.number
                return line
        raise StopIteration


def raise_for_record(path: Path) -> None:
    """Raise the error of the first line that is not text, else of the first record that does not fit the header."""
    content = read_content(path)
    for number, found in enumerate(_LINE.finditer(content), start=1):
        try:
            line = found[0].decode()
        except UnicodeDecodeError:
            raise DataError(f"{path}, line {number}: not UTF-8 text; write the table as UTF-8") from None
        if "\0" in line:
            raise DataError(f"{path}, line {number}: not text, it holds the byte NUL; write the table as UTF-8 text")
    records = Records(path, content)
    expected = None
    for record in records:
        expected = len(record) if expected is None else expected
        if len(record) != expected:
            raise DataError(
                f"{path}, line {records.lines.first}: {len(record)} fields, but the header has {expected}; "
                'put a cell that holds the separator in quotes: "..."'
            )


def _frequent_delimiter(content: bytes) -> str:
    """The delimiter that is most frequent in the header, outside quotes."""
    header, quotes = [], 0
    for line in _Lines(content):
        header.append(line)
        quotes += line.count('"')
        if quotes % 2 == 0:
            break
    outside_quotes = re.sub('"[^"]*"', "", "".join(header))
    return max(DELIMITERS, key=outside_quotes.count)
