"""Tables as Parquet files, by pyarrow."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from confgcn.data.formats.array_files import MAX_BYTES
from confgcn.data.formats.table import Column, Table, shortened
from confgcn.data.input_files import naming
from confgcn.exceptions import ConfGCNError, CorruptFileError, DataError, ResourceError, brief
from confgcn.graph.validation import shown

MAGIC = b"PAR1"
CELL_BYTES = 8  # of a number in memory


def read_parquet(path: Path, ignore: Sequence[str] = ()) -> Table:
    """The table in a Parquet file; the columns to ignore may be of any type."""
    with _opened(path) as (arrow, file):
        return _read(arrow, path, file, ignore)


def whole_number_columns(path: Path) -> tuple[int, int]:
    """The rows and columns of a Parquet file that holds whole numbers and nothing else."""
    with _opened(path) as (arrow, file):
        for field in file.schema_arrow:
            if not arrow.types.is_integer(field.type):
                kind = shortened(str(field.type))
                raise DataError(f"{path}: column {shown(field.name)} has the type {kind}, expected whole numbers")
        return file.metadata.num_rows, file.metadata.num_columns


def whole_number_blocks(path: Path, num_rows: int) -> Iterator[npt.NDArray[Any]]:
    """The table of such a file, (rows, columns), so many rows at a time."""
    with _opened(path) as (arrow, file):
        for batch in file.iter_batches(batch_size=num_rows, use_threads=False):
            if any(column.null_count for column in batch.columns):
                raise DataError(f"{path}: holds a blank, expected whole numbers")
            yield np.stack([column.cast(arrow.int64()).to_numpy() for column in batch.columns], axis=1)


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Any, Any]]:
    """pyarrow, and the file; errors of reading it say which it is."""
    arrow, parquet = _pyarrow(path)
    with naming(path), path.open("rb") as stream:
        try:
            yield arrow, parquet.ParquetFile(stream)
        except (arrow.ArrowException, OSError, ValueError) as error:
            if isinstance(error, ConfGCNError) or (isinstance(error, OSError) and error.errno is not None):
                raise
            problem = str(error).partition("\n")[0]
            raise CorruptFileError(f"{path}: not a readable Parquet file ({brief(problem)})") from None


def _read(arrow: Any, path: Path, file: Any, ignore: Sequence[str]) -> Table:
    names = file.schema_arrow.names
    _check_names(path, names)
    _check_size(path, file.metadata)
    table = file.read(columns=[name for name in names if name not in ignore], use_threads=False)
    columns = {name: _column(arrow, path, name, table.column(name)) for name in table.column_names}
    columns |= {name: np.zeros(table.num_rows) for name in names if name in ignore}  # known, so that it can be ignored
    return Table(path, columns, range(1, table.num_rows + 1), unit="row")


def parquet_bytes(columns: Mapping[str, Sequence[str | None] | Sequence[float | None] | npt.NDArray[Any]]) -> bytes:
    """A table as a Parquet file: texts or floats, None for a blank, and arrays of numbers in their own type."""
    arrow, parquet = _pyarrow(Path("a Parquet file"))
    arrays = {
        name: arrow.array(column, None if isinstance(column, np.ndarray) else _kind(column, arrow))
        for name, column in columns.items()
    }
    stream = io.BytesIO()
    parquet.write_table(arrow.table(arrays), stream)
    return stream.getvalue()


def _kind(column: Sequence[Any], arrow: Any) -> Any:
    return arrow.float64() if any(isinstance(value, float) for value in column) else arrow.string()


def _pyarrow(path: Path) -> tuple[Any, Any]:
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise ResourceError(f"{path}: Parquet needs pyarrow: pip install 'confgcn[parquet]'") from None


def _check_names(path: Path, names: Sequence[str]) -> None:
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        raise DataError(f"{path}: column {shown(twice)} stands twice; rename one")


def _check_size(path: Path, metadata: Any) -> None:
    """Repeated values take no room in the file, so cells count as well as bytes."""
    stored = sum(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups))
    size = max(stored, metadata.num_rows * metadata.num_columns * CELL_BYTES)
    if size > MAX_BYTES:
        raise DataError(f"{path}: would expand to {size:,} bytes, more than is read from one file ({MAX_BYTES:,})")


def _column(arrow: Any, path: Path, name: str, column: Any) -> Column:
    types = arrow.types
    kind = column.type
    if types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if types.is_floating(kind):
        return np.asarray(column.to_numpy()).astype(np.float32 if types.is_float16(kind) else kind.to_pandas_dtype())
    if types.is_null(kind):
        return [""] * len(column)
    if (types.is_integer(kind) or types.is_boolean(kind)) and column.null_count == 0:
        return np.asarray(column.to_numpy())
    if types.is_integer(kind):
        return ["" if value is None else str(value) for value in column.to_pylist()]
    if types.is_boolean(kind):
        return ["" if value is None else str(value).lower() for value in column.to_pylist()]
    if types.is_string(kind) or types.is_large_string(kind):
        return ["" if value is None else value for value in column.to_pylist()]
    raise DataError(
        f"{path}: column {shown(name)} has the type {shortened(str(kind))}, expected text, numbers or true and false; "
        f"leave it out with --ignore {shortened(name)}"
    )
