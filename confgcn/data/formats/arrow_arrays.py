"""Arrow arrays from Python's texts and numpy's numbers, and back.

``pyarrow.array``, ``pyarrow.scalar`` and ``Array.to_numpy`` import pandas wherever it is installed, which takes longer
than reading a small graph; these functions do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from confgcn.exceptions import DataError

TEXT = pa.large_string()


def arrow_texts(texts: Sequence[str]) -> pa.Array:
    """Texts as an array of Arrow."""
    joined = "".join(texts)
    try:
        content = joined.encode()
    except UnicodeEncodeError as error:
        invalid = next(text for text in texts if error.object[error.start] in text)
        raise DataError(f"{invalid!r} is not valid text: it cannot be written as UTF-8") from None
    is_ascii = len(content) == len(joined)
    lengths = map(len, texts) if is_ascii else (len(text.encode()) for text in texts)
    offsets = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(lengths, np.int64, len(texts)), out=offsets[1:])
    return pa.Array.from_buffers(TEXT, len(texts), [None, pa.py_buffer(offsets), pa.py_buffer(content)])


def arrow_numbers(numbers: npt.NDArray[Any]) -> pa.Array:
    """Whole numbers or floats, (n,), as an array of Arrow."""
    buffer = pa.py_buffer(np.ascontiguousarray(numbers))
    return pa.Array.from_buffers(pa.from_numpy_dtype(numbers.dtype), len(numbers), [None, buffer])


def filled(column: pa.Array | pa.ChunkedArray, value: str | float) -> pa.Array | pa.ChunkedArray:
    """Texts or numbers with ``value`` in the gaps."""
    values = arrow_texts([value]) if isinstance(value, str) else arrow_numbers(np.array([value]))
    return pc.fill_null(column, pc.cast(values, column.type)[0])


def first_row(column: pa.Array, text: str) -> int:
    """The first row that holds a text, or -1."""
    row: int = pc.index(column, arrow_texts([text])[0]).as_py()
    return row


def numpy_numbers(column: pa.Array | pa.ChunkedArray) -> npt.NDArray[Any]:
    """Whole numbers, floats or booleans without gaps, (n,); the array may be read-only."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_boolean(array.type):
        return np.from_dlpack(pc.cast(array, pa.uint8())).astype(np.bool_)
    return np.from_dlpack(array)
