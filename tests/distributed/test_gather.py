"""What parts hold comes together in the order of the whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import torch
from torch import Tensor

from confgcn.data.synthetic import block_model
from confgcn.distributed.gather import order_in_whole, whole_entries, whole_prediction, whole_rows
from confgcn.graph import Graph, Shard
from confgcn.models.base import Prediction
from confgcn.sparse import SparseStructure

NO_HALO = cast("Any", None)


class Given:
    """Processes of which the others have already given what they have."""

    def __init__(self, *others: tuple[Tensor, ...]) -> None:
        self.others = others

    def collect(self, *tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
        yield tensors
        yield from self.others


class Giving:
    """Seen from a process that is not the first."""

    def collect(self, *tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
        yield from ()


def part_of(graph: Graph, nodes: Tensor) -> tuple[SparseStructure, Shard]:
    """The edges into these nodes over their own columns and then borrowed ones, last first: an order of its own."""
    edges, _ = graph.adjacency.at_rows(nodes)
    borrowed = edges.indices[~torch.isin(edges.indices, nodes)].unique().flip(0)
    number = torch.full((graph.num_nodes,), -1)
    number[torch.cat([nodes, borrowed])] = torch.arange(len(nodes) + len(borrowed))
    width = len(nodes) + len(borrowed)
    columns = (edges.rows * width + number[edges.indices]).sort().values % width
    return SparseStructure(edges.indptr, columns, (len(nodes), width)), Shard(NO_HALO, nodes, borrowed, graph.num_nodes)


def edge_values(structure: SparseStructure, shard: Shard) -> Tensor:
    """A number for every edge that tells its ends."""
    sources = torch.cat([shard.nodes, shard.halo_nodes])[structure.indices]
    return (1000.0 * shard.nodes[structure.rows] + sources).float()


def test_rows_come_to_their_places() -> None:
    first, second = (Shard(NO_HALO, torch.tensor(nodes), torch.tensor([]), 5) for nodes in ([1, 4], [0, 2, 3]))
    whole = whole_rows(torch.tensor([[1.0], [4.0]]), first, Given((second.nodes, torch.tensor([[0.0], [2.0], [3.0]]))))
    assert whole is not None
    assert whole.flatten().tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_edges_come_to_their_places() -> None:
    graph = block_model(100, seed=1)
    own, shard = part_of(graph, torch.arange(0, 100, 2))
    other, its_shard = part_of(graph, torch.arange(1, 100, 2))
    its_values = edge_values(other, its_shard)[order_in_whole(other, its_shard)]
    found = whole_entries(edge_values(own, shard), own, shard, graph.adjacency, Given((its_shard.nodes, its_values)))
    assert found is not None
    assert torch.equal(found, (1000.0 * graph.adjacency.rows + graph.adjacency.indices).float())


def test_a_process_that_is_not_the_first_is_given_nothing() -> None:
    graph = block_model(100, seed=0)
    own, shard = part_of(graph, torch.arange(5))
    part = cast("Graph", type("Part", (), {"shard": shard, "adjacency": own})())
    prediction = Prediction(torch.zeros(5, 2), influence=edge_values(own, shard))
    assert whole_prediction(prediction, part, None, Giving()) is None
