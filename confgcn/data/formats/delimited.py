"""Tables as text: CSV (RFC 4180) with commas, tabs or semicolons, in UTF-8, plain or compressed.

The first record names the columns. Between records, blank lines and lines that start with # are skipped; a first
cell that starts with # is therefore put in quotes. pyarrow parses the file. Line numbers are found when a message needs
one, by reading the file a second time.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from confgcn.data.formats.arrow_arrays import TEXT, numpy_numbers
from confgcn.data.formats.compressed import read_content
from confgcn.data.formats.csv_lines import BYTE_ORDER_MARK, LineNumbers, Records, raise_for_record
from confgcn.data.formats.table import Column, Table, plain_numbers
from confgcn.exceptions import DataError, brief
from confgcn.graph.validation import shown
from confgcn.io.memory import require_memory

BLOCK_BYTES = 2**24  # that are parsed at once
READER_BYTES = 2**24  # for the stack of the thread that pyarrow reads with, and what it allocates at first
LONGEST_BLOCK = 2**31 - 1  # that pyarrow parses at once

_NEEDS_QUOTES = re.compile(r"""[",;\t\r\n#]|^\s|\s$""")
_MAY_NEED_QUOTES = re.compile(r"""[",;#\s]""")
_SKIPPED_LINE = (b"\n#", b"\r#", b"\n ", b"\r ")  # what may be a comment or a line of spaces
_EMPTY_LINE = (b"\n\n", b"\n\r", b"\r\r")


def read_delimited(path: Path, is_text: Callable[[str], bool] | None = None) -> Table:
    """Read the table in a text file.

    Columns are texts; those that are not ``is_text``, by name, are numbers where every cell is one.
    """
    content = read_content(path)
    if not content:
        raise DataError(f"{path}: the file is empty: no edges or nodes, not even a header")
    text = _separated(path, content)
    chosen = is_text or bool  # no column has an empty name
    columns = _parsed(path, text, chosen)
    if columns.mixed:  # the texts of numbers that came before a word were not kept
        columns = _parsed(path, text, lambda name: name in columns.mixed or chosen(name))
    lines = range(2, columns.num_rows + 2) if text.is_plain else LineNumbers(path, columns.num_rows)
    return Table(path, columns.joined(), lines, comments=text.comments)


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


def quoted(text: str) -> str:
    """A cell, in quotes where it needs them."""
    return '"' + text.replace('"', '""') + '"' if _NEEDS_QUOTES.search(text) else text


def quoted_column(texts: list[str]) -> list[str]:
    """All cells of a column, in quotes where they need them; a column without special characters is returned as is."""
    return [quoted(text) for text in texts] if _MAY_NEED_QUOTES.search("".join(texts)) else texts


@dataclass(frozen=True)
class _Separated:
    """The text of a table.

    Attributes:
        header: the names of the columns.
        delimiter: between cells.
        records: the bytes below the header, without comments and lines of spaces.
        comments: the lines below the header that were skipped because they start with #.
        is_plain: whether the header is the first line, every record is one line, and no line was skipped.
    """

    header: list[str]
    delimiter: str
    records: bytes | memoryview
    comments: int
    is_plain: bool


def _separated(path: Path, content: bytes) -> _Separated:
    if b"\0" in content:
        raise_for_record(path)
    records = Records(path, content)
    header = next(iter(records), None)
    if header is None:
        raise DataError(f"{path}: the file is empty but for blank lines and comments: no edges or nodes")
    _check_header(path, header)
    below: bytes | memoryview = memoryview(content)[records.lines.num_bytes :]
    end = re.escape(records.delimiter.encode()) + rb"\r\n"  # what follows a cell
    cell = rb'(?<![^%s])"(?:[^"]|"")*+"(?![^%s])' % (end, end)
    skipped = rb"(?<![^\r\n])(?:#[^\r\n]*|[ ]+(?=[\r\n]|\Z))(?:\r\n|\r|\n|\Z)"
    has_quotes = b'"' in content
    comments = 0
    is_plain = records.lines.number == 1 and not has_quotes and not any(sign in content for sign in _EMPTY_LINE)
    if below[:1] in (b"#", b" ") or any(sign in content for sign in _SKIPPED_LINE):
        below, comments = _without_skipped(re.compile(rb"(?P<skipped>%s)|%s" % (skipped, cell)), below)
        is_plain = False
    if has_quotes and re.search(rb'(?<![^%s])"' % end, re.sub(cell, b"", below)):
        raise_for_record(path)  # a quote is left open, or text follows a closing one
    return _Separated(header, records.delimiter, below, comments, is_plain)


def _without_skipped(cell_or_skipped: re.Pattern[bytes], content: bytes | memoryview) -> tuple[bytes, int]:
    """The content without comments and lines of spaces outside quotes, and the number of comments."""
    comments = 0

    def kept(found: re.Match[bytes]) -> bytes:
        nonlocal comments
        if found["skipped"] is None:
            return found[0]
        comments += found[0].startswith(b"#")
        return b""

    return cell_or_skipped.sub(kept, content), comments


def _parsed(path: Path, text: _Separated, is_text: Callable[[str], bool]) -> _Columns:
    require_memory(READER_BYTES, "to read a table")  # where its thread finds none, the C library ends the process
    block_bytes = BLOCK_BYTES
    while True:
        columns = _Columns(text.header, is_text)
        try:
            for batch in _batches(text, block_bytes):
                if any(
                    (pc.max(pc.binary_length(cells)).as_py() or 0) > csv.field_size_limit() for cells in batch.columns
                ):
                    raise_for_record(path)  # where a cell has more characters than Python's csv module reads
                columns.add(batch)
            return columns
        except pa.ArrowInvalid as error:
            if "straddling" in str(error) and block_bytes < min(len(text.records), LONGEST_BLOCK):
                block_bytes = min(16 * block_bytes, LONGEST_BLOCK)  # a record is longer than a block
                continue
            raise_for_record(path)
            raise DataError(f"{path}: not readable as CSV ({brief(error)})") from None
        except pa.ArrowException as error:
            if "thread" in str(error):  # that pyarrow reads with, and that has no room under a limit of memory
                raise MemoryError(f"{path}: {brief(error)}") from None
            raise


def _batches(text: _Separated, block_bytes: int) -> Iterator[Any]:
    """The cells of some records at a time, as texts."""
    records = text.records
    if not len(records):
        return
    if records[:3] == BYTE_ORDER_MARK:  # part of the first cell, but pyarrow drops it from the start of what it reads
        records = b"\n" + records
    names = [str(place) for place in range(len(text.header))]
    yield from arrow_csv.open_csv(
        pa.BufferReader(records),
        arrow_csv.ReadOptions(use_threads=False, block_size=block_bytes, column_names=names),
        arrow_csv.ParseOptions(delimiter=text.delimiter, newlines_in_values=not text.is_plain),
        arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, TEXT),
            null_values=[],
            strings_can_be_null=False,
            quoted_strings_can_be_null=False,
        ),
    )


class _Columns:
    """Columns that grow by blocks of rows, as texts or as numbers."""

    def __init__(self, header: Sequence[str], is_text: Callable[[str], bool]) -> None:
        self._texts: dict[str, list[Any]] = {name: [] for name in header if is_text(name)}
        self._numbers: dict[str, list[npt.NDArray[np.float64]]] = {name: [] for name in header if not is_text(name)}
        self._header = header
        self.num_rows = 0
        self.mixed: set[str] = set()  # columns in which a word came after a block of numbers

    def add(self, batch: Any) -> None:
        """Append the rows of a batch."""
        self.num_rows += batch.num_rows
        if not batch.num_rows:
            return
        for name, cells in zip(self._header, batch.columns, strict=True):
            numbers = _numbers(cells) if name in self._numbers else None
            if numbers is not None:
                self._numbers[name].append(numbers)
            elif name in self._texts:
                self._texts[name].append(cells)
            elif self._numbers[name]:
                self.mixed.add(name)
            else:
                del self._numbers[name]
                self._texts[name] = [cells]

    def joined(self) -> dict[str, Column]:
        """The columns in the order of the header; a column without rows is one of texts."""
        joined: dict[str, Column] = {}
        for name in self._header:
            numbers, texts = self._numbers.get(name), self._texts.get(name, [])
            joined[name] = np.concatenate(numbers) if numbers else pa.chunked_array(texts, TEXT).combine_chunks()
        return joined


def _numbers(cells: Any) -> npt.NDArray[np.float64] | None:
    """Cells as numbers, if each of them is one.

    pyarrow reads plain numbers and rounds them as Python does; Python decides about spaces, other digits and NaN.
    """
    try:
        numbers = numpy_numbers(pc.cast(cells, pa.float64()))
    except pa.ArrowInvalid:
        return plain_numbers(cells.to_pylist())
    return plain_numbers(cells.to_pylist()) if np.isnan(numbers).any() else numbers


def _check_header(path: Path, header: list[str]) -> None:
    try:
        "".join(header).encode()
    except UnicodeEncodeError:
        raise_for_record(path)
    twice = [name for name, times in Counter(header).items() if times > 1 and name]
    if twice:
        raise DataError(f"{path}: column {shown(twice[0])} appears twice in the header; rename one")
    if "" in header:
        raise DataError(
            f"{path}: column {header.index('') + 1} has no name; is it a row index? Then write the table without it"
        )
