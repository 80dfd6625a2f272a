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

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from confgcn.exceptions import CorruptFileError, ResourceError, UsageError, brief
from confgcn.files import file_digest, read_sealed

MANIFEST = "partition.json"
KEY, LAYOUT = "confgcn_shards", 1
SPLIT = ("", "train", "validation", "test")
DENSE = ("features",)
SPARSE = ("feature_indptr", "feature_indices", "feature_values")


def is_shard_folder(path: Path) -> bool:
    """Does the folder hold a graph in shards?"""
    return (path / MANIFEST).is_file()


def part_name(part: int) -> str:
    """The folder of a part."""
    return f"part-{part:04d}"


@dataclass(frozen=True)
class ShardFolder:
    """A folder of shards; arrays are mapped into memory, and read when they are used."""

    path: Path

    @cached_property
    def record(self) -> dict[str, Any]:
        """What partition.json says."""
        file = self.path / MANIFEST
        if not file.is_file():
            raise ResourceError(f"{file.absolute()}: not there; confgcn partition makes such a folder")
        record = read_sealed(file)
        if record.get(KEY) != LAYOUT:
            raise CorruptFileError(f"{file}: layout {brief(repr(record.get(KEY)))}, this version reads {LAYOUT}")
        return record

    @property
    def sha256(self) -> str:
        """What tells these shards from any others: the checksum of the file that holds those of all arrays."""
        self.record  # noqa: B018 - that is there and whole
        return file_digest(self.path / MANIFEST)

    @property
    def num_parts(self) -> int:
        return int(self.record["parts"])

    @property
    def num_nodes(self) -> int:
        return int(self.record["num_nodes"])

    def check(self, part: int | None) -> None:
        """Are the files of a part, or those of all, the ones that were written?"""
        prefix = "" if part is None else f"{part_name(part)}/"
        for name, expected in self.record["files"].items():
            if name.startswith(prefix) and ("/" in name) == bool(prefix):
                self._check_file(self.path / name, expected)

    def check_share(self, rank: int, size: int) -> None:
        """Are the files that one of several workers reads the ones that were written?"""
        for part in (None, *self.parts_of(rank, size)):
            self.check(part)

    def _check_file(self, file: Path, expected: str) -> None:
        if not file.is_file():
            raise CorruptFileError(f"{file}: missing, though {MANIFEST} names it")
        if file_digest(file) != expected:
            raise CorruptFileError(f"{file}: corrupt, its checksum does not match; make the shards again")

    def array(self, name: str, part: int | None = None) -> Tensor:
        """An array of a part, or of the whole, mapped so that writing to it changes no file."""
        file = (self.path if part is None else self.path / part_name(part)) / f"{name}.npy"
        try:
            return torch.from_numpy(np.load(file, mmap_mode="c", allow_pickle=False))
        except FileNotFoundError:
            raise CorruptFileError(f"{file}: missing") from None
        except (ValueError, TypeError, EOFError) as error:
            if "empty file" in str(error):  # an array without entries cannot be mapped
                return torch.from_numpy(np.load(file, allow_pickle=False))
            raise CorruptFileError(f"{file}: corrupt ({brief(error)})") from None

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
