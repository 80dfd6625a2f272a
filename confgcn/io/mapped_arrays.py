"""A folder of arrays that need not fit in memory: written in blocks of rows, verified and mapped when they are read."""

from __future__ import annotations

import hashlib
import math
import os
import warnings
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict

from confgcn.exceptions import CorruptFileError, UsageError, brief
from confgcn.io.atomic_files import atomic_folder, reporting_write_errors
from confgcn.io.checksums import file_digest
from confgcn.io.json_files import checked_record, read_checksummed_json, write_checksummed_json

RECORD = "arrays.json"

Arrays = dict[str, npt.NDArray[Any]]


class ArraysRecord(BaseModel):
    """The content of ``arrays.json``: the SHA-256 of the file of each array."""

    model_config = ConfigDict(strict=True, extra="forbid")

    files: dict[str, str]


def write_arrays(folder: Path, num_rows: int, blocks: Iterable[Arrays]) -> None:
    """Write ``<name>.npy`` for every array and ``arrays.json``, completely or not at all.

    Each block holds the next rows of every array, ``num_rows`` in total. Arrays that are already in the folder are
    replaced.
    """
    if folder.is_dir() and any(folder.iterdir()) and not (folder / RECORD).is_file():
        raise UsageError(f"{folder.absolute()} holds other files; give another folder, or empty it")
    with reporting_write_errors(folder), atomic_folder(folder) as temporary:
        files = _write_blocks(temporary, num_rows, blocks)
        write_checksummed_json(temporary / RECORD, {"files": files})


def map_arrays(folder: Path, names: Iterable[str]) -> Arrays:
    """Map what :func:`write_arrays` wrote, after the checksums were verified; values set later stay in memory."""
    path = folder / RECORD
    record = checked_record(ArraysRecord, read_checksummed_json(path), f"{path}: lists no arrays")
    return {name: _map(folder / f"{name}.npy", record.files) for name in names}


def _write_blocks(folder: Path, num_rows: int, blocks: Iterable[Arrays]) -> dict[str, str]:
    """Write the files; returns their checksums by name."""
    writers: dict[str, _Writer] = {}
    with ExitStack() as stack:
        for block in blocks:
            for name, rows in block.items():
                if name not in writers:
                    stream = stack.enter_context((folder / f"{name}.npy").open("wb"))
                    writers[name] = _Writer(stream, rows.dtype, (num_rows, *rows.shape[1:]))
                writers[name].write(np.ascontiguousarray(rows).data)
        return {f"{name}.npy": writer.finish() for name, writer in writers.items()}


class _Writer:
    """Writes a file and computes its checksum."""

    def __init__(self, stream: IO[bytes], dtype: npt.DTypeLike, shape: tuple[int, ...]) -> None:
        self.stream, self.hashed = stream, hashlib.sha256()
        header: Mapping[str, Any] = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(self, header)  # type: ignore[arg-type]

    def write(self, content: bytes | memoryview) -> None:
        self.hashed.update(content)
        self.stream.write(content)

    def finish(self) -> str:
        self.stream.flush()
        os.fsync(self.stream.fileno())
        return self.hashed.hexdigest()


def _map(path: Path, checksums: Mapping[str, str]) -> npt.NDArray[Any]:
    if path.name not in checksums:
        raise CorruptFileError(f"{path}: {RECORD} does not list it")
    if not path.is_file():
        raise CorruptFileError(f"{path}: missing, though {RECORD} lists it")
    if file_digest(path) != checksums[path.name]:
        raise CorruptFileError(f"{path}: corrupt, its checksum does not match")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about headers that Python 2 wrote
            _check_header(path)
            mapped: npt.NDArray[Any] = np.lib.format.open_memmap(path, mode="c")
    except Exception as error:  # a damaged header can raise any exception
        if isinstance(error, (MemoryError, OSError)):  # of the machine
            raise
        raise CorruptFileError(f"{path}: corrupt, it holds no array of numbers ({brief(error)})") from None
    return mapped


def _check_header(path: Path) -> None:
    """Check the type and the size in a header before numpy does: it divides by the size of an empty type."""
    with path.open("rb") as stream:
        if np.lib.format.read_magic(stream) != (1, 0):
            raise ValueError("another version of the format")
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
        if dtype.kind not in "iuf" or stream.tell() + math.prod(shape) * dtype.itemsize != path.stat().st_size:
            raise ValueError(f"{dtype} {shape} is not its content")
