"""Influences and distances of edges, by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor

from confgcn.evaluation.edges import EdgeScores, edge_aurocs, relative_influence, summarise_influence
from confgcn.graph import Graph


@pytest.fixture
def graph() -> Graph:
    """Twelve nodes of two classes, two of which are not known; 0 - 1 is an edge between training nodes."""
    random = np.random.default_rng(0)
    edges = [(0, 1), *map(tuple, random.integers(0, 12, size=(30, 2)))]
    labels = [0, 0, 1, 1, 0, 1, 0, 1, 0, 1, -1, -1]
    return Graph.build(edges, np.eye(12), labels, train=[0, 1, 2])


def judged_by_loops(graph: Graph, influence: Tensor, distance: Tensor) -> list[tuple[bool, float, float]]:
    """(same label, influence times neighbours, -distance) of every edge that counts."""
    ends = list(zip(graph.adjacency.indices.tolist(), graph.adjacency.rows.tolist(), strict=True))
    labels, train = graph.labels.tolist(), set(graph.train.tolist())
    neighbours = {v: sum(b == v and a != v for a, b in ends) for v in range(graph.num_nodes)}
    return [
        (labels[u] == labels[v], float(influence[e]) * neighbours[v], -float(distance[e]))
        for e, (u, v) in enumerate(ends)
        if u != v and min(labels[u], labels[v]) >= 0 and not {u, v} <= train
    ]


@pytest.mark.parametrize("seed", range(3))
def test_scores_agree_with_scikit_learn(graph: Graph, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    influence, distance = torch.rand(2, graph.adjacency.num_entries, generator=generator, dtype=torch.float64)
    distance = (distance * 5).round()  # with ties
    same, scores, nearness = zip(*judged_by_loops(graph, influence, distance), strict=True)
    assert len(same) < graph.neighbours.num_entries
    found = edge_aurocs(graph, influence, distance)
    assert found.auroc_edge == pytest.approx(roc_auc_score(same, scores))
    assert found.auroc_distance == pytest.approx(roc_auc_score(same, nearness))


def test_a_path_by_hand() -> None:
    graph = Graph.build([(0, 1), (1, 2)], np.eye(3), [0, 0, 1])
    # entries by target: 0 <- 0 1, 1 <- 0 1 2, 2 <- 1 2; target 1 has two neighbours
    influence = torch.tensor([9.0, 0.5, 0.3, 9, 0.2, 0.7, 9])
    distance = torch.tensor([0.0, 1, 1, 0, 2, 2, 0])
    # within: 0.5 and 0.6; between: 0.4 and 0.7
    assert edge_aurocs(graph, influence, distance) == EdgeScores(auroc_edge=0.5, auroc_distance=1.0)


def test_undefined_where_no_edge_or_one_kind_counts() -> None:
    graph = Graph.build([(0, 1), (1, 2)], np.eye(3), [0, 0, 1], train=[0, 1, 2])
    assert edge_aurocs(graph, torch.ones(7), torch.ones(7)) == EdgeScores(None, None)
    alike = Graph.build([(0, 1), (1, 2)], np.eye(3), [0, 0, 0])
    assert edge_aurocs(alike, torch.ones(7), torch.ones(7)) == EdgeScores(None, None)


def ends(graph: Graph) -> list[tuple[int, int]]:
    """(source, target) of every entry of the adjacency."""
    return list(zip(graph.adjacency.indices.tolist(), graph.adjacency.rows.tolist(), strict=True))


def relative_by_loops(graph: Graph, influence: Tensor) -> list[float]:
    size = [abs(value) for value in influence.tolist()]
    around = {v: [size[e] for e, (_, target) in enumerate(ends(graph)) if target == v] for v in range(graph.num_nodes)}
    return [size[e] * len(around[v]) / sum(around[v]) for e, (_, v) in enumerate(ends(graph))]


@pytest.fixture
def influence(six_nodes: Graph) -> Tensor:
    """Positive and negative: the printed one has no bound below."""
    return torch.randn(six_nodes.adjacency.num_entries, dtype=torch.float64)


@pytest.fixture
def precision(six_nodes: Graph) -> Tensor:
    return torch.rand(six_nodes.num_nodes, six_nodes.num_classes)


def test_relative_influence_is_over_the_mean_of_the_neighbourhood(six_nodes: Graph, influence: Tensor) -> None:
    relative = relative_influence(six_nodes, influence)
    assert relative.tolist() == pytest.approx(relative_by_loops(six_nodes, influence))
    for node in range(6):
        assert float(relative[six_nodes.adjacency.rows == node].mean()) == pytest.approx(1.0)


def test_effective_neighbours_are_one_over_the_sum_of_squares(
    six_nodes: Graph, influence: Tensor, precision: Tensor
) -> None:
    by_node = []
    for node in range(6):
        around = [abs(float(r)) for (_, v), r in zip(ends(six_nodes), influence, strict=True) if v == node]
        by_node.append(1 / sum((r / sum(around)) ** 2 for r in around))
    summary = summarise_influence(six_nodes, influence, precision)
    assert summary.effective_neighbours == pytest.approx(sum(by_node) / 6)
    assert summary.neighbours == pytest.approx((3 + 4 + 3 + 3 + 2 + 1) / 6)
    assert 1 < summary.effective_neighbours < summary.neighbours


def test_deviation_leaves_self_loops_out(six_nodes: Graph, influence: Tensor, precision: Tensor) -> None:
    relative = relative_by_loops(six_nodes, influence)
    away = [abs(r - 1) for (u, v), r in zip(ends(six_nodes), relative, strict=True) if u != v]
    assert len(away) == 10
    assert summarise_influence(six_nodes, influence, precision).deviation == pytest.approx(sum(away) / 10)


def test_auroc_compares_edges_within_a_label_with_edges_between() -> None:
    edges = [(0, 1), (1, 2), (2, 3), (3, 0), (3, 4), (1, 4)]
    graph = Graph.build(edges, np.eye(5), [0, 0, 1, 1, -1])
    influence = torch.rand(graph.adjacency.num_entries, dtype=torch.float64)
    relative = relative_by_loops(graph, influence)
    labels = graph.labels.tolist()
    known = [
        (labels[u] == labels[v], r)
        for (u, v), r in zip(ends(graph), relative, strict=True)
        if u != v and labels[u] >= 0 and labels[v] >= 0
    ]
    within, between = ([r for same, r in known if same is wanted] for wanted in (True, False))
    pairs = [1.0 if a > b else 0.5 if a == b else 0.0 for a in within for b in between]
    assert len(pairs) == 16
    found = summarise_influence(graph, influence, torch.ones(5, 2)).auroc_same_label
    assert found == pytest.approx(sum(pairs) / len(pairs))


def test_auroc_is_undefined_where_all_neighbours_agree() -> None:
    graph = Graph.build([(0, 1), (1, 2)], np.eye(3), [0, 0, 0])
    assert summarise_influence(graph, torch.ones(7), torch.ones(3, 1)).auroc_same_label is None


def test_quartiles_are_of_the_mean_precision_of_the_source() -> None:
    graph = Graph.build([(0, 1), (2, 3), (4, 5), (6, 7)], np.eye(8), [0, 1] * 4)  # every node has one neighbour
    precision = torch.tensor([[5.0, 5], [1, 0], [9, 3], [2, 0], [0, 3], [4, 4], [0, 0], [7, 7]])
    influence = torch.rand(16, dtype=torch.float64)
    relative = relative_by_loops(graph, influence)
    by_source = {u: r for (u, v), r in zip(ends(graph), relative, strict=True) if u != v}
    pairs = [(6, 1), (3, 4), (5, 0), (2, 7)]  # mean precisions 0 and 0.5, 1 and 1.5, 4 and 5, 6 and 7
    expected = [(by_source[a] + by_source[b]) / 2 for a, b in pairs]
    assert summarise_influence(graph, influence, precision).by_precision == pytest.approx(expected)


def test_uniform_influence_changes_nothing(six_nodes: Graph, precision: Tensor) -> None:
    uniform = torch.full((six_nodes.adjacency.num_entries,), 0.3)
    summary = summarise_influence(six_nodes, uniform, precision)
    assert summary.effective_neighbours == pytest.approx(summary.neighbours)
    assert summary.deviation == pytest.approx(0.0, abs=1e-12)
    assert summary.auroc_same_label == 0.5
    assert summary.by_precision == pytest.approx([1.0] * 4)


def test_the_scale_of_influences_does_not_matter(six_nodes: Graph, influence: Tensor, precision: Tensor) -> None:
    one, other = (summarise_influence(six_nodes, scale * influence, precision) for scale in (1.0, -64.0))
    assert other == one
