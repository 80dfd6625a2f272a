"""A graph in shards on disk: the files of the folder, and the record in ``partition.json``.

::

    partition.json      the graph, how it was partitioned, and the SHA-256 of every other file
    columns.npy         (2, F): mean and standard deviation of every feature over all nodes
    names.json          of the nodes, unless their names are their numbers
    shard-0000/         for every shard; each node is in one of them:
      nodes.npy         (n,): its nodes, by their positions in the whole graph, sorted
      indptr.npy, indices.npy             the edges into them, sources by their positions in the whole graph
      halo_nodes.npy, halo_shards.npy     the sources in other shards, sorted, and their shards
      features.npy      (n, F); or feature_indptr, feature_indices, feature_values.npy
      labels.npy, split.npy               (n,): -1 = unknown; 0 none, 1 train, 2 validation, 3 test
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor

from confgcn.data.formats.array_files import map_npy
from confgcn.data.graph_names import GRAPH_NAMES
from confgcn.data.input_files import naming
from confgcn.exceptions import CorruptFileError, ResourceError, UsageError, brief
from confgcn.graph import EdgeCounts
from confgcn.graph.validation import MAX_NODES, checked_names
from confgcn.io.checksums import file_digest
from confgcn.io.json_files import checked_record, read_checksummed_json
from confgcn.limits import MAX_SHARDS, MAX_SPLIT_SEED

KEY, LAYOUT = "confgcn_shards", 2
MANIFEST, COLUMNS, NAMES = "partition.json", "columns", "names.json"
SPLIT = ("", "train", "validation", "test")
DENSE = ("features",)
SPARSE = ("feature_indptr", "feature_indices", "feature_values")
IN_EVERY_SHARD = ("nodes", "indptr", "indices", "halo_nodes", "halo_shards", "labels", "split")
DTYPES: dict[str, npt.DTypeLike] = {  # of features it is in the record, of all others int64
    "split": np.int8,
    COLUMNS: np.float64,
}
TABLES = (COLUMNS, *DENSE)  # of two dimensions

Array = npt.NDArray[Any]
Partitioner = Literal["metis", "hash"]
Count = Annotated[int, Field(ge=0)]
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class ShardRecord(BaseModel):
    """The content of ``partition.json``."""

    model_config = ConfigDict(strict=True, extra="forbid")

    confgcn_shards: int
    name: str
    is_named: bool
    split_seed: Annotated[int, Field(ge=0, le=MAX_SPLIT_SEED)]
    shards: Annotated[int, Field(ge=1, le=MAX_SHARDS)]
    partitioned_by: Partitioner
    crossing_edges: Count
    num_nodes: Annotated[int, Field(ge=1, le=MAX_NODES)]
    num_features: Annotated[int, Field(ge=1)]
    entries: Count
    class_names: list[str]
    feature_names: list[str]
    notices: list[str]
    edge_counts: EdgeCounts
    sparse_features: bool
    feature_dtype: Literal["torch.float32", "torch.float64"]
    suited_scaling: Literal["rows", "columns"]
    graph_sha256: Sha256
    files: dict[str, Sha256]


def read_shard_record(file: Path) -> ShardRecord:
    """The record in a file. One that is not valid is refused even if its checksum matches."""
    content = read_checksummed_json(file)
    if content.get(KEY) != LAYOUT:
        layout = brief(repr(content.get(KEY)))
        raise CorruptFileError(f"{file}: layout {layout}, this version reads {LAYOUT}; run confgcn partition again")
    record = checked_record(ShardRecord, content, f"{file}: does not describe a graph in shards")
    with naming(file):
        checked_names(record.class_names, "class", len(record.class_names))
    if len(record.feature_names) not in (0, record.num_features):
        names = f"{len(record.feature_names)} names of {record.num_features} features"
        raise CorruptFileError(f"{file}: does not describe a graph in shards: {names}")
    if record.is_named and record.name not in GRAPH_NAMES:
        name = brief(repr(record.name))
        raise CorruptFileError(f"{file}: does not describe a graph in shards: no known graph is named {name}")
    return record


def is_shard_folder(path: Path) -> bool:
    """Does the folder hold a graph in shards?"""
    return (path / MANIFEST).is_file()


def shard_name(shard: int) -> str:
    """The folder of a shard."""
    return f"shard-{shard:04d}"


def arrays_of_shard(record: ShardRecord) -> tuple[str, ...]:
    """The names of the arrays that every shard has."""
    return (*IN_EVERY_SHARD, *(SPARSE if record.sparse_features else DENSE))


@dataclass(frozen=True)
class ShardFolder:
    """A folder of shards; arrays are mapped into memory and read when they are used.

    ``confgcn.distributed.shard_check`` must check a shard before its values are used; ``checked`` holds the shards
    that it has checked.
    """

    path: Path
    checked: set[int] = field(default_factory=set, init=False, compare=False, repr=False)

    @cached_property
    def record(self) -> ShardRecord:
        """The content of partition.json."""
        file = self.path / MANIFEST
        if not file.is_file():
            raise ResourceError(f"{file.absolute()}: missing; confgcn partition makes such a folder")
        record = read_shard_record(file)
        arrays = arrays_of_shard(record)
        expected = {f"{shard_name(shard)}/{name}.npy" for shard in range(record.shards) for name in arrays}
        other = (record.files.keys() - {NAMES}) ^ {*expected, f"{COLUMNS}.npy"}
        if other:  # for example a path to another folder
            raise CorruptFileError(f"{file}: corrupt, it lists too few files or too many: {brief(repr(min(other)))}")
        return record

    @property
    def sha256(self) -> str:
        """The checksum of partition.json, which holds those of all other files."""
        self.record  # noqa: B018 - raises if it is missing or damaged
        return file_digest(self.path / MANIFEST)

    @property
    def num_shards(self) -> int:
        return self.record.shards

    @property
    def num_nodes(self) -> int:
        return self.record.num_nodes

    def files_of(self, shards: Iterable[int]) -> dict[Path, str]:
        """The files of these shards and those of the whole graph, with the checksums that they should have."""
        folders = {".", *map(shard_name, shards)}
        files = {self.path / name: sha256 for name, sha256 in self.record.files.items() if _folder(name) in folders}
        missing = next((file for file in files if not file.is_file()), None)
        if missing is not None:
            raise CorruptFileError(f"{missing}: missing, though {MANIFEST} names it")
        return files

    def file_of(self, name: str, shard: int | None = None) -> Path:
        """The file of an array of a shard, or (None) of the whole graph."""
        return (self.path if shard is None else self.path / shard_name(shard)) / f"{name}.npy"

    def mapped(self, name: str, shard: int | None = None) -> Array:
        """The array in place, of the right type and dimensions; changes of it stay in memory."""
        file = self.file_of(name, shard)
        if not file.is_file():
            raise CorruptFileError(f"{file}: missing, though {MANIFEST} names it")
        array = map_npy(file, "c")
        dtype, dimensions = self._dtype(name), 1 + (name in TABLES)
        if array.dtype != dtype or array.ndim != dimensions or not array.flags.c_contiguous:
            expected, got = f"{dtype} in {dimensions} dimensions by rows", f"{array.dtype} {array.shape}"
            raise CorruptFileError(f"{file}: corrupt, expected {expected}, got {got}")
        return array

    def array(self, name: str, shard: int | None = None) -> Tensor:
        """The same as a tensor."""
        return torch.from_numpy(self.mapped(name, shard))

    def _dtype(self, name: str) -> np.dtype[Any]:
        if name in (*DENSE, SPARSE[-1]):
            return np.dtype(self.record.feature_dtype.removeprefix("torch."))
        return np.dtype(DTYPES.get(name, np.int64))

    def shards_of(self, rank: int, size: int) -> list[int]:
        """The shards of one of several workers."""
        if size > self.num_shards:
            raise UsageError(
                f"{self.path}: has {self.num_shards} shards, too few for {size} workers; "
                f"confgcn partition --shards {size}"
            )
        return [shard for shard in range(self.num_shards) if worker_of(shard, self.num_shards, size) == rank]


def worker_of(shard: Any, num_shards: int, size: int) -> Any:
    """The worker of a shard: a number, or a tensor of them."""
    return shard * size // num_shards


def _folder(name: str) -> str:
    return str(Path(name).parent)
