"""AUROC of edges against scikit-learn over a loop of the edges that count."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor

from confgcn.evaluation.edges import EdgeScores, edge_aurocs
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
