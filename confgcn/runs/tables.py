"""Tables as columns of texts and numbers, written block by block as CSV or Parquet."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from itertools import chain

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from torch import Tensor

from confgcn.data.formats.arrow_arrays import TEXT, arrow_numbers, arrow_texts
from confgcn.data.formats.delimited import quoted, quoted_column

Numbers = npt.NDArray[np.float32]
Columns = dict[str, list[str] | Numbers]  # of equal length; a blank is "" or NaN


def numbers(values: Tensor) -> Numbers:
    """A column of numbers from a tensor, (n,)."""
    column: Numbers = values.detach().float().numpy()
    return column


def csv_bytes(columns: Columns) -> bytes:
    """A whole table as CSV."""
    return b"".join(csv_blocks([columns]))


def csv_blocks(tables: Iterable[Columns]) -> Iterator[bytes]:
    """Tables with the same columns as one CSV: the header, then the rows of each; there is at least one table.

    Numbers are written with the fewest digits that give the same float32. pyarrow formats and joins the cells; its own
    CSV writer would put every text in quotes.
    """
    tables = iter(tables)
    first = next(tables)
    yield (",".join(map(quoted, first)) + "\n").encode()
    for columns in chain([first], tables):
        cells = [_cells(column) for column in columns.values()]
        count = len(cells[0])
        rows = pc.binary_join_element_wise(*cells, arrow_texts([","] * count))
        lines = pc.binary_join_element_wise(rows, arrow_texts([""] * count), arrow_texts(["\n"] * count))
        yield lines.buffers()[2].to_pybytes() if count else b""


def parquet_blocks(tables: Iterable[Columns]) -> Iterator[bytes]:
    """The same as one Parquet file: texts and float32, a row group for each table."""
    tables = iter(tables)
    first = _arrow(next(tables))
    sink = io.BytesIO()
    with pq.ParquetWriter(_Unclosed(sink), first.schema) as writer:
        for table in chain([first], map(_arrow, tables)):
            writer.write_table(table)
            yield _drained(sink)
    yield _drained(sink)


class _Unclosed:
    """A stream that counts what was written to it, so that what has been drained need not be held."""

    def __init__(self, stream: io.BytesIO) -> None:
        self._stream, self._written, self.closed = stream, 0, False

    def write(self, block: bytes) -> int:
        self._written += self._stream.write(block)
        return len(block)

    def tell(self) -> int:
        return self._written

    def flush(self) -> None: ...

    def close(self) -> None: ...


def _drained(stream: io.BytesIO) -> bytes:
    content = stream.getvalue()
    stream.seek(0)
    stream.truncate()
    return content


def _cells(column: list[str] | Numbers) -> pa.Array:
    """The texts of a column."""
    if isinstance(column, list):
        return arrow_texts(quoted_column(column))
    values = arrow_numbers(column)
    return pc.if_else(pc.is_nan(values), arrow_texts([""] * len(column)), pc.cast(values, TEXT))


def _arrow(columns: Columns) -> pa.Table:
    return pa.table({name: pa.array(column, from_pandas=True) for name, column in columns.items()})
