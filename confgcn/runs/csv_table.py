"""Tables as columns of texts, and as CSV: at once, or block by block where a table is too large to be held."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from torch import Tensor

from confgcn.data.formats.delimited import quoted, quoted_column

NUMBER = "%.9g"  # whose nine digits give a float32 back exactly
Columns = dict[str, list[str]]


def numbers(values: Tensor) -> list[str]:
    """Numbers (n,) as texts."""
    texts = f"{NUMBER} " * len(values) % tuple(values.tolist())  # at once: half the time of one by one
    return texts.split()


def table_bytes(columns: Columns) -> bytes:
    """A whole table as CSV."""
    return b"".join(csv_blocks([columns]))


def csv_blocks(tables: Iterable[Columns]) -> Iterator[bytes]:
    """Tables with the same columns as one CSV: the header, then the rows of each; there is at least one."""
    tables = iter(tables)
    first = next(tables)
    yield _line(map(quoted, first))
    for columns in chain([first], tables):
        texts = map(quoted_column, columns.values())
        yield b"".join(map(_line, zip(*texts, strict=True)))


def _line(cells: Iterable[str]) -> bytes:
    return (",".join(cells) + "\n").encode()
