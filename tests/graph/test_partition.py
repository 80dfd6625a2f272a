"""Partitions: what every way of cutting has in common, flood fill by hand, and the one edge that is easy to cut."""

from __future__ import annotations

import sys
from itertools import combinations

import numpy as np
import pytest
import torch
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from confgcn.exceptions import ResourceError
from confgcn.graph import Graph
from confgcn.graph.partition import PARTITIONS, Partition, flood_fill, metis, partition

CLIQUE = 8


@pytest.fixture(params=PARTITIONS)
def how(request: pytest.FixtureRequest) -> Partition:
    if request.param == "metis":
        pytest.importorskip("pymetis")
    return request.param


def graph_of(num_nodes: int, edges: list[tuple[int, int]], train: list[int]) -> Graph:
    return Graph.build(edges, np.eye(num_nodes), [0] * num_nodes, train=train)


def seeded_partition(graph: Graph, how: Partition, num_subsets: int, seed: int) -> Tensor:
    torch.manual_seed(seed)
    return partition(graph, how, num_subsets)


def num_components(graph: Graph, nodes: Tensor) -> int:
    matrix = graph.neighbours.with_ones().to_scipy()[nodes.numpy()][:, nodes.numpy()]
    return connected_components(matrix, directed=False)[0]


def sizes(part: Tensor) -> list[int]:
    return sorted(torch.bincount(part).tolist())


@pytest.mark.parametrize("num_subsets", [2, 5, 10])
def test_every_node_is_in_a_subset(small_graph: Graph, how: Partition, num_subsets: int) -> None:
    part = partition(small_graph, how, num_subsets)
    assert part.shape == (120,)
    assert part.dtype == torch.long
    assert set(part.tolist()) == set(range(num_subsets))


def test_one_seed_gives_one_partition_and_others_give_others(small_graph: Graph, how: Partition) -> None:
    first, second, *others = (seeded_partition(small_graph, how, 4, seed) for seed in (1, 1, 2, 3, 4, 5))
    assert torch.equal(first, second)
    assert any(not torch.equal(first, other) for other in others)


def test_one_subset_holds_all(small_graph: Graph, how: Partition) -> None:
    assert not partition(small_graph, how, 1).any()


@pytest.mark.parametrize("num_subsets", [6, 7, 100])
def test_with_fewer_nodes_than_subsets_each_is_one(six_nodes: Graph, how: Partition, num_subsets: int) -> None:
    assert partition(six_nodes, how, num_subsets).tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("seed", range(5))
def test_two_cliques_are_cut_at_the_edge_between_them(how: Partition, seed: int) -> None:
    inside = [(i + first, j + first) for first in (0, CLIQUE) for i, j in combinations(range(CLIQUE), 2)]
    graph = graph_of(2 * CLIQUE, [*inside, (0, CLIQUE)], train=[1, CLIQUE + 1])
    part = seeded_partition(graph, how, 2, seed)
    left, right = part[0].item(), part[CLIQUE].item()
    assert left != right
    assert part.tolist() == [left] * CLIQUE + [right] * CLIQUE


@pytest.mark.parametrize("seed", range(5))
def test_flood_fill_starts_from_different_training_nodes(small_graph: Graph, seed: int) -> None:
    torch.manual_seed(seed)
    count = len(small_graph.train)
    part = flood_fill(small_graph, count)
    assert sorted(part[small_graph.train].tolist()) == list(range(count))
    fewer = flood_fill(small_graph, 7)
    assert set(fewer[small_graph.train].tolist()) == set(range(7))


def test_flood_fill_draws_seeds_by_their_degree() -> None:
    """A hub of 20 leaves and 20 pairs, all of degree one; where the hub is no seed its leaves are dealt out."""
    pairs = [(v, v + 20) for v in range(21, 41)]
    graph = graph_of(61, [*((0, v) for v in range(1, 21)), *pairs], train=[0, *range(21, 41)])
    parts = [seeded_partition(graph, "flood_fill", 2, seed) for seed in range(100)]
    drawn = sum(len(set(part[:21].tolist())) == 1 for part in parts)
    assert 50 < drawn < 95  # expected are 76, and 10 if degrees did not count


@pytest.mark.parametrize("seed", range(3))
def test_flood_fill_draws_the_seeds_that_are_missing_from_all_nodes(seed: int) -> None:
    graph = graph_of(12, [(v, v + 1) for v in range(11)], train=[5])
    part = seeded_partition(graph, "flood_fill", 4, seed)
    assert set(part.tolist()) == {0, 1, 2, 3}
    assert part[5] == 0


@pytest.mark.parametrize("seed", range(5))
def test_subsets_of_a_connected_graph_are_connected(seed: int) -> None:
    random = np.random.default_rng(seed)
    edges = [(int(random.integers(v)), v) for v in range(1, 60)] + random.integers(60, size=(30, 2)).tolist()
    graph = graph_of(60, edges, train=[3, 10, 20, 30, 40, 50])
    assert num_components(graph, torch.arange(60)) == 1
    part = seeded_partition(graph, "flood_fill", 5, seed)
    assert all(num_components(graph, (part == number).nonzero().squeeze(1)) == 1 for number in range(5))


@pytest.mark.parametrize("seed", range(5))
def test_subsets_take_turns(seed: int) -> None:
    graph = graph_of(10, [(v, v + 1) for v in range(9)], train=[0, 9])
    part = seeded_partition(graph, "flood_fill", 2, seed).tolist()
    assert part == [part[0]] * 5 + [part[9]] * 5


@pytest.mark.parametrize("seed", range(5))
def test_a_turn_claims_all_neighbours_of_one_node(seed: int) -> None:
    """Two stars whose hubs are joined: each hub claims its leaves at once, before a leaf's turn comes."""
    edges = [*((0, v) for v in range(2, 8)), *((1, v) for v in range(8, 11)), (0, 1)]
    part = seeded_partition(graph_of(11, edges, train=[0, 1]), "flood_fill", 2, seed).tolist()
    assert part == [part[0], part[1], *[part[0]] * 6, *[part[1]] * 3]


@pytest.mark.parametrize("seed", range(5))
def test_the_node_held_longest_has_its_turn_first(seed: int) -> None:
    """From 0 a branch leads by 2 to 4 and another by 3 and 5 to 10; from 1 a path comes to 4 in the fourth round."""
    edges = [(0, 2), (0, 3), (2, 4), (3, 5), (5, 8), (8, 9), (9, 10), (1, 6), (6, 7), (7, 11), (11, 4)]
    part = seeded_partition(graph_of(12, edges, train=[0, 1]), "flood_fill", 2, seed)
    assert (part == part[1]).nonzero().squeeze(1).tolist() == [1, 6, 7, 11]


@pytest.mark.parametrize("seed", range(5))
def test_nodes_that_no_subset_reaches_go_to_the_smallest(seed: int) -> None:
    edges = [*((0, v) for v in range(2, 9)), (1, 9)]  # 8 and 2 nodes; 10 to 24 are isolated
    graph = graph_of(25, edges, train=[0, 1])
    part = seeded_partition(graph, "flood_fill", 2, seed)
    assert sizes(part[:10]) == [2, 8]
    assert sizes(part) == [12, 13]
    assert part[10:16].tolist() == [part[1].item()] * 6


def test_subsets_of_metis_are_of_nearly_equal_size(small_graph: Graph) -> None:
    pytest.importorskip("pymetis")
    assert max(sizes(metis(small_graph, 4))) <= 33


def test_a_large_graph_is_cut_by_its_clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pymetis")
    cliques = [(8 * clique + i, 8 * clique + j) for clique in range(40) for i, j in combinations(range(8), 2)]
    chain = [(8 * clique + 7, 8 * clique + 8) for clique in range(39)]
    graph = graph_of(320, cliques + chain, [0])
    for name, value in (("MAX_ENTRIES", 0), ("CLUSTERS_PER_SUBSET", 20)):
        monkeypatch.setattr(f"confgcn.graph.partition.{name}", value)
    part = seeded_partition(graph, "metis", 2, 0)
    assert max(sizes(part)) <= 170
    assert int((part[graph.neighbours.rows] != part[graph.neighbours.indices]).sum()) <= 8


def test_without_metis_the_error_names_the_package(small_graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymetis", None)
    with pytest.raises(ResourceError, match="pip install"):
        metis(small_graph, 4)


def test_without_edges_every_node_is_still_in_a_subset(how: Partition) -> None:
    graph = Graph.build([], np.eye(8), [0, 1] * 4, train=[0, 1])
    part = partition(graph, how, 2)
    assert part.shape == (8,)
    assert set(part.tolist()) == {0, 1}


def test_many_components_are_partitioned_alike_by_one_seed(how: Partition) -> None:
    pairs = [(2 * i, 2 * i + 1) for i in range(40)]
    graph = Graph.build(pairs, np.eye(80), [0, 1] * 40, train=[0, 1, 2, 3])
    parts = []
    for _ in range(3):
        torch.manual_seed(5)
        parts.append(partition(graph, how, 5))
    assert torch.equal(parts[0], parts[1])
    assert torch.equal(parts[0], parts[2])
