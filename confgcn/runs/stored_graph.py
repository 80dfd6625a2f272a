"""Graphs on disk that a run refers to instead of copying: mapped graphs and shards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from confgcn.data.formats.store import RECORD, check_store, is_store, open_store, store_sha256
from confgcn.data.raw import RawGraph, raw_from_graph
from confgcn.data.splits import hold_out
from confgcn.data.transforms import ColumnStatistics
from confgcn.distributed.shard_files import COLUMNS, Partitioner, ShardFolder
from confgcn.distributed.shards import default_partitioner, load_all_shards, shards_of_nodes, write_shards
from confgcn.exceptions import CorruptFileError, DataError, ResourceError, UsageError, brief
from confgcn.graph import Graph

MAPPED, SHARDED = "mapped_sha256", "shards_sha256"  # checksums in config.json


@dataclass(frozen=True)
class Shares:
    """Shares of the labelled nodes to hold out for validation and for test, where a graph has no split."""

    validation: float = 0.0
    test: float = 0.0

    def __post_init__(self) -> None:
        for name, share in asdict(self).items():
            if not 0.0 <= share < 1.0:
                raise UsageError(f"{name} share = {share}: expected at least 0 and less than 1, such as 0.2")
        if self.validation + self.test >= 1.0:
            raise UsageError(
                f"validation and test share = {self.validation} + {self.test}: nothing is left to train on"
            )

    @property
    def any(self) -> bool:
        return self.validation + self.test > 0.0


def split_by_shares(graph: Graph, shares: Shares, seed: int) -> Graph:
    """Hold out the shares; a graph that has a split of its own is refused."""
    if not shares.any:
        return graph
    if len(graph.validation) or len(graph.test):
        raise UsageError(f"{graph.name}: has a split of its own; leave out the shares of validation and test")
    return hold_out(graph, seed=seed, validation=shares.validation, test=shares.test)


@dataclass(frozen=True)
class MappedGraph:
    """A folder written by ``confgcn convert --mapped``; all of it is checked when it is first loaded."""

    path: Path
    shares: Shares = field(default_factory=Shares)
    is_named: bool = field(default=False, init=False)
    needs_copy: bool = field(default=False, init=False)

    @property
    def name(self) -> str:
        return self.path.absolute().name.partition(".")[0] or "graph"

    @property
    def draws_split(self) -> bool:
        return self.shares.any

    def load(self, split_seed: int) -> Graph:
        if self._checked != store_sha256(self.path):
            raise ResourceError(f"{self.path.absolute()}: changed since it was checked; try again")
        return split_by_shares(open_store(self.path), self.shares, split_seed)

    def raw(self) -> RawGraph:
        return raw_from_graph(self.load(0))

    def record(self) -> dict[str, Any]:
        shares = {name: share for name, share in asdict(self.shares).items() if share}
        return {"input": {"path": str(self.path.absolute()), MAPPED: self._checked, **shares}}

    @cached_property
    def _checked(self) -> str:
        check_store(self.path)
        return store_sha256(self.path)


@dataclass(frozen=True)
class ShardedGraph:
    """A folder written by ``confgcn partition``; it has the name and the split of the graph it was made from."""

    path: Path
    needs_copy: bool = field(default=False, init=False)
    draws_split: bool = field(default=False, init=False)

    @cached_property
    def folder(self) -> ShardFolder:
        return ShardFolder(self.path)

    @property
    def name(self) -> str:
        return self.folder.record.name

    @property
    def is_named(self) -> bool:
        return self.folder.record.is_named

    def load(self, split_seed: int) -> Graph:
        self.check_split(split_seed)
        return load_all_shards(self.folder)

    def check_split(self, split_seed: int) -> None:
        """Refuse a split seed other than the one the shards were made with."""
        made_with = self.folder.record.split_seed
        if split_seed != made_with:
            raise UsageError(f"{self.path}: was made with split seed {made_with}, not {split_seed}")

    def raw(self) -> RawGraph:
        return raw_from_graph(load_all_shards(self.folder))

    def record(self) -> dict[str, Any]:
        place = {"path": str(self.path.absolute()), SHARDED: self.folder.sha256}
        return {} if self.is_named else {"input": place}


def recorded_graph(config: Mapping[str, Any]) -> Graph | None:
    """The mapped or sharded graph of a run, from its config.json; None where the run had another input.

    Its checksum is compared with the one of the training.
    """
    given = config.get("input", {})
    if MAPPED in given:
        return _recorded_store(config)
    if SHARDED not in given:
        return None
    folder = ShardFolder(_recorded_path(config))
    if folder.sha256 != given[SHARDED]:
        raise DataError(f"{folder.path}: these are not the shards that the run was trained on")
    return load_all_shards(folder)


def _recorded_store(config: Mapping[str, Any]) -> Graph:
    path, given = _recorded_path(config), config["input"]
    if not is_store(path):
        raise ResourceError(f"{path / RECORD}: missing; the run was trained on the graph in this folder, put it back")
    if store_sha256(path) != given[MAPPED]:
        raise DataError(f"{path}: this is not the graph that the run was trained on")
    shares = Shares(**{name: given[name] for name in asdict(Shares()) if name in given})
    return split_by_shares(open_store(path), shares, config["split_seed"])


def _recorded_path(config: Mapping[str, Any]) -> Path:
    path = config["input"].get("path")
    if not isinstance(path, str):
        raise CorruptFileError(f"config.json: corrupt, expected the path of the graph, got {brief(repr(path))}")
    return Path(path)


def make_shards(
    path: Path,
    graph: Graph,
    num_shards: int,
    *,
    how: Partitioner | None = None,
    is_named: bool = False,
    split_seed: int = 0,
) -> dict[str, Any]:
    """Partition the graph, by the best method available unless ``how`` is given, and write its shards.

    Returns the content of partition.json.
    """
    columns = ColumnStatistics.of(graph.features)
    shards, done = shards_of_nodes(graph, num_shards, how or default_partitioner())
    about = {
        "is_named": is_named,
        "split_seed": split_seed,
        "partitioned_by": done,
        "suited_scaling": columns.suited_scaling,
    }
    return write_shards(path, graph, shards, about, torch.stack([columns.mean, columns.deviation]))


def partition_notices(record: Mapping[str, Any], how: Partitioner | None = None) -> list[str]:
    """A notice where METIS would have made better shards."""
    if record["partitioned_by"] == how or record["partitioned_by"] == "metis":
        return []
    return [
        "nodes were assigned to shards by number, which cuts many edges: METIS makes better shards "
        "(pip install 'confgcn[partition]') of graphs that are not tiny"
    ]


def columns_of(folder: ShardFolder) -> ColumnStatistics:
    """Mean, deviation and suited scaling of the feature columns of the whole graph."""
    mean, deviation = folder.array(COLUMNS)
    return ColumnStatistics(folder.record.suited_scaling, mean, deviation)
