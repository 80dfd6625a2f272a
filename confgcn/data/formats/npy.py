"""One array in a .npy file: read, mapped, or written some rows at a time; what a header claims is not believed."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
import numpy.typing as npt

from confgcn.data.formats.npz import MAX_BYTES, Header, check_header
from confgcn.data.input_files import naming
from confgcn.exceptions import ConfGCNError, CorruptFileError, DataError, brief
from confgcn.graph import validation as checks


def read_npy(path: Path) -> npt.NDArray[Any]:
    """The array, after its header was compared with the size of the file."""
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise DataError(f"{path}: holds {size:,} bytes, more than is read from one file ({MAX_BYTES:,})")
    npy_header(path)
    with _readable(path):
        return checks.native(np.load(path, allow_pickle=False))


def npy_header(path: Path) -> Header:
    """What the file says of its array; as much is in the file, and no objects are."""
    with path.open("rb") as stream, _readable(path):
        return check_header(f"{path}:", stream, path.stat().st_size)


def map_npy(path: Path, mode: Literal["r", "c"] = "r") -> npt.NDArray[Any]:
    """The array in place: its pages are read when they are looked at, and the system may drop them again.

    In mode ``c`` what is written to the array stays in memory and never comes into the file.
    """
    header = npy_header(path)
    if 0 in header.shape:
        return np.empty(header.shape, header.dtype)
    with naming(path):
        return np.memmap(path, header.dtype, mode, header.offset, header.shape, header.order)


@contextmanager
def growing_npy(path: Path, dtype: Any, row_shape: tuple[int, ...] = ()) -> Iterator[Callable[[Any], None]]:
    """Write an array of which nobody knows how many rows it will have: hands out what appends some."""
    num_rows = 0
    with naming(path), path.open("wb") as stream:
        _write_header(stream, (0, *row_shape), dtype)

        def append(rows: Any) -> None:
            nonlocal num_rows
            stream.write(np.ascontiguousarray(rows, dtype).data)
            num_rows += len(rows)

        yield append
        stream.seek(0)
        _write_header(stream, (num_rows, *row_shape), dtype)  # of the same length: numpy leaves room for every number
        stream.flush()
        os.fsync(stream.fileno())


def write_npy(path: Path, array: npt.NDArray[Any]) -> None:
    """The whole array."""
    with growing_npy(path, array.dtype, array.shape[1:]) as append:
        append(array)


def _write_header(stream: IO[bytes], shape: tuple[int, ...], dtype: Any) -> None:
    described = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, described)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about files that Python 2 wrote
            yield
    except (ConfGCNError, OSError, MemoryError):
        raise
    except Exception as error:  # a damaged header can raise anything at all
        problem = f"{path}: not a readable .npy file ({brief(error)}); write it with numpy.save"
        raise CorruptFileError(problem) from None
