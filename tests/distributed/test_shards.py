"""A graph is divided into shards; they are read as the whole graph, or as the shard of a worker."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch

from confgcn.data.load import load_graph
from confgcn.data.synthetic import block_model
from confgcn.distributed import shards as module
from confgcn.distributed.shard_files import MANIFEST, NAMES, Partitioner, ShardFolder, worker_of
from confgcn.distributed.shards import load_all_shards, load_shard, shards_of_nodes
from confgcn.exceptions import CorruptFileError, DataError, ResourceError, UsageError
from confgcn.graph import Graph
from confgcn.io.json_files import read_checksummed_json, to_json, write_checksummed_json
from confgcn.ops import Halo
from confgcn.runs.stored_graph import columns_of, make_shards, partition_notices
from confgcn.sparse import SparseMatrix

Forge = Callable[[Path, str, Any], None]


@pytest.fixture
def exchange() -> Iterator[mock.Mock]:
    """Nobody is there to exchange anything with."""
    with mock.patch.object(module, "make_exchange", return_value=mock.Mock(spec=Halo)) as made:
        yield made


def test_the_whole(shards: Path) -> None:
    graph = load_all_shards(ShardFolder(shards))
    assert graph.adjacency.indices.tolist() == [0, 1, 0, 1, 2, 1, 2, 3, 2, 3, 4, 3, 4, 5, 4, 5]
    assert graph.node_names == ("a", "b", "c", "d", "e", "f")
    assert graph.labels.tolist() == [0, 1, 0, 1, -1, -1]
    assert (graph.train.tolist(), graph.validation.tolist(), graph.test.tolist()) == ([0, 1], [2], [3])


def test_the_shard_of_a_worker(shards: Path, exchange: mock.Mock) -> None:
    """Worker 1 of two has the last shard, node 5, and needs node 4 of worker 0."""
    shard = load_shard(ShardFolder(shards), 1, 2)
    assert shard.adjacency.shape == (1, 2)
    assert shard.adjacency.indices.tolist() == [0, 1]
    halo_nodes, owners, own = exchange.call_args.args
    assert (halo_nodes.tolist(), owners.tolist(), own.tolist()) == ([4], [0], [5])


def test_halo_nodes_of_a_worker_with_two_shards_belong_to_others(sparse_shards: Path, exchange: mock.Mock) -> None:
    shard = load_shard(ShardFolder(sparse_shards), 0, 2)
    assert shard.adjacency.shape == (5, 6)
    assert exchange.call_args.args[0].tolist() == [5]
    assert isinstance(shard.features, SparseMatrix)
    assert shard.features.structure.indptr.tolist() == [0, 2, 3, 4, 4, 6]


@pytest.mark.parametrize("rank", [0, 1])
def test_a_worker_refuses_its_own_damaged_shard(shards: Path, forge: Forge, exchange: mock.Mock, rank: int) -> None:
    place = f"shard-{2 * rank:04d}/indices.npy"
    forge(shards, place, torch.full((8 if rank == 0 else 2,), 10**12).numpy())
    with pytest.raises(CorruptFileError, match=place):
        load_shard(ShardFolder(shards), rank, 2)
    load_shard(ShardFolder(shards), 1 - rank, 2)


@pytest.mark.parametrize(
    "content",
    [
        {"names": ["a", "b", "c", "d", "e"]},
        {"names": ["a", "b", "c", "d", "e", "e"]},
        {"names": ["a", "b", "c", "d", "e", 5]},
        {"names": ["a", "b", "c", "d", "e", None]},
        {"names": "abcdef"},
        {"names": {"a": 1}},
        {},
        [],
    ],
    ids=str,
)
def test_names_that_are_not_those_of_the_nodes(shards: Path, forge: Forge, content: Any) -> None:
    forge(shards, NAMES, content)
    with pytest.raises(DataError, match=r"names\.json"):
        load_all_shards(ShardFolder(shards))


def test_names_that_the_record_does_not_know_are_not_read(shards: Path) -> None:
    record = read_checksummed_json(shards / MANIFEST)
    del record["files"][NAMES]
    write_checksummed_json(shards / MANIFEST, record)
    (shards / NAMES).write_bytes(to_json({"names": ["x"] * 6}))
    assert load_all_shards(ShardFolder(shards)).node_names == ("0", "1", "2", "3", "4", "5")


@pytest.fixture
def graph() -> Graph:
    return block_model(200, seed=0)


@pytest.mark.parametrize("how", ["metis", "hash"])
@pytest.mark.parametrize("shards", [1, 2, 5])
def test_shards_are_the_graph(tmp_path: Path, graph: Graph, how: Partitioner, shards: int) -> None:
    record = make_shards(tmp_path / "shards", graph, shards, how=how)
    assert record["shards"] == shards
    whole = load_all_shards(ShardFolder(tmp_path / "shards"))
    assert whole.fingerprint == graph.fingerprint
    assert whole.notices() == graph.notices()


def test_sparse_features_and_names_survive(tmp_path: Path) -> None:
    demo = load_graph("demo")
    assert isinstance(demo.features, SparseMatrix)
    make_shards(tmp_path / "shards", demo, 3)
    assert load_all_shards(ShardFolder(tmp_path / "shards")).fingerprint == demo.fingerprint


def test_crossing_edges_are_counted(tmp_path: Path, graph: Graph) -> None:
    record = make_shards(tmp_path / "shards", graph, 2, how="hash")
    shards, _ = shards_of_nodes(graph, 2, "hash")
    adjacency = graph.adjacency
    assert record["crossing_edges"] == int((shards[adjacency.rows] != shards[adjacency.indices]).sum())


def test_metis_cuts_fewer_edges_than_a_hash(tmp_path: Path, graph: Graph) -> None:
    cut = {how: make_shards(tmp_path / how, graph, 2, how=how)["crossing_edges"] for how in ("metis", "hash")}
    assert cut["metis"] < cut["hash"]


def test_halo_nodes_are_the_sources_in_other_shards(tmp_path: Path, graph: Graph) -> None:
    make_shards(tmp_path / "shards", graph, 3)
    folder = ShardFolder(tmp_path / "shards")
    owner = torch.empty(graph.num_nodes, dtype=torch.long)
    for shard in range(3):
        owner[folder.array("nodes", shard)] = shard
    for shard in range(3):
        halo_nodes = folder.array("halo_nodes", shard)
        sources = folder.array("indices", shard)
        assert torch.equal(halo_nodes, sources[owner[sources] != shard].unique())
        assert torch.equal(folder.array("halo_shards", shard), owner[halo_nodes])


def test_no_shard_is_empty() -> None:
    tiny = Graph.build([(0, 1)], np.eye(3), [0, 1, -1], train=[0, 1])
    assert torch.bincount(shards_of_nodes(tiny, 3, "hash")[0]).tolist() == [1, 1, 1]


@pytest.mark.parametrize("shards", [0, 1_000_000])
def test_more_shards_than_nodes_are_refused(tmp_path: Path, graph: Graph, shards: int) -> None:
    with pytest.raises(UsageError, match=f"shards = {shards}"):
        make_shards(tmp_path / "shards", graph, shards)
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
            load_all_shards(ShardFolder(tmp_path / "shards"))
        file.unlink()
        with pytest.raises((CorruptFileError, ResourceError), match=file.name):
            load_all_shards(ShardFolder(tmp_path / "shards"))
        file.write_bytes(content)
    load_all_shards(ShardFolder(tmp_path / "shards"))


def test_statistics_of_all_columns_are_stored(tmp_path: Path, graph: Graph) -> None:
    make_shards(tmp_path / "shards", graph, 2)
    columns = columns_of(ShardFolder(tmp_path / "shards"))
    assert isinstance(graph.features, torch.Tensor)
    assert torch.allclose(columns.mean, graph.features.double().mean(0))


def test_workers_get_consecutive_shards(tmp_path: Path, graph: Graph) -> None:
    make_shards(tmp_path / "shards", graph, 5)
    folder = ShardFolder(tmp_path / "shards")
    assert [folder.shards_of(rank, 2) for rank in range(2)] == [[0, 1, 2], [3, 4]]
    assert worker_of(torch.arange(5), 5, 2).tolist() == [0, 0, 0, 1, 1]
    with pytest.raises(UsageError, match="5 shards, too few for 6 workers"):
        folder.shards_of(0, 6)


def test_another_layout_is_refused(tmp_path: Path, graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("confgcn.distributed.shards.LAYOUT", 99)
    make_shards(tmp_path / "shards", graph, 2)
    with pytest.raises(CorruptFileError, match="layout 99"):
        load_all_shards(ShardFolder(tmp_path / "shards"))


def test_no_folder_of_shards(tmp_path: Path) -> None:
    with pytest.raises(ResourceError, match=MANIFEST):
        load_all_shards(ShardFolder(tmp_path))


def test_without_metis_nodes_are_assigned_by_number_with_a_notice(
    tmp_path: Path, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert partition_notices(make_shards(tmp_path / "metis", graph, 2)) == []
    monkeypatch.setitem(sys.modules, "pymetis", None)
    record = make_shards(tmp_path / "hash", graph, 2)
    assert record["partitioned_by"] == "hash"
    assert "confgcn[partition]" in partition_notices(record)[0]
    assert partition_notices(record, "hash") == []


def test_where_metis_leaves_a_shard_empty_nodes_are_assigned_by_number(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("confgcn.distributed.shards.metis", lambda graph, _: torch.zeros(graph.num_nodes).long())
    shards, how = shards_of_nodes(graph, 4, "metis")
    assert (torch.bincount(shards).tolist(), how) == ([50] * 4, "hash")


def test_a_graph_with_edge_weights_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    graph = Graph.build([(0, 1)], np.eye(2), [0, 1], edge_weight=[2.0])
    with pytest.raises(UsageError, match="edge weights cannot be sharded; train it in one process"):
        module.write_shards(tmp_path / "shards", graph, torch.tensor([0, 1]), {}, torch.zeros(2, 2))
    assert not list(tmp_path.iterdir())
