"""Tables as Parquet files, by pyarrow."""

from __future__ import annotations

import io
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from confgcn.data.formats.array_files import MAX_BYTES
from confgcn.data.formats.arrow_arrays import TEXT, arrow_texts, filled, numpy_numbers
from confgcn.data.formats.table import Column, Table, shortened
from confgcn.data.input_files import naming
from confgcn.exceptions import ConfGCNError, CorruptFileError, DataError, brief
from confgcn.graph.validation import shown

MAGIC = b"PAR1"
CELL_BYTES = 8  # of a number in memory


def read_parquet(path: Path, ignore: Sequence[str] = ()) -> Table:
    """The table in a Parquet file; the columns to ignore may be of any type."""
    with _opened(path) as file:
        return _read(path, file, ignore)


def whole_number_columns(path: Path) -> tuple[int, int]:
    """The rows and columns of a Parquet file that holds whole numbers and nothing else."""
    with _opened(path) as file:
        for field in file.schema_arrow:
            if not pa.types.is_integer(field.type):
                kind = shortened(str(field.type))
                raise DataError(f"{path}: column {shown(field.name)} has the type {kind}, expected whole numbers")
        return file.metadata.num_rows, file.metadata.num_columns


def whole_number_blocks(path: Path, num_rows: int) -> Iterator[npt.NDArray[Any]]:
    """The table of such a file, (rows, columns), so many rows at a time."""
    with _opened(path) as file:
        for batch in file.iter_batches(batch_size=num_rows, use_threads=False):
            if any(column.null_count for column in batch.columns):
                raise DataError(f"{path}: holds a blank, expected whole numbers")
            yield np.stack([numpy_numbers(column.cast(pa.int64())) for column in batch.columns], axis=1)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """The open file; errors of reading it name it."""
    with naming(path), path.open("rb") as stream:
        try:
            yield parquet.ParquetFile(stream)
        except (pa.ArrowException, OSError, ValueError) as error:
            if isinstance(error, ConfGCNError | MemoryError) or (
                isinstance(error, OSError) and error.errno is not None
            ):
                raise
            problem = str(error).partition("\n")[0]
            raise CorruptFileError(f"{path}: not a readable Parquet file ({brief(problem)})") from None


def _read(path: Path, file: Any, ignore: Sequence[str]) -> Table:
    names = file.schema_arrow.names
    _check_names(path, names)
    _check_size(path, file.metadata)
    table = file.read(columns=[name for name in names if name not in ignore], use_threads=False)
    columns = {name: _column(path, name, table.column(name)) for name in table.column_names}
    columns |= {name: np.zeros(table.num_rows) for name in names if name in ignore}  # known, so that it can be ignored
    return Table(path, columns, range(1, table.num_rows + 1), unit="row")


def parquet_bytes(columns: Mapping[str, Sequence[str | None] | Sequence[float | None] | npt.NDArray[Any]]) -> bytes:
    """A table as a Parquet file: texts or floats, None for a blank, and arrays of numbers in their own type."""
    arrays = {
        name: pa.array(column, None if isinstance(column, np.ndarray) else _kind(column))
        for name, column in columns.items()
    }
    stream = io.BytesIO()
    parquet.write_table(pa.table(arrays), stream)
    return stream.getvalue()


def _kind(column: Sequence[Any]) -> Any:
    return pa.float64() if any(isinstance(value, float) for value in column) else pa.string()


def _check_names(path: Path, names: Sequence[str]) -> None:
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        raise DataError(f"{path}: column {shown(twice)} appears twice; rename one")


def _check_size(path: Path, metadata: Any) -> None:
    """Repeated values take no room in the file, so cells count as well as bytes."""
    stored = sum(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups))
    size = max(stored, metadata.num_rows * metadata.num_columns * CELL_BYTES)
    if size > MAX_BYTES:
        raise DataError(f"{path}: would expand to {size:,} bytes, more than is read from one file ({MAX_BYTES:,})")


def _column(path: Path, name: str, column: Any) -> Column:
    types = pa.types
    kind = column.type
    if types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if types.is_floating(kind):
        column = pc.cast(column, pa.float32()) if types.is_float16(kind) else column
        return numpy_numbers(filled(column, math.nan))
    if types.is_null(kind):
        return arrow_texts([""] * len(column))
    if (types.is_integer(kind) or types.is_boolean(kind)) and column.null_count == 0:
        return numpy_numbers(column)
    if types.is_integer(kind) or types.is_boolean(kind) or types.is_string(kind) or types.is_large_string(kind):
        column.validate(full=True)  # a file may hold texts that are not UTF-8
        texts = filled(pc.cast(column, TEXT), "")
        return texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    raise DataError(
        f"{path}: column {shown(name)} has the type {shortened(str(kind))}, expected text, numbers or true and false; "
        f"leave it out with --ignore {shortened(name)}"
    )
