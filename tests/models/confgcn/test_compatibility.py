"""The compatibility of labels on graphs whose compatibility is known."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch

from confgcn.data.synthetic import block_model
from confgcn.graph import Graph
from confgcn.models.confgcn.compatibility import LENGTHS, balanced, estimate_compatibility


def label_pairs(graph: Graph, length: int) -> np.ndarray:
    """(C, C): the labels at both ends of every path of that length that never turns back, counted one by one."""
    neighbours = {v: set() for v in range(graph.num_nodes)}
    for source, target in zip(graph.neighbours.indices.tolist(), graph.neighbours.rows.tolist(), strict=True):
        neighbours[target].add(source)
    paths = [(v,) for v in neighbours]
    for _ in range(length):
        paths = [(*p, u) for p in paths for u in neighbours[p[-1]] if len(p) < 2 or u != p[-2]]
    train = set(graph.train.tolist())
    counts = np.zeros((graph.num_classes, graph.num_classes))
    for path in paths:
        if path[0] in train and path[-1] in train:
            counts[graph.labels[path[0]], graph.labels[path[-1]]] += 1
    return counts


def test_balanced_matrices_are_symmetric_with_rows_that_sum_to_one() -> None:
    matrix = balanced(torch.randn(4, 4, dtype=torch.double))
    torch.testing.assert_close(matrix, matrix.T)
    torch.testing.assert_close(matrix.sum(1), torch.ones(4, dtype=torch.double), atol=1e-3, rtol=0)
    assert (matrix > 0).all()


@pytest.mark.parametrize("mismatch", [0.1, 0.3, 0.75, 0.9])
def test_the_compatibility_of_a_block_model_is_recovered(mismatch: float) -> None:
    graph = block_model(2000, num_classes=3, mismatch=mismatch, mean_degree=6.0, per_class=150, seed=4)
    found = estimate_compatibility(graph.training_view())
    expected = torch.full((3, 3), mismatch / 2).fill_diagonal_(1 - mismatch)
    torch.testing.assert_close(found, expected, atol=0.06, rtol=0)
    torch.testing.assert_close(found.sum(1), torch.ones(3))
    torch.testing.assert_close(found, found.T)


def test_it_minimises_the_distances_to_the_labels_at_the_ends_of_longer_paths() -> None:
    graph = block_model(40, num_classes=2, mismatch=0.3, mean_degree=3.0, per_class=8, seed=2).training_view()
    counts = [label_pairs(graph, length) for length in range(1, LENGTHS + 1)]

    def objective(same: float) -> float:
        matrix = np.array([[same, 1 - same], [1 - same, same]])  # all symmetric 2 x 2 matrices with rows of sum one
        powers = itertools.accumulate([matrix] * LENGTHS, np.matmul)
        distances = sum(
            count.sum() * ((power - count / count.sum(1, keepdims=True)) ** 2).sum()
            for power, count in zip(powers, counts, strict=True)
        )
        return distances + np.log(same / (1 - same)) ** 2  # S = +-log(same / (1 - same)) / 2 in its four entries

    expected = min(np.linspace(0.01, 0.99, 981), key=objective)
    assert float(estimate_compatibility(graph)[0, 0]) == pytest.approx(expected, abs=0.002)


def test_edges_between_two_classes_only() -> None:
    cycle = [(v, (v + 1) % 12) for v in range(12)]
    graph = Graph.build(cycle, np.eye(12), [0, 1] * 6, train=range(12))
    assert estimate_compatibility(graph).diagonal().tolist() == pytest.approx([0.0, 0.0], abs=0.05)


def test_without_labelled_pairs_it_is_uniform() -> None:
    graph = Graph.build([(0, 1), (2, 3)], np.eye(4), [0, 1, 2, 0], train=[0, 2])
    torch.testing.assert_close(estimate_compatibility(graph), torch.full((3, 3), 1 / 3), atol=1e-4, rtol=0)


def test_other_names_of_classes_give_the_same_numbers_in_their_order() -> None:
    graph = block_model(300, num_classes=3, mismatch=0.3, per_class=30, seed=1)
    order = torch.tensor([2, 0, 1])
    renamed = replace(graph, labels=order[graph.labels])
    found = estimate_compatibility(renamed)
    torch.testing.assert_close(found[order][:, order], estimate_compatibility(graph), atol=1e-3, rtol=0)


def test_labels_outside_the_training_set_and_the_callers_mode_change_nothing() -> None:
    graph = block_model(120, seed=1)
    expected = estimate_compatibility(graph.training_view())
    with torch.no_grad():
        found = estimate_compatibility(graph)
    assert torch.equal(found, expected)
    assert not found.requires_grad
