"""Read arrays from npz archives without executing anything and without allocating what a header merely claims."""

from __future__ import annotations

import math
import stat
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from confgcn.data.formats.table import listed, shortened
from confgcn.data.input_files import is_of_the_machine
from confgcn.exceptions import ConfGCNError, CorruptFileError, DataError, UnsafeFileError, brief
from confgcn.graph import validation as checks

MAX_BYTES = 2**30  # of the arrays that are asked for, together
UNSUSPICIOUS_BYTES = 2**26
MAX_EXPANSION = 100  # times the compressed size, for anything larger than that
MAX_COLUMNS = 10_000_000  # of a matrix of features: more is a mistake, and each may have a name in memory

CSR_PARTS = ("data", "indices", "indptr", "shape")

Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Header:
    """What a .npy file says of its array, whose first byte is at ``offset``."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    order: Literal["C", "F"]
    offset: int


def read_npz(path: Path, keys: Sequence[str] | None = None) -> Arrays:
    """The named arrays of an archive (all without ``keys``); an entry that is not asked for is never opened."""
    found = npz_keys(path)
    missing = [key for key in keys or () if key not in found]
    if missing:
        raise DataError(f"{path}: has no array {', '.join(missing)}; found {listed(found)}")
    entries = [f"{key}.npy" for key in (found if keys is None else keys)]
    with _opened(path) as archive:
        _check_expansion(path, [archive.getinfo(entry) for entry in entries])
        return {entry.removesuffix(".npy"): _read_entry(path, archive, entry) for entry in entries}


def npz_keys(path: Path) -> list[str]:
    """The names of the arrays in an archive."""
    with _opened(path) as archive:
        entries = archive.namelist()
        _check_inside(path, archive.infolist())
    twice = next((entry for entry, times in Counter(entries).items() if times > 1), None)
    if twice is not None:
        raise CorruptFileError(f"{path}: holds two entries called {checks.shown(twice)}; which one is meant?")
    return [entry.removesuffix(".npy") for entry in entries]


def _check_inside(path: Path, entries: Sequence[zipfile.ZipInfo]) -> None:
    """Nothing is unpacked onto the disk; but an archive whose entries lead elsewhere was made by no program of ours."""
    for entry in entries:
        name, kind = PurePosixPath(entry.filename.replace("\\", "/")), stat.S_IFMT(entry.external_attr >> 16)
        if name.is_absolute() or ".." in name.parts or kind not in (0, stat.S_IFREG):
            raise UnsafeFileError(f"{path}: refused the entry {checks.shown(entry.filename)}, which leads out of it")


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about headers that Python 2 wrote
            yield archive
    except (ConfGCNError, FileNotFoundError, PermissionError):
        raise
    except Exception as error:  # a damaged archive can raise anything at all
        if is_of_the_machine(error):
            raise
        raise CorruptFileError(f"{path}: not a readable npz archive ({brief(error)})") from None


def sparse_from(arrays: Arrays, prefix: str, path: Path) -> sp.csr_matrix:
    """The sparse matrix stored as ``<prefix>data``, ``indices``, ``indptr`` and ``shape``."""
    data, indices, indptr, shape = (checks.native(arrays[prefix + part]) for part in CSR_PARTS)
    if shape.shape != (2,) or shape.dtype.kind not in "iu":
        raise DataError(f"{path}: {prefix}shape has {shape.size} numbers, expected 2 whole ones, got {shape.dtype}")
    rows, columns = int(shape[0]), int(shape[1])
    name = f"{path}: {prefix[:-1]}" if prefix else str(path)
    if columns > MAX_COLUMNS:
        raise DataError(f"{name}: {columns:,} columns, more than the {MAX_COLUMNS:,} that are read")
    for part, array in (("data", data), ("indices", indices), ("indptr", indptr)):
        if array.ndim != 1:
            raise DataError(f"{path}: {prefix}{part} must be a row of numbers, got the shape {array.shape}")
    checks.check_csr(name, indptr, indices, data, (rows, columns))
    return sp.csr_matrix((data, indices, indptr), shape=(rows, columns))


def check_header(name: str, stream: IO[bytes], size: int) -> Header:
    """Before the array in a stream of ``size`` bytes is read: no objects, and as much data as its header says."""
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, by_column, dtype = read(stream)
    if dtype.hasobject:
        raise UnsafeFileError(f"{name} is an object array, which only executing code could read")
    count, held = math.prod(shape), size - stream.tell()
    if count * dtype.itemsize != held or count > held:  # values of no bytes at all can be any number
        raise DataError(f"{name} claims {count * dtype.itemsize} bytes for the shape {shape}, the file holds {held}")
    return Header(shape, dtype, "F" if by_column else "C", stream.tell())


def _check_expansion(path: Path, entries: list[zipfile.ZipInfo]) -> None:
    other = next(
        (entry for entry in entries if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)), None
    )
    if other is not None:  # Python would unpack it at once, whatever its size is said to be
        raise DataError(
            f"{path}: {shortened(other.filename)} is packed in a way that numpy does not use; save it again"
        )
    expanded = sum(entry.file_size for entry in entries)
    stored = sum(entry.compress_size for entry in entries)
    if expanded > MAX_BYTES or (expanded > UNSUSPICIOUS_BYTES and expanded > MAX_EXPANSION * stored):
        raise DataError(f"{path}: {stored} bytes would expand to {expanded}, which no graph's data do")


def _read_entry(path: Path, archive: zipfile.ZipFile, entry: str) -> npt.NDArray[Any]:
    with archive.open(entry) as stream:
        check_header(f"{path}: {shortened(entry)}", stream, archive.getinfo(entry).file_size)
    with archive.open(entry) as stream:
        return np.asarray(np.lib.format.read_array(stream, allow_pickle=False))
