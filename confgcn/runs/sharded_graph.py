"""A graph in shards, as the source of a run, and how it is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from confgcn.data.raw import RawGraph, raw_from_graph
from confgcn.data.transforms import Columns
from confgcn.distributed.shard_files import COLUMNS, ShardFolder
from confgcn.distributed.sharding import Cut, best_cut, parts_of_nodes, write_shards
from confgcn.distributed.shards import load_whole
from confgcn.exceptions import DataError, UsageError
from confgcn.graph import Graph
from confgcn.runs.run_records import recorded_path

CHECKSUM = "shards_sha256"


@dataclass(frozen=True)
class ShardedGraph:
    """What ``confgcn partition`` wrote. Shards of a named graph are that graph, with the split they were cut with."""

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
        return load_whole(self.folder)

    def check_split(self, split_seed: int) -> None:
        """Shards have the split that they were cut with."""
        made_with = self.folder.record.split_seed
        if split_seed != made_with:
            raise UsageError(f"{self.path}: was made with split seed {made_with}, not {split_seed}")

    def raw(self) -> RawGraph:
        return raw_from_graph(load_whole(self.folder))

    def record(self) -> dict[str, Any]:
        place = {"path": str(self.path.absolute()), CHECKSUM: self.folder.sha256}
        return {} if self.is_named else {"source": place}


def recorded_shards(config: Mapping[str, Any]) -> Graph | None:
    """The graph of a run that was trained on shards, from its config.json; None where it was of another kind."""
    source = config.get("source", {})
    if CHECKSUM not in source:
        return None
    folder = ShardFolder(recorded_path(config))
    if folder.sha256 != source[CHECKSUM]:
        raise DataError(f"{folder.path}: holds other shards than those that the run was trained on")
    return load_whole(folder)


def make_shards(
    path: Path, graph: Graph, num_parts: int, *, how: Cut | None = None, is_named: bool = False, split_seed: int = 0
) -> dict[str, Any]:
    """Cut the graph, as well as can be where it is not said how, and write its shards; returns partition.json."""
    columns = Columns.of(graph.features)
    parts, done = parts_of_nodes(graph, num_parts, how or best_cut())
    about = {"is_named": is_named, "split_seed": split_seed, "cut_by": done, "suited_scaling": columns.suited}
    return write_shards(path, graph, parts, about, torch.stack([columns.mean, columns.deviation]))


def cut_notices(record: Mapping[str, Any], how: Cut | None = None) -> list[str]:
    """What to say of shards that were cut otherwise than they should be."""
    if record["cut_by"] == how or record["cut_by"] == "metis":
        return []
    return [
        "nodes were dealt out by number, which cuts many edges: METIS makes better parts "
        "(pip install 'confgcn[partition]') of graphs that are not tiny"
    ]


def columns_of(folder: ShardFolder) -> Columns:
    """What the features of the whole graph are like."""
    mean, deviation = folder.array(COLUMNS)
    return Columns(folder.record.suited_scaling, mean, deviation)
