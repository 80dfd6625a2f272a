"""Workers with a shard each divide the held-out labels as one process does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
import torch

from confgcn.data.held_out import divide
from confgcn.data.synthetic import block_model
from confgcn.distributed.held_out import choosing_nodes_of_shard
from confgcn.graph import Shard
from confgcn.runs.stored_graph import make_shards
from confgcn.training.group import SINGLE_PROCESS

GRAPH = block_model(280, seed=3)  # 70 validation nodes

IN_A_WORKER = """
from pathlib import Path
from confgcn.distributed.held_out import choosing_nodes_of_shard
from confgcn.distributed.shard_files import ShardFolder
from confgcn.distributed.shards import load_shard
group.finish_setup()
shard = load_shard(ShardFolder(Path({folder!r})), group.rank, group.size)
found = shard.shard.nodes[choosing_nodes_of_shard(shard, "divided", group)].tolist()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_shards(tmp_path / "shards", GRAPH, 2)
    return tmp_path / "shards"


def test_the_shards_of_two_workers_hold_the_choosing_half_of_the_whole_graph(
    folder: Path, in_two_workers: Callable[[str], list[Any]]
) -> None:
    found = in_two_workers(IN_A_WORKER.format(folder=str(folder)))
    expected = divide(GRAPH.validation, GRAPH.labels[GRAPH.validation]).choosing
    assert all(found)
    assert sorted(found[0] + found[1]) == expected.tolist()


def test_a_shard_without_division_keeps_all_validation_nodes() -> None:
    shard = Shard(cast("Any", None), torch.arange(280), torch.arange(0), 280)
    graph = replace(GRAPH, shard=shard)
    assert torch.equal(choosing_nodes_of_shard(graph, "whole", SINGLE_PROCESS), GRAPH.validation)
