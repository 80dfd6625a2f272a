"""Arrays in .npy and .npz files: read, mapped, or written block by block.

A header is compared with the size of its file before memory is allocated, and object arrays are refused.
"""

from __future__ import annotations

import math
import os
import stat
import sys
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from confgcn.data.formats.table import listed, shortened
from confgcn.data.input_files import is_machine_error, naming
from confgcn.exceptions import ConfGCNError, CorruptFileError, DataError, UnsafeFileError, brief
from confgcn.graph import validation as checks

MAX_BYTES = 2**30  # of all arrays that are read from one file
MAX_COLUMNS = 10_000_000  # of a matrix of features: more is a mistake, and each may have a name in memory
MAX_EXPANSION = 100  # uncompressed over compressed size, for more than ``EXPANSION_FREE_BYTES``
EXPANSION_FREE_BYTES = 2**26
NPY, NPZ = "not a readable .npy file ({}); write it with numpy.save", "not a readable npz archive ({})"

CSR_KEYS = ("data", "indices", "indptr", "shape")

Arrays = dict[str, npt.NDArray[Any]]
Shape = tuple[int, ...]


def read_npy(path: Path) -> npt.NDArray[Any]:
    """Read the array into memory."""
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise DataError(f"{path}: holds {size:,} bytes, more than is read from one file ({MAX_BYTES:,})")
    npy_shape(path)
    with _readable(path, NPY):
        return _check_characters(f"{path}:", checks.native(np.load(path, allow_pickle=False)))


def map_npy(path: Path, mode: Literal["r", "c"] = "r") -> npt.NDArray[Any]:
    """Map the array: its pages are read when they are used, and the operating system may drop them again.

    In mode ``c`` what is written to the array stays in memory and never reaches the file.
    """
    is_empty = 0 in npy_shape(path)
    with naming(path), _readable(path, NPY):
        mapped: npt.NDArray[Any] = np.load(path, mmap_mode=None if is_empty else mode, allow_pickle=False)
        return mapped


def npy_shape(path: Path) -> Shape:
    """The shape in the header, after the header was checked."""
    with path.open("rb") as stream, _readable(path, NPY):
        return _check_header(f"{path}:", stream, path.stat().st_size)


@contextmanager
def npy_writer(path: Path, dtype: Any, row_shape: Shape = ()) -> Iterator[Callable[[Any], None]]:
    """A function that appends rows to a new array whose number of rows is not known yet."""
    num_rows = 0
    with naming(path), path.open("wb") as stream:
        _write_header(stream, (0, *row_shape), dtype)

        def append(rows: Any) -> None:
            nonlocal num_rows
            stream.write(np.ascontiguousarray(rows, dtype).data)
            num_rows += len(rows)

        yield append
        stream.seek(0)
        _write_header(stream, (num_rows, *row_shape), dtype)  # of the same length: numpy leaves room for any number
        stream.flush()
        os.fsync(stream.fileno())


def write_npy(path: Path, array: npt.NDArray[Any]) -> None:
    """Write an array that is in memory."""
    with npy_writer(path, array.dtype, array.shape[1:]) as append:
        append(array)


def read_npz(path: Path, keys: Sequence[str] | None = None) -> Arrays:
    """Read the named arrays of an archive, by default all; other entries are never opened."""
    found = npz_keys(path)
    missing = [key for key in keys or () if key not in found]
    if missing:
        raise DataError(f"{path}: has no array {', '.join(missing)}; found {listed(found)}")
    entries = [f"{key}.npy" for key in (found if keys is None else keys)]
    with _readable(path, NPZ), zipfile.ZipFile(path) as archive:
        _check_expansion(path, [archive.getinfo(entry) for entry in entries])
        return {entry.removesuffix(".npy"): _read_entry(path, archive, entry) for entry in entries}


def npz_keys(path: Path) -> list[str]:
    """The names of the arrays in an archive."""
    with _readable(path, NPZ), zipfile.ZipFile(path) as archive:
        entries = archive.namelist()
        _check_inside(path, archive.infolist())
    twice = next((entry for entry, times in Counter(entries).items() if times > 1), None)
    if twice is not None:
        raise CorruptFileError(f"{path}: holds two entries called {checks.shown(twice)}; which one is meant?")
    return [entry.removesuffix(".npy") for entry in entries]


def _check_inside(path: Path, entries: Sequence[zipfile.ZipInfo]) -> None:
    """Nothing is unpacked onto the disk, but only a malicious archive has an entry that leads out of it."""
    for entry in entries:
        name, kind = PurePosixPath(entry.filename.replace("\\", "/")), stat.S_IFMT(entry.external_attr >> 16)
        if name.is_absolute() or ".." in name.parts or kind not in (0, stat.S_IFREG):
            raise UnsafeFileError(f"{path}: refused the entry {checks.shown(entry.filename)}, which leads out of it")


def sparse_from(arrays: Arrays, prefix: str, path: Path) -> sp.csr_matrix:
    """The sparse matrix stored as ``<prefix>data``, ``indices``, ``indptr`` and ``shape``."""
    data, indices, indptr, shape = (checks.native(arrays[prefix + key]) for key in CSR_KEYS)
    if shape.shape != (2,) or shape.dtype.kind not in "iu":
        raise DataError(f"{path}: {prefix}shape has {shape.size} numbers, expected 2 whole ones, got {shape.dtype}")
    rows, columns = int(shape[0]), int(shape[1])
    name = f"{path}: {prefix[:-1]}" if prefix else str(path)
    if columns > MAX_COLUMNS:
        raise DataError(f"{name}: {columns:,} columns, more than the {MAX_COLUMNS:,} that are read")
    for key, array in (("data", data), ("indices", indices), ("indptr", indptr)):
        if array.ndim != 1:
            raise DataError(f"{path}: {prefix}{key} must be a row of numbers, got the shape {array.shape}")
    checks.check_csr(name, indptr, indices, data, (rows, columns))
    return sp.csr_matrix((data, indices, indptr), shape=(rows, columns))


def _check_header(name: str, stream: IO[bytes], size: int) -> Shape:
    """Check that the array in a stream of ``size`` bytes has no objects and as many bytes as its header claims."""
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(stream)
    if dtype.hasobject:
        raise UnsafeFileError(f"{name} is an object array, which only executing code could read")
    count, held = math.prod(shape), size - stream.tell()
    if count * dtype.itemsize != held or count > held:  # a dtype of zero bytes would allow any shape
        raise DataError(f"{name} claims {count * dtype.itemsize} bytes for the shape {shape}, the file holds {held}")
    return shape


def _write_header(stream: IO[bytes], shape: Shape, dtype: Any) -> None:
    header = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, header)


def _check_expansion(path: Path, entries: list[zipfile.ZipInfo]) -> None:
    other = next(
        (entry for entry in entries if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)), None
    )
    if other is not None:  # Python would decompress it at once, whatever size it claims
        raise DataError(
            f"{path}: {shortened(other.filename)} is compressed in a way that numpy does not use; save it again"
        )
    expanded = sum(entry.file_size for entry in entries)
    stored = sum(entry.compress_size for entry in entries)
    if expanded > MAX_BYTES or (expanded > EXPANSION_FREE_BYTES and expanded > MAX_EXPANSION * stored):
        raise DataError(f"{path}: {stored} bytes would expand to {expanded}, which no graph's data do")


def _read_entry(path: Path, archive: zipfile.ZipFile, entry: str) -> npt.NDArray[Any]:
    with archive.open(entry) as stream:
        _check_header(f"{path}: {shortened(entry)}", stream, archive.getinfo(entry).file_size)
    with archive.open(entry) as stream:
        array = np.asarray(np.lib.format.read_array(stream, allow_pickle=False))
    return _check_characters(f"{path}: {shortened(entry)}", array)


def _check_characters(name: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Refuse texts with numbers that are no characters, of which Python cannot make strings."""
    if array.dtype.kind == "U" and array.dtype.itemsize:
        codes = checks.native(array).ravel().view(np.uint32)
        if codes.max(initial=0) > sys.maxunicode:
            raise CorruptFileError(f"{name} holds {codes.max()}, which is no character")
    return array


@contextmanager
def _readable(path: Path, problem: str) -> Iterator[None]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about headers that Python 2 wrote
            yield
    except ConfGCNError:
        raise
    except Exception as error:  # a damaged file can raise any exception
        if is_machine_error(error) or (isinstance(error, OSError) and error.filename is not None):  # not opened
            raise
        raise CorruptFileError(f"{path}: {problem.format(brief(error))}") from None
