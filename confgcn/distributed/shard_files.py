"""A graph in shards on disk: what is in the folder, and that it is whole.

::

    partition.json      what the graph is, how it was cut, and the SHA-256 of every other file
    columns.npy         (2, F): mean and deviation of every feature over all nodes
    names.json          of the nodes, where they have other names than their numbers
    part-0000/          for every part, each node being in one of them:
      nodes.npy         (n,): its nodes, by their places in the whole, sorted
      indptr.npy, indices.npy       the edges into them, sources by their places in the whole
      borrowed.npy, borrowed_parts.npy    the sources that other parts own, sorted, and whose they are
      features.npy      (n, F); or feature_indptr, feature_indices, feature_values.npy
      labels.npy, split.npy         (n,): -1 = unknown; 0 none, 1 train, 2 validation, 3 test
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from confgcn.data.formats.array_files import map_npy
from confgcn.distributed.shard_record import ShardRecord, read_shard_record
from confgcn.exceptions import CorruptFileError, ResourceError, UsageError, brief
from confgcn.io.checksums import file_digest

MANIFEST, COLUMNS, NAMES = "partition.json", "columns", "names.json"
SPLIT = ("", "train", "validation", "test")
DENSE = ("features",)
SPARSE = ("feature_indptr", "feature_indices", "feature_values")
IN_EVERY_PART = ("nodes", "indptr", "indices", "borrowed", "borrowed_parts", "labels", "split")
KINDS: dict[str, npt.DTypeLike] = {  # all others hold whole numbers of 64 bits, and features what the record says
    "split": np.int8,
    COLUMNS: np.float64,
}
TABLES = (COLUMNS, *DENSE)  # of two dimensions

Array = npt.NDArray[Any]


def is_shard_folder(path: Path) -> bool:
    """Does the folder hold a graph in shards?"""
    return (path / MANIFEST).is_file()


def part_name(part: int) -> str:
    """The folder of a part."""
    return f"part-{part:04d}"


def arrays_of_part(record: ShardRecord) -> tuple[str, ...]:
    """The names of the arrays that every part has."""
    return (*IN_EVERY_PART, *(SPARSE if record.sparse_features else DENSE))


@dataclass(frozen=True)
class ShardFolder:
    """A folder of shards; arrays are mapped into memory, and read when they are used.

    What is in them is relied on after ``confgcn.distributed.shard_check`` alone, which keeps in ``checked`` the parts
    that it has looked at.
    """

    path: Path
    checked: set[int] = field(default_factory=set, init=False, compare=False, repr=False)

    @cached_property
    def record(self) -> ShardRecord:
        """What partition.json says."""
        file = self.path / MANIFEST
        if not file.is_file():
            raise ResourceError(f"{file.absolute()}: not there; confgcn partition makes such a folder")
        record = read_shard_record(file)
        arrays = arrays_of_part(record)
        expected = {f"{part_name(part)}/{name}.npy" for part in range(record.parts) for name in arrays}
        other = (record.files.keys() - {NAMES}) ^ {*expected, f"{COLUMNS}.npy"}
        if other:  # a name that leads elsewhere among them
            raise CorruptFileError(f"{file}: corrupt, it lists too few files or too many: {brief(repr(min(other)))}")
        return record

    @property
    def sha256(self) -> str:
        """What tells these shards from any others: the checksum of the file that holds those of all arrays."""
        self.record  # noqa: B018 - that is there and whole
        return file_digest(self.path / MANIFEST)

    @property
    def num_parts(self) -> int:
        return self.record.parts

    @property
    def num_nodes(self) -> int:
        return self.record.num_nodes

    def files_of(self, parts: Iterable[int]) -> dict[Path, str]:
        """The files of these parts and those of all, which are there, with the checksums that they should have."""
        folders = {".", *map(part_name, parts)}
        files = {self.path / name: sha256 for name, sha256 in self.record.files.items() if _folder(name) in folders}
        missing = next((file for file in files if not file.is_file()), None)
        if missing is not None:
            raise CorruptFileError(f"{missing}: missing, though {MANIFEST} names it")
        return files

    def file_of(self, name: str, part: int | None = None) -> Path:
        """Where an array of a part, or of the whole, is."""
        return (self.path if part is None else self.path / part_name(part)) / f"{name}.npy"

    def mapped(self, name: str, part: int | None = None) -> Array:
        """The array in place, if it is of the right kind; what is written to it stays in memory."""
        file = self.file_of(name, part)
        if not file.is_file():
            raise CorruptFileError(f"{file}: missing, though {MANIFEST} names it")
        array = map_npy(file, "c")
        kind, dimensions = self._kind(name), 1 + (name in TABLES)
        if array.dtype != kind or array.ndim != dimensions or not array.flags.c_contiguous:
            wanted, came = f"{kind} in {dimensions} dimensions by rows", f"{array.dtype} {array.shape}"
            raise CorruptFileError(f"{file}: corrupt, expected {wanted}, it holds {came}")
        return array

    def array(self, name: str, part: int | None = None) -> Tensor:
        """The same as a tensor."""
        return torch.from_numpy(self.mapped(name, part))

    def _kind(self, name: str) -> np.dtype[Any]:
        if name in (*DENSE, SPARSE[-1]):
            return np.dtype(self.record.feature_dtype.removeprefix("torch."))
        return np.dtype(KINDS.get(name, np.int64))

    def parts_of(self, rank: int, size: int) -> list[int]:
        """The parts that one of several workers takes."""
        if size > self.num_parts:
            raise UsageError(
                f"{self.path}: has {self.num_parts} parts, too few for {size} workers; confgcn partition --parts {size}"
            )
        return [part for part in range(self.num_parts) if worker_of(part, self.num_parts, size) == rank]


def worker_of(part: Any, num_parts: int, size: int) -> Any:
    """The worker that takes a part: a number, or a tensor of them."""
    return part * size // num_parts


def _folder(name: str) -> str:
    return str(Path(name).parent)
