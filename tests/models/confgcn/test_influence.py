"""Scores and influences against loops and by hand."""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck

from confgcn.exceptions import DataError
from confgcn.graph import Graph
from confgcn.models.confgcn import influence
from confgcn.models.confgcn.consensus import SELF_SHARE
from confgcn.models.confgcn.influence import agreement, inverse_distance, normalised
from confgcn.ops import edge_distance

pytestmark = pytest.mark.usefixtures("each_kernels")

CLASSES = 3
walk = partial(influence.walk, self_share=SELF_SHARE)
SURE = [0.9, 0.05, 0.05]


@pytest.fixture
def mu() -> Tensor:
    return torch.randn(6, CLASSES, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).softmax(1)


@pytest.fixture
def precision() -> Tensor:
    return torch.rand(6, CLASSES, dtype=torch.float64, generator=torch.Generator().manual_seed(2))


@pytest.fixture
def scores(six_nodes: Graph) -> Tensor:
    return torch.rand(six_nodes.adjacency.num_entries, dtype=torch.float64, generator=torch.Generator().manual_seed(3))


def edges(graph: Graph) -> list[tuple[int, int]]:
    return list(zip(graph.adjacency.indices.tolist(), graph.adjacency.rows.tolist(), strict=True))


def slow_common(mu: Tensor, precision: Tensor, u: int, v: int) -> float:
    return sum(float(mu[u, j] * (precision[u, j] + precision[v, j]) * mu[v, j]) for j in range(CLASSES)) / 2


def slow_agreement(mu: Tensor, precision: Tensor, u: int, v: int) -> float:
    a = slow_common(mu, precision, u, v)
    return (CLASSES - 1) * a / ((CLASSES - 1) * a + 1 - a)


def slow_walk(graph: Graph, scores: dict[tuple[int, int], float]) -> dict[tuple[int, int], float]:
    r = {(u, v): (1 - SELF_SHARE) * s / int(graph.degrees[v]) for (u, v), s in scores.items() if u != v}
    return r | {(v, v): 1 - sum(r[u, w] for u, w in r if w == v) for v in range(graph.num_nodes)}


def from_source_to_target(source: list[float], target: list[float], precision: float) -> tuple[float, float]:
    """Agreement, and the printed 1 / (d_M + c), of an edge to a target of precision one half."""
    graph = Graph.build([(0, 1)], np.eye(2), [0, 1])
    mu = torch.tensor([source, target], dtype=torch.float64)
    precisions = torch.tensor([[precision] * len(source), [0.5] * len(target)], dtype=torch.float64)
    edge = edges(graph).index((0, 1))
    printed = 1 / (edge_distance(graph.adjacency, mu, precisions)[edge] + 1)
    return float(agreement(graph.adjacency, mu, precisions)[edge]), float(printed)


def test_agreement(six_nodes: Graph, mu: Tensor, precision: Tensor) -> None:
    expected = [slow_agreement(mu, precision, u, v) for u, v in edges(six_nodes)]
    assert agreement(six_nodes.adjacency, mu, precision).tolist() == pytest.approx(expected, rel=1e-12)


def test_the_inner_product_is_the_one_whose_distance_is_the_papers(
    six_nodes: Graph, mu: Tensor, precision: Tensor
) -> None:
    fast = agreement(six_nodes.adjacency, mu, precision)
    inner = fast / (fast + (CLASSES - 1) * (1 - fast))  # a, from s
    distance = edge_distance(six_nodes.adjacency, mu, precision)
    for entry, (u, v) in enumerate(edges(six_nodes)):
        matrix = torch.diag(precision[u] + precision[v])
        expected = (mu[u] @ matrix @ mu[u] + mu[v] @ matrix @ mu[v] - distance[entry]) / 4
        assert float(inner[entry]) == pytest.approx(float(expected), rel=1e-12)


def test_agreement_falls_with_the_distance_as_the_printed_influence_does() -> None:
    target = [0.7, 0.2, 0.1]
    found = [from_source_to_target(source, target, 0.5) for source in (target, [0.2, 0.7, 0.1], [0.1, 0.2, 0.7])]
    for influences in zip(*found, strict=True):
        assert influences[0] > influences[1] > influences[2]


@pytest.mark.parametrize(
    ("less", "more"),
    [((SURE, 0.2), (SURE, 0.9)), (([0.6, 0.2, 0.2], 0.5), (SURE, 0.5))],
    ids=["precision of the source", "sharpness of the source"],
)
def test_a_surer_neighbour_counts_more_where_by_the_printed_formula_it_counts_less(
    less: tuple[list[float], float], more: tuple[list[float], float]
) -> None:
    target = [0.6, 0.2, 0.2]
    unsure, sure = (from_source_to_target(mu, target, precision) for mu, precision in (less, more))
    assert sure[0] > unsure[0]
    assert sure[1] < unsure[1]


@pytest.mark.parametrize("num_classes", [2, 3, 7])
def test_where_nothing_is_known_labels_are_as_likely_equal_as_not(num_classes: int) -> None:
    graph = Graph.build([(0, 1)], np.eye(2), [0, 1])
    flat = torch.full((2, num_classes), 1 / num_classes, dtype=torch.float64)
    assert agreement(graph.adjacency, flat, torch.ones_like(flat)).tolist() == pytest.approx([0.5] * 4, rel=1e-12)


def test_agreement_at_its_bounds() -> None:
    graph = Graph.build([(0, 1)], np.eye(2), [0, 1])
    same = torch.tensor([[1.0, 0.0, 0.0]]).repeat(2, 1)
    other = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    assert agreement(graph.adjacency, same, torch.ones(2, 3)).tolist() == [1.0] * 4
    assert agreement(graph.adjacency, same, torch.zeros(2, 3)).tolist() == [0.0] * 4
    assert agreement(graph.adjacency, other, torch.ones(2, 3)).tolist() == [1.0, 0.0, 0.0, 1.0]


def test_walk(six_nodes: Graph, scores: Tensor) -> None:
    given = scores.clone()
    expected = slow_walk(six_nodes, dict(zip(edges(six_nodes), scores.tolist(), strict=True)))
    found = walk(six_nodes.adjacency, scores)
    assert found.tolist() == pytest.approx([expected[edge] for edge in edges(six_nodes)], rel=1e-12)
    assert torch.equal(scores, given)


@pytest.mark.parametrize("how", ["drawn", "all", "none"])
def test_a_walk_goes_somewhere_and_never_a_negative_way(six_nodes: Graph, scores: Tensor, how: str) -> None:
    scores = {"drawn": scores, "all": torch.ones_like(scores), "none": torch.zeros_like(scores)}[how]
    steps = walk(six_nodes.adjacency, scores)
    sums = torch.zeros(6, dtype=torch.float64).index_add_(0, six_nodes.adjacency.rows, steps)
    torch.testing.assert_close(sums, torch.ones(6, dtype=torch.float64))
    assert steps.min() >= 0
    loops = six_nodes.adjacency.indices == six_nodes.adjacency.rows
    assert steps[loops].min() >= SELF_SHARE - 1e-12
    assert steps[loops][5] == 1.0  # it has no neighbour


def test_where_all_count_fully_the_walk_takes_each_way_alike(six_nodes: Graph) -> None:
    steps = walk(six_nodes.adjacency, torch.ones(six_nodes.adjacency.num_entries))
    for (u, v), step in zip(edges(six_nodes), steps.tolist(), strict=True):
        degree = int(six_nodes.degrees[v])
        own = SELF_SHARE if degree else 1.0
        assert step == pytest.approx(own if u == v else (1 - SELF_SHARE) / degree)


def test_in_a_walk_an_influence_depends_only_on_its_two_ends(six_nodes: Graph, mu: Tensor, precision: Tensor) -> None:
    before = walk(six_nodes.adjacency, agreement(six_nodes.adjacency, mu, precision))
    mu[2] = mu[2].flip(0)
    after = walk(six_nodes.adjacency, agreement(six_nodes.adjacency, mu, precision))
    changed = {edge for edge, is_same in zip(edges(six_nodes), (before == after).tolist(), strict=True) if not is_same}
    assert changed == {(1, 2), (2, 1), (2, 3), (3, 2), (1, 1), (2, 2), (3, 3)}


def test_a_walk_without_self_loops_is_refused(six_nodes: Graph) -> None:
    with pytest.raises(DataError, match="walk: expected one self loop per node, 6, got 0"):
        walk(six_nodes.neighbours, torch.ones(six_nodes.neighbours.num_entries))


def test_a_walk_weighs_its_neighbours(six_nodes: Graph, scores: Tensor) -> None:
    weight = torch.rand(len(scores), dtype=torch.float64)
    found = walk(six_nodes.adjacency, scores, weight)
    for (u, v), s, w, r in zip(edges(six_nodes), scores.tolist(), weight.tolist(), found.tolist(), strict=True):
        total = sum(o for (x, y), o in zip(edges(six_nodes), weight.tolist(), strict=True) if y == v and x != y)
        assert u == v or r == pytest.approx((1 - SELF_SHARE) * w * s / total)
    sums = torch.zeros(6, dtype=torch.float64).index_add_(0, six_nodes.adjacency.rows, found)
    torch.testing.assert_close(sums, torch.ones(6, dtype=torch.float64))


def test_neighbours_that_all_have_weight_zero_have_no_influence(six_nodes: Graph, scores: Tensor) -> None:
    is_loop = six_nodes.adjacency.indices == six_nodes.adjacency.rows
    assert walk(six_nodes.adjacency, scores, is_loop.double()).tolist() == is_loop.double().tolist()


def test_inverse_distance() -> None:
    distance = torch.tensor([0.0, 1.5, -0.2], dtype=torch.float64, requires_grad=True)
    assert inverse_distance(distance, offset=0.5).tolist() == pytest.approx([2.0, 0.5, 1 / 0.3])
    assert gradcheck(lambda d: inverse_distance(d, offset=0.5), (distance,))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("how", ["none", "softmax"])
def test_normalised(six_nodes: Graph, scores: Tensor, how: Literal["none", "softmax"], weighted: bool) -> None:
    scores.requires_grad_()
    weight = torch.rand(len(scores), dtype=torch.float64) if weighted else None
    of_edges = dict(zip(edges(six_nodes), [1.0] * len(scores) if weight is None else weight.tolist(), strict=True))
    values = dict(zip(edges(six_nodes), scores.tolist(), strict=True))
    if how == "softmax":
        grown = {edge: of_edges[edge] * np.exp(s) for edge, s in values.items()}
        expected = {(u, v): g / sum(grown[w, t] for w, t in grown if t == v) for (u, v), g in grown.items()}
    else:
        expected = {edge: of_edges[edge] * s for edge, s in values.items()}
    found = normalised(six_nodes.adjacency, scores, how, weight)
    assert found.tolist() == pytest.approx([expected[edge] for edge in edges(six_nodes)], rel=1e-12)
    assert gradcheck(lambda s: normalised(six_nodes.adjacency, s, how, weight), (scores,))
