"""A graph cut into shards and put together again; what is damaged is found."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from confgcn.data.datasets import load_graph
from confgcn.data.synthetic import block_model
from confgcn.distributed.shard_files import MANIFEST, ShardFolder, worker_of
from confgcn.distributed.sharding import Cut, parts_of_nodes
from confgcn.distributed.shards import load_whole
from confgcn.exceptions import CorruptFileError, ResourceError, UsageError
from confgcn.graph import Graph
from confgcn.runs.stored_graph import columns_of, make_shards, partition_notices
from confgcn.sparse import SparseMatrix


@pytest.fixture
def graph() -> Graph:
    return block_model(200, seed=0)


@pytest.mark.parametrize("how", ["metis", "hash"])
@pytest.mark.parametrize("parts", [1, 2, 5])
def test_shards_are_the_graph(tmp_path: Path, graph: Graph, how: Cut, parts: int) -> None:
    record = make_shards(tmp_path / "shards", graph, parts, how=how)
    assert record["parts"] == parts
    whole = load_whole(ShardFolder(tmp_path / "shards"))
    assert whole.fingerprint == graph.fingerprint
    assert whole.notices() == graph.notices()


def test_sparse_features_and_names_survive(tmp_path: Path) -> None:
    demo = load_graph("demo")
    assert isinstance(demo.features, SparseMatrix)
    make_shards(tmp_path / "shards", demo, 3)
    assert load_whole(ShardFolder(tmp_path / "shards")).fingerprint == demo.fingerprint


def test_crossing_edges_are_counted(tmp_path: Path, graph: Graph) -> None:
    record = make_shards(tmp_path / "shards", graph, 2, how="hash")
    parts, _ = parts_of_nodes(graph, 2, "hash")
    adjacency = graph.adjacency
    assert record["crossing"] == int((parts[adjacency.rows] != parts[adjacency.indices]).sum())


def test_metis_cuts_fewer_edges_than_a_hash(tmp_path: Path, graph: Graph) -> None:
    cut = {how: make_shards(tmp_path / how, graph, 2, how=how)["crossing"] for how in ("metis", "hash")}
    assert cut["metis"] < cut["hash"]


def test_borrowed_nodes_are_the_sources_that_others_own(tmp_path: Path, graph: Graph) -> None:
    make_shards(tmp_path / "shards", graph, 3)
    folder = ShardFolder(tmp_path / "shards")
    owner = torch.empty(graph.num_nodes, dtype=torch.long)
    for part in range(3):
        owner[folder.array("nodes", part)] = part
    for part in range(3):
        borrowed = folder.array("borrowed", part)
        sources = folder.array("indices", part)
        assert torch.equal(borrowed, sources[owner[sources] != part].unique())
        assert torch.equal(folder.array("borrowed_parts", part), owner[borrowed])


def test_no_part_is_empty() -> None:
    tiny = Graph.build([(0, 1)], np.eye(3), [0, 1, -1], train=[0, 1])
    assert torch.bincount(parts_of_nodes(tiny, 3, "hash")[0]).tolist() == [1, 1, 1]


@pytest.mark.parametrize("parts", [0, 1_000_000])
def test_more_parts_than_nodes_are_refused(tmp_path: Path, graph: Graph, parts: int) -> None:
    with pytest.raises(UsageError, match=f"parts = {parts}"):
        make_shards(tmp_path / "shards", graph, parts)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_there_is_not_written_over(tmp_path: Path, graph: Graph) -> None:
    with pytest.raises(UsageError, match="exists"):
        make_shards(tmp_path, graph, 2)


def test_every_damaged_file_is_found(tmp_path: Path, graph: Graph) -> None:
    make_shards(tmp_path / "shards", graph, 2)
    for file in sorted((tmp_path / "shards").rglob("*.*")):
        content = file.read_bytes()
        file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        with pytest.raises(CorruptFileError, match=file.name):
            load_whole(ShardFolder(tmp_path / "shards"))
        file.unlink()
        with pytest.raises((CorruptFileError, ResourceError), match=file.name):
            load_whole(ShardFolder(tmp_path / "shards"))
        file.write_bytes(content)
    load_whole(ShardFolder(tmp_path / "shards"))


def test_what_a_part_needs_to_know_of_all_columns(tmp_path: Path, graph: Graph) -> None:
    make_shards(tmp_path / "shards", graph, 2)
    columns = columns_of(ShardFolder(tmp_path / "shards"))
    assert isinstance(graph.features, torch.Tensor)
    assert torch.allclose(columns.mean, graph.features.double().mean(0))


def test_workers_take_all_parts_in_rows(tmp_path: Path, graph: Graph) -> None:
    make_shards(tmp_path / "shards", graph, 5)
    folder = ShardFolder(tmp_path / "shards")
    assert [folder.parts_of(rank, 2) for rank in range(2)] == [[0, 1, 2], [3, 4]]
    assert worker_of(torch.arange(5), 5, 2).tolist() == [0, 0, 0, 1, 1]
    with pytest.raises(UsageError, match="5 parts, too few for 6 workers"):
        folder.parts_of(0, 6)


def test_another_layout_is_refused(tmp_path: Path, graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("confgcn.distributed.sharding.LAYOUT", 99)
    make_shards(tmp_path / "shards", graph, 2)
    with pytest.raises(CorruptFileError, match="layout 99"):
        load_whole(ShardFolder(tmp_path / "shards"))


def test_no_folder_of_shards(tmp_path: Path) -> None:
    with pytest.raises(ResourceError, match=MANIFEST):
        load_whole(ShardFolder(tmp_path))


def test_without_metis_nodes_are_dealt_out_which_is_said(
    tmp_path: Path, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert partition_notices(make_shards(tmp_path / "metis", graph, 2)) == []
    monkeypatch.setitem(sys.modules, "pymetis", None)
    record = make_shards(tmp_path / "hash", graph, 2)
    assert record["cut_by"] == "hash"
    assert "confgcn[partition]" in partition_notices(record)[0]
    assert partition_notices(record, "hash") == []


def test_where_metis_leaves_a_part_empty_nodes_are_dealt_out(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("confgcn.distributed.sharding.metis", lambda graph, _: torch.zeros(graph.num_nodes).long())
    parts, how = parts_of_nodes(graph, 4, "metis")
    assert (torch.bincount(parts).tolist(), how) == ([50] * 4, "hash")
