"""Likeness to classes against loops that leave the node out."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from confgcn.confidence import leave_one_out
from confgcn.confidence.leave_one_out import SHARPNESS, averaged_features, centroid_vote
from confgcn.graph import Graph
from confgcn.sparse import SparseMatrix


def unit(vector: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(vector)
    return vector / length if length else vector


def averaged_by_loops(graph: Graph, features: np.ndarray) -> np.ndarray:
    rows = np.array([unit(row) for row in features])
    around = [graph.adjacency.indices[graph.adjacency.rows == v].numpy() for v in range(graph.num_nodes)]
    for _ in range(2):
        rows = np.array([rows[near].mean(0) for near in around])
    return np.array([unit(rows[v]) for v in graph.train.tolist()])


@pytest.fixture
def graph() -> Graph:
    random = np.random.default_rng(3)
    edges = random.integers(0, 9, size=(14, 2))  # node 9 is isolated
    features = random.normal(size=(10, 5))
    return Graph.build(edges, features, [0, 0, 0, 1, 1, 1, 2, 2, 0, 1], train=[0, 1, 3, 4, 5, 6, 7, 9])


def test_features_are_averaged_twice(graph: Graph) -> None:
    assert isinstance(graph.features, torch.Tensor)
    expected = averaged_by_loops(graph, graph.features.double().numpy())
    np.testing.assert_allclose(averaged_features(graph), expected, atol=1e-6)


def in_one_product(graph: Graph) -> np.ndarray:
    """Of all nodes, by matrices as large as the graph."""
    features = graph.features.to_scipy() if isinstance(graph.features, SparseMatrix) else graph.features.numpy()
    rows = sp.csr_array(features, dtype=np.float64)
    average = sp.diags_array(1.0 / (graph.degrees.numpy() + 1)) @ graph.adjacency.with_ones().to_scipy()
    averaged = (average @ average @ np.array([unit(row) for row in rows.toarray()]))[graph.train.numpy()]
    return np.array([unit(row) for row in averaged])


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("numbers", [1, 120 * 3, 2**24])
def test_only_what_is_near_is_read_and_nothing_changes(
    small_graph: Graph, numbers: int, is_sparse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leave_one_out, "NUMBERS_AT_ONCE", numbers)
    monkeypatch.setattr(leave_one_out, "ROWS_AT_ONCE", 50)
    features = np.random.default_rng(0).normal(size=(120, 7)).round() * 1.0
    given = sp.csr_matrix(features) if is_sparse else features
    edges = torch.stack([small_graph.neighbours.rows, small_graph.neighbours.indices], 1).numpy()
    graph = Graph.build(edges, given, small_graph.labels.numpy(), train=[0, 7, 50])
    found = averaged_features(graph)
    dense = found if isinstance(found, np.ndarray) else found.toarray()
    np.testing.assert_allclose(dense, in_one_product(graph), atol=1e-6)


def test_what_is_more_than_two_steps_away_does_not_count() -> None:
    features = np.random.default_rng(0).normal(size=(5, 2))
    path = Graph.build([(0, 1), (1, 2), (2, 3), (3, 4)], features, [0, 1, 0, 1, 0], train=[0])
    found = averaged_features(path)
    features[3:] *= [-1, 100]
    other = averaged_features(path.with_features(torch.from_numpy(features).float()))
    np.testing.assert_array_equal(other, found)


def test_without_training_nodes_there_is_nothing() -> None:
    for given in (np.eye(2), sp.csr_matrix(np.eye(2))):
        assert centroid_vote(Graph.build([(0, 1)], given, [0, 1])).shape == (0, 2)


def test_the_vote_leaves_the_node_out(graph: Graph) -> None:
    rows, labels = np.asarray(averaged_features(graph)), graph.train_labels.tolist()
    vote = centroid_vote(graph)
    for v, row in enumerate(rows):
        others = [[rows[u] for u in range(len(rows)) if u != v and labels[u] == label] for label in range(3)]
        likeness = torch.tensor([float(row @ unit(np.sum(group, axis=0))) for group in others], dtype=torch.float64)
        torch.testing.assert_close(vote[v], (SHARPNESS * likeness).softmax(0), atol=1e-6, rtol=1e-5)


def test_sparse_features_say_the_same(graph: Graph) -> None:
    assert isinstance(graph.features, torch.Tensor)
    sparse = Graph.build(
        torch.stack([graph.neighbours.rows, graph.neighbours.indices], 1).numpy(),
        sp.csr_matrix(graph.features.numpy()),
        graph.labels.numpy(),
        train=graph.train.numpy(),
    )
    torch.testing.assert_close(centroid_vote(sparse), centroid_vote(graph), atol=1e-6, rtol=1e-5)


def test_the_only_node_of_a_class_is_not_voted_against() -> None:
    graph = Graph.build([], np.eye(3)[[0, 0, 1]], [0, 0, 1], train=[0, 1, 2])
    vote = centroid_vote(graph)
    assert vote[2].tolist() == pytest.approx([0.5, 0.5])
    assert vote[0, 0] > 0.99


def test_a_node_without_features_has_no_vote() -> None:
    graph = Graph.build([], [[0.0, 0], [1, 0], [1, 0], [0, 1], [0, 1]], [0, 0, 0, 1, 1], train=range(5))
    assert centroid_vote(graph)[0].tolist() == pytest.approx([0.5, 0.5])


def test_likeness_is_sharpened_twentyfold() -> None:
    features = np.array([[1.0, 0], [1, 0], [0, 1], [0, 1], [3, 4]])
    graph = Graph.build([], features, [0, 0, 1, 1, 0], train=range(5))
    vote = centroid_vote(graph)
    own, other = 0.6, 0.8  # cosines of the last node with the two classes, itself left out
    assert vote[4].tolist() == pytest.approx(
        [1 / (1 + np.exp(20 * (other - own))), 1 / (1 + np.exp(20 * (own - other)))]
    )


def test_the_only_node_of_a_class_is_given_the_likeness_of_the_most_alike() -> None:
    features = np.array([[1.0, 0], [1, 0], [0, 1], [0, 1], [3, 4]])
    vote = centroid_vote(Graph.build([], features, [0, 0, 1, 1, 2], train=range(5)))
    grown = np.exp(20 * np.array([0.6, 0.8, 0.8]))
    assert vote[4].tolist() == pytest.approx((grown / grown.sum()).tolist())


def test_features_that_point_away_vote_against() -> None:
    features = np.array([[1.0, 0], [1, 0], [-1, 0], [-1, 0], [0, 1]])
    vote = centroid_vote(Graph.build([], features, [0, 0, 1, 1, 2], train=range(5)))
    grown = np.exp(20 * np.array([1.0, -1, 0]))
    assert vote[0].tolist() == pytest.approx((grown / grown.sum()).tolist())
    assert vote[4].tolist() == pytest.approx([1 / 3] * 3)  # like neither, and alone
