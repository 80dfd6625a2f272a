"""What ``partition.json`` says of a graph in shards; a record of another form is refused, whoever has sealed it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from confgcn.data.graph_names import GRAPH_NAMES
from confgcn.data.input_files import naming
from confgcn.exceptions import CorruptFileError, brief
from confgcn.graph import EdgeCounts
from confgcn.graph.validation import MAX_NODES, checked_names
from confgcn.io.json_files import checked_record, read_checksummed_json
from confgcn.limits import MAX_SHARDS, MAX_SPLIT_SEED

KEY, LAYOUT = "confgcn_shards", 1

Whole = Annotated[int, Field(ge=0)]
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class ShardRecord(BaseModel):
    """Of the graph, of the cut, of the features of all nodes together, and the SHA-256 of every other file."""

    model_config = ConfigDict(strict=True, extra="forbid")

    confgcn_shards: int
    name: str
    is_named: bool
    split_seed: Annotated[int, Field(ge=0, le=MAX_SPLIT_SEED)]
    parts: Annotated[int, Field(ge=1, le=MAX_SHARDS)]
    cut_by: Literal["metis", "hash"]
    crossing: Whole
    num_nodes: Annotated[int, Field(ge=1, le=MAX_NODES)]
    num_features: Annotated[int, Field(ge=1)]
    entries: Whole
    class_names: list[str]
    feature_names: list[str]
    remarks: list[str]
    edge_counts: EdgeCounts
    sparse_features: bool
    feature_dtype: Literal["torch.float32", "torch.float64"]
    suited_scaling: Literal["rows", "columns"]
    graph_sha256: Sha256
    files: dict[str, Sha256]


def read_shard_record(file: Path) -> ShardRecord:
    """The record in a file, whose parts fit each other."""
    content = read_checksummed_json(file)
    if content.get(KEY) != LAYOUT:
        raise CorruptFileError(f"{file}: layout {brief(repr(content.get(KEY)))}, this version reads {LAYOUT}")
    record = checked_record(ShardRecord, content, f"{file}: describes no graph in shards")
    with naming(file):
        checked_names(record.class_names, "class", len(record.class_names))
    if len(record.feature_names) not in (0, record.num_features):
        found = f"{len(record.feature_names)} names of {record.num_features} features"
        raise CorruptFileError(f"{file}: describes no graph in shards, but {found}")
    if record.is_named and record.name not in GRAPH_NAMES:
        raise CorruptFileError(f"{file}: describes no graph in shards: there is none named {brief(repr(record.name))}")
    return record
