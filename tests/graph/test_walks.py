"""Random walks: every step is an edge, drawn evenly; and the pairs of one walk by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from confgcn.graph import Graph
from confgcn.graph.walks import context_pairs, random_walks, with_negatives


def test_every_step_is_an_edge(small_graph: Graph) -> None:
    starts = torch.arange(120).repeat(3)
    walks = random_walks(small_graph.neighbours, starts, length=12)
    assert walks.shape == (360, 12)
    assert torch.equal(walks[:, 0], starts)
    is_edge = torch.zeros(120, 120, dtype=torch.bool)
    is_edge[small_graph.neighbours.rows, small_graph.neighbours.indices] = True
    alone = small_graph.degrees == 0
    is_edge |= torch.diag(alone)
    assert is_edge[walks[:, :-1], walks[:, 1:]].all()
    assert not alone.all()


@pytest.mark.parametrize("isolated", [0, 2, 4])
def test_an_isolated_node_stays(isolated: int) -> None:
    others = [v for v in range(5) if v != isolated]
    graph = Graph.build([(v, u) for v in others for u in others if v < u], np.eye(5), [0] * 5)
    walks = random_walks(graph.neighbours, torch.arange(5), length=30)
    assert (walks[isolated] == isolated).all()
    assert not (walks[others] == isolated).any()
    assert (walks[others, 1:] != walks[others, :-1]).all()


def test_without_edges_all_stay() -> None:
    graph = Graph.build([], np.eye(3), [0] * 3)
    assert random_walks(graph.neighbours, torch.tensor([2, 0]), length=3).tolist() == [[2, 2, 2], [0, 0, 0]]


def test_neighbours_are_drawn_evenly() -> None:
    degree, count = 7, 70_000
    graph = Graph.build([(0, v) for v in range(1, degree + 1)] + [(1, 2)], np.eye(degree + 1), [0] * (degree + 1))
    steps = random_walks(graph.neighbours, torch.zeros(count, dtype=torch.long), length=2)[:, 1]
    observed = torch.bincount(steps, minlength=degree + 1)[1:].double()
    expected = count / degree
    chi_square = ((observed - expected) ** 2 / expected).sum()
    assert chi_square < 30  # six degrees of freedom: exceeded once in 25,000 draws


def test_steps_do_not_depend_on_those_before() -> None:
    count = 40_000
    graph = Graph.build([(0, 1), (0, 2), (1, 2)], np.eye(3), [0] * 3)
    walks = random_walks(graph.neighbours, torch.zeros(count, dtype=torch.long), length=3)
    is_first = walks[:, 1] == 1
    returned = (walks[:, 2] == 0).double()
    assert abs(returned[is_first].mean() - 0.5) < 0.02
    assert abs(returned[~is_first].mean() - 0.5) < 0.02


def test_a_walk_of_length_one_is_its_start(six_nodes: Graph) -> None:
    assert random_walks(six_nodes.neighbours, torch.tensor([3, 5]), length=1).tolist() == [[3], [5]]


def test_walks_come_from_torchs_stream(small_graph: Graph) -> None:
    walks = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        walks.append(random_walks(small_graph.neighbours, torch.arange(120), length=8))
    assert torch.equal(walks[0], walks[1])
    assert not torch.equal(walks[0], walks[2])


def pairs_of(walks: list[list[int]], window: int) -> list[tuple[int, int]]:
    centre, context = context_pairs(torch.tensor(walks), window=window)
    return sorted(zip(centre.tolist(), context.tolist(), strict=True))


def test_pairs_of_a_walk_by_hand() -> None:
    walk = [[7, 8, 9, 7]]
    near = [(7, 8), (8, 9), (9, 7)]
    further = [(7, 9), (8, 7)]
    both = [*near, *further]
    assert pairs_of(walk, 1) == sorted([*near, *((b, a) for a, b in near)])
    assert pairs_of(walk, 2) == sorted([*both, *((b, a) for a, b in both)])


@pytest.mark.parametrize("window", [3, 4, 100])
def test_a_window_longer_than_the_walk_pairs_all_places(window: int) -> None:
    expected = [(a, b) for a in (4, 5, 6, 7) for b in (4, 5, 6, 7) if a != b]
    assert pairs_of([[4, 5, 6, 7]], window) == expected


def test_places_of_different_walks_are_not_paired() -> None:
    assert pairs_of([[0, 1], [2, 3]], 5) == [(0, 1), (1, 0), (2, 3), (3, 2)]


def test_a_walk_of_length_one_has_no_pairs() -> None:
    assert pairs_of([[4], [5]], 3) == []


def test_every_pair_has_its_negatives() -> None:
    centre, other = torch.tensor([3, 1]), torch.tensor([1, 3])
    first, second, sign = with_negatives(centre, other, num_negatives=2, num_nodes=1)
    assert first.tolist() == [3, 1, 3, 1, 3, 1]
    assert second.tolist() == [1, 3, 0, 0, 0, 0]
    assert sign.tolist() == [1.0, 1.0, -1.0, -1.0, -1.0, -1.0]
