"""Real groups of two processes, and the results of shards in the order of the whole graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest
import torch
from torch import Tensor

from confgcn.data.synthetic import block_model
from confgcn.distributed.process_group import (
    gathered_entries,
    gathered_prediction,
    gathered_rows,
    joined_group,
    order_in_graph,
)
from confgcn.exceptions import UsageError
from confgcn.graph import Graph, Shard
from confgcn.models.base import Prediction
from confgcn.sparse import SparseStructure

NO_HALO = cast("Any", None)


COLLECTED = """
group.finish_setup()
tensors = [torch.tensor([1.0, 2.0]) + group.rank, torch.tensor([[10.0]])]
group.sum_tensors(tensors)
before = group.has_flag("flag")
group.wait()
if group.rank == 0:
    group.set_flag("flag")
group.wait()
found = {
    "rank": group.rank, "size": group.size, "sum": group.sum([1.0, group.rank]),
    "tensors": [tensor.tolist() for tensor in tensors],
    "flags": [before, group.has_flag("flag")],
    "collected": [
        [tensor.tolist() for tensor in received]
        for received in group.collect(torch.arange(group.rank + 1), torch.full((group.rank + 1, 2), float(group.rank)))
    ],
}
"""


@pytest.fixture(scope="module")
def collected(in_two_workers: Callable[[str], list[Any]]) -> list[Any]:
    return in_two_workers(COLLECTED)


def test_numbers_and_tensors_are_summed_over_both_workers(collected: list[Any]) -> None:
    assert [(found["rank"], found["size"]) for found in collected] == [(0, 2), (1, 2)]
    assert [found["sum"] for found in collected] == [[2.0, 1.0]] * 2
    assert [found["tensors"] for found in collected] == [[[3.0, 5.0], [[20.0]]]] * 2


def test_a_flag_is_seen_by_all_workers(collected: list[Any]) -> None:
    assert [worker["flags"] for worker in collected] == [[False, True]] * 2


def test_the_first_worker_collects_tensors_of_different_lengths(collected: list[Any]) -> None:
    first, second = collected
    assert first["collected"] == [[[0], [[0.0, 0.0]]], [[0, 1], [[1.0, 1.0], [1.0, 1.0]]]]
    assert second["collected"] == []


def test_a_process_that_no_launcher_started_has_no_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANK", raising=False)
    with pytest.raises(UsageError, match="start them with torchrun"), joined_group():
        pytest.fail("it joined")


class FirstWorker:
    """A group as the first worker sees it, with the tensors that the others send."""

    def __init__(self, *others: tuple[Tensor, ...]) -> None:
        self.others = others

    def collect(self, *tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
        yield tensors
        yield from self.others


class OtherWorker:
    """A group as any other worker sees it."""

    def collect(self, *tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
        yield from ()


def shard_of(graph: Graph, nodes: Tensor) -> tuple[SparseStructure, Shard]:
    """The edges into these nodes: own columns, then those of halo nodes, last first, which is no order of the whole."""
    edges, _ = graph.adjacency.at_rows(nodes)
    halo_nodes = edges.indices[~torch.isin(edges.indices, nodes)].unique().flip(0)
    number = torch.full((graph.num_nodes,), -1)
    number[torch.cat([nodes, halo_nodes])] = torch.arange(len(nodes) + len(halo_nodes))
    width = len(nodes) + len(halo_nodes)
    columns = (edges.rows * width + number[edges.indices]).sort().values % width
    return SparseStructure(edges.indptr, columns, (len(nodes), width)), Shard(
        NO_HALO, nodes, halo_nodes, graph.num_nodes
    )


def edge_values(structure: SparseStructure, shard: Shard) -> Tensor:
    """A number for every edge that tells its ends."""
    sources = torch.cat([shard.nodes, shard.halo_nodes])[structure.indices]
    return (1000.0 * shard.nodes[structure.rows] + sources).float()


def test_rows_are_in_the_order_of_the_whole() -> None:
    first, second = (Shard(NO_HALO, torch.tensor(nodes), torch.tensor([]), 5) for nodes in ([1, 4], [0, 2, 3]))
    whole = gathered_rows(
        torch.tensor([[1.0], [4.0]]), first, FirstWorker((second.nodes, torch.tensor([[0.0], [2.0], [3.0]])))
    )
    assert whole is not None
    assert whole.flatten().tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_values_of_edges_are_in_the_order_of_the_whole() -> None:
    graph = block_model(100, seed=1)
    own, shard = shard_of(graph, torch.arange(0, 100, 2))
    other, its_shard = shard_of(graph, torch.arange(1, 100, 2))
    its_values = edge_values(other, its_shard)[order_in_graph(other, its_shard)]
    found = gathered_entries(
        edge_values(own, shard), own, shard, graph.adjacency, FirstWorker((its_shard.nodes, its_values))
    )
    assert found is not None
    assert torch.equal(found, (1000.0 * graph.adjacency.rows + graph.adjacency.indices).float())


def test_a_worker_that_is_not_the_first_gets_nothing() -> None:
    graph = block_model(100, seed=0)
    own, shard = shard_of(graph, torch.arange(5))
    sharded = cast("Graph", type("Sharded", (), {"shard": shard, "adjacency": own})())
    prediction = Prediction(torch.zeros(5, 2), influence=edge_values(own, shard))
    assert gathered_prediction(prediction, sharded, None, OtherWorker()) is None
