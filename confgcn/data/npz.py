"""Read arrays from npz archives without executing anything and without allocating what a header merely claims."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from confgcn import checks
from confgcn.exceptions import ConfGCNError, CorruptFileError, DataError, UnsafeFileError

MAX_BYTES = 2**30  # of the arrays that are asked for, together
UNSUSPICIOUS_BYTES = 2**26
MAX_EXPANSION = 100  # times the compressed size, for anything larger than that

CSR_PARTS = ("data", "indices", "indptr", "shape")

Arrays = dict[str, npt.NDArray[Any]]


def read_npz(path: Path, keys: Sequence[str] | None = None) -> Arrays:
    """The named arrays of an archive (all without ``keys``); an entry that is not asked for is never opened."""
    found = npz_keys(path)
    missing = [key for key in keys or () if key not in found]
    if missing:
        raise DataError(f"{path}: has no array {', '.join(missing)}; found {', '.join(found)}")
    entries = [f"{key}.npy" for key in (found if keys is None else keys)]
    with _opened(path) as archive:
        _check_expansion(path, [archive.getinfo(entry) for entry in entries])
        return {entry.removesuffix(".npy"): _read_entry(path, archive, entry) for entry in entries}


def npz_keys(path: Path) -> list[str]:
    """The names of the arrays in an archive."""
    with _opened(path) as archive:
        return [entry.removesuffix(".npy") for entry in archive.namelist()]


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (ConfGCNError, FileNotFoundError, PermissionError):
        raise
    except Exception as error:  # a damaged archive can raise anything at all
        raise CorruptFileError(f"{path}: not a readable npz archive ({error})") from None


def sparse_from(arrays: Arrays, prefix: str, path: Path) -> sp.csr_matrix:
    """The sparse matrix stored as ``<prefix>data``, ``indices``, ``indptr`` and ``shape``."""
    data, indices, indptr, shape = (arrays[prefix + part] for part in CSR_PARTS)
    if shape.shape != (2,):
        raise DataError(f"{path}: {prefix}shape has {shape.size} numbers, expected 2")
    rows, columns = int(shape[0]), int(shape[1])
    checks.check_csr(f"{path}: {prefix[:-1]}", indptr, indices, data, (rows, columns))
    return sp.csr_matrix((data, indices, indptr), shape=(rows, columns))


def _check_expansion(path: Path, entries: list[zipfile.ZipInfo]) -> None:
    expanded = sum(entry.file_size for entry in entries)
    stored = sum(entry.compress_size for entry in entries)
    if expanded > MAX_BYTES or (expanded > UNSUSPICIOUS_BYTES and expanded > MAX_EXPANSION * stored):
        raise DataError(f"{path}: {stored} bytes would expand to {expanded}, which no graph's data do")


def _read_entry(path: Path, archive: zipfile.ZipFile, entry: str) -> npt.NDArray[Any]:
    with archive.open(entry) as stream:
        shape, dtype = _read_header(stream)
    if dtype.hasobject:
        raise UnsafeFileError(f"{path}: {entry} is an object array, which only executing code could read")
    claimed = int(np.prod(shape, dtype=object)) * dtype.itemsize
    if claimed > archive.getinfo(entry).file_size:
        raise DataError(f"{path}: {entry} claims {claimed} bytes, more than the file holds")
    with archive.open(entry) as stream:
        return np.asarray(np.lib.format.read_array(stream, allow_pickle=False))


def _read_header(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(stream)
    return shape, dtype
