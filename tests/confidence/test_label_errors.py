"""Label errors and disagreeing edges against loops, and planted errors that must be found."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from confgcn.confidence import label_errors, neighbourhood
from confgcn.confidence.label_errors import (
    SHARPNESS,
    averaged_features,
    centroid_probabilities,
    find_disagreeing_edges,
    find_label_errors,
    label_margin,
    neighbour_probabilities,
)
from confgcn.data.synthetic import block_model
from confgcn.evaluation.metrics import auroc
from confgcn.graph import Graph
from confgcn.io import blocks
from confgcn.sparse import SparseMatrix


def test_margin_is_that_of_the_best_other_label() -> None:
    log_estimates = torch.tensor([[0.5, 0.3, 0.2], [0.5, 0.3, 0.2]]).log()
    score, suggested = label_margin(log_estimates, torch.tensor([0, 2]))
    assert score.tolist() == pytest.approx([np.log(0.3 / 0.5), np.log(0.5 / 0.2)], abs=1e-6)
    assert suggested.tolist() == [1, 0]


def test_neighbour_probabilities_do_not_use_the_node_itself(six_nodes: Graph) -> None:
    probabilities = torch.rand(6, 3).softmax(1).double()
    everyone = torch.arange(6)
    found = neighbour_probabilities(six_nodes, probabilities, everyone)
    torch.testing.assert_close(found.sum(1), torch.ones(6, dtype=torch.float64))
    prior = found[5]  # it has no neighbour
    torch.testing.assert_close(found[0], (probabilities[1] + probabilities[4] + prior) / 3)
    other = probabilities.clone()
    other[0] = other[0].flip(0)
    moved = (neighbour_probabilities(six_nodes, other, everyone) - found).abs().sum(1)
    assert moved[0] < 1e-3 < moved[1]  # by the prior alone


def test_a_flipped_label_comes_first() -> None:
    clusters = np.repeat([0, 1], 5)
    edges = [(a, b) for a in range(10) for b in range(a) if clusters[a] == clusters[b]]
    labels = clusters.copy()
    labels[3] = 1
    graph = Graph.build(edges, np.eye(2)[clusters], labels, train=range(10))
    model = torch.eye(2)[torch.from_numpy(labels)] * 0.8 + 0.1  # fitted to the given labels
    ranking = find_label_errors(graph, model)
    assert int(ranking.nodes[0]) == 3
    assert (int(ranking.given[0]), int(ranking.suggested[0])) == (1, 0)
    assert ranking.score[0] > 0 > ranking.score[1]
    assert sorted(ranking.nodes.tolist()) == list(range(10))


def test_flipped_labels_of_a_larger_graph_are_found_wherever_nodes_stand() -> None:
    clean = block_model(400, seed=0)
    everyone = np.arange(400)
    labels = clean.labels.numpy().copy()
    flipped = np.random.default_rng(0).choice(400, 40, replace=False)
    labels[flipped] = (labels[flipped] + 1) % clean.num_classes
    edges = torch.stack([clean.neighbours.rows, clean.neighbours.indices], 1).numpy()
    uniform = torch.full((400, clean.num_classes), 1 / clean.num_classes)
    assert isinstance(clean.features, torch.Tensor)
    graph = Graph.build(edges, clean.features.numpy(), labels, train=everyone)
    ranking = find_label_errors(graph, uniform)
    is_flipped = torch.isin(ranking.nodes, torch.from_numpy(flipped))
    found = auroc(ranking.score, is_flipped)
    assert found is not None
    assert found > 0.8
    order = np.random.default_rng(1).permutation(400)
    place = np.argsort(order)
    twin = Graph.build(place[edges], clean.features.numpy()[order], labels[order], train=everyone)
    other = find_label_errors(twin, uniform)
    scores = torch.empty(400, dtype=torch.float64)
    scores[torch.from_numpy(order)[other.nodes]] = other.score
    torch.testing.assert_close(scores[ranking.nodes], ranking.score)


def test_no_training_nodes_no_ranking() -> None:
    graph = Graph.build([(0, 1)], np.eye(2), [0, 1])
    assert len(find_label_errors(graph, torch.full((2, 2), 0.5)).nodes) == 0


def test_edges_are_ranked_once_each_by_the_chance_of_different_labels(six_nodes: Graph) -> None:
    probabilities = torch.rand(6, 3).mul(4).softmax(1)
    ranking = find_disagreeing_edges(six_nodes, probabilities)
    by_pair = {
        (a, b): 1 - sum(float(probabilities[a, c]) * float(probabilities[b, c]) for c in range(3))
        for a, b in [(0, 1), (1, 2), (2, 3), (1, 3), (0, 4)]
    }
    pairs = list(zip(ranking.source.tolist(), ranking.target.tolist(), strict=True))
    assert pairs == sorted(by_pair, key=by_pair.__getitem__, reverse=True)
    assert ranking.disagreement.tolist() == pytest.approx([by_pair[pair] for pair in pairs])
    assert ranking.influence is None
    first = tuple(six_nodes.node_names[v] for v in pairs[0])
    assert ranking.named(six_nodes)[0] == (*first, pytest.approx(by_pair[pairs[0]]))


def test_influence_of_an_edge_is_the_mean_of_both_directions(six_nodes: Graph) -> None:
    source, target = six_nodes.adjacency.indices, six_nodes.adjacency.rows
    influence = 10.0 * source + target
    ranking = find_disagreeing_edges(six_nodes, torch.rand(6, 3).softmax(1), influence)
    assert ranking.influence is not None
    assert ranking.influence.tolist() == pytest.approx((5.5 * (ranking.source + ranking.target)).tolist())


def test_a_graph_without_edges_has_no_disagreeing_ones() -> None:
    graph = Graph.build(np.empty((0, 2), int), np.eye(2), [0, 1])
    assert len(find_disagreeing_edges(graph, torch.full((2, 2), 0.5)).source) == 0


def test_the_two_estimates_are_multiplied_and_each_is_limited() -> None:
    clusters = np.repeat([0, 1], 4)
    edges = [(a, b) for a in range(8) for b in range(a) if clusters[a] == clusters[b]]
    labels = clusters.copy()
    labels[0] = 1
    graph = Graph.build(edges, np.eye(2)[clusters], labels, train=range(8))
    probabilities = torch.eye(2, dtype=torch.float64)[torch.from_numpy(clusters)]
    found = find_label_errors(graph, probabilities)
    prior = (
        neighbour_probabilities(graph, probabilities, graph.train)[0] * 4 - 3 * probabilities[1]
    )  # three neighbours, and one of the prior
    around = [(3 + float(prior[0])) / 4, float(prior[1]) / 4]
    features = centroid_probabilities(graph)[0].clamp(min=1e-4)  # which is all but certain
    assert centroid_probabilities(graph)[0, 1] < 1e-4
    expected = np.log(around[0] / around[1]) + float(torch.log(features[0] / features[1]))
    assert int(found.nodes[0]) == 0
    assert float(found.score[0]) == pytest.approx(expected)


def test_the_limit_bounds_the_number_of_edges(six_nodes: Graph) -> None:
    probabilities, influence = torch.rand(6, 3).softmax(1), torch.rand(six_nodes.adjacency.num_entries)
    ranking = find_disagreeing_edges(six_nodes, probabilities, influence)
    assert (ranking.source < ranking.target).all()
    names = [
        (six_nodes.node_names[u], six_nodes.node_names[v]) for u, v in zip(ranking.source, ranking.target, strict=True)
    ]
    assert [(u, v) for u, v, _ in ranking.named(six_nodes)] == names
    for limit, count in ((0, 0), (3, 3), (5, 5), (9, 5)):
        first = find_disagreeing_edges(six_nodes, probabilities, influence, limit=limit)
        assert len(first.source) == count
        for name in ("source", "target", "disagreement", "influence"):
            assert torch.equal(getattr(first, name), getattr(ranking, name)[:limit])


def test_equal_scores_keep_the_order_of_the_nodes() -> None:
    graph = Graph.build([(0, 1), (2, 3), (4, 5)], np.eye(6), [0, 1] * 3, train=range(6))
    flat = torch.full((6, 2), 0.5)
    assert find_disagreeing_edges(graph, flat).source.tolist() == [0, 2, 4]
    assert find_disagreeing_edges(graph, flat).disagreement.tolist() == [0.5] * 3
    plain = Graph.build([], np.ones((4, 1)), [0, 1, 0, 1], train=range(4))
    assert find_label_errors(plain, flat[:4]).nodes.tolist() == [0, 1, 2, 3]


def test_edges_are_ranked_alike_block_by_block(small_graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    probabilities = torch.randn(120, 4).softmax(1)
    every_edge = find_disagreeing_edges(small_graph, probabilities)
    wide = probabilities.double()
    assert torch.equal(every_edge.disagreement, 1.0 - (wide[every_edge.source] * wide[every_edge.target]).sum(1))
    monkeypatch.setattr(neighbourhood, "BLOCK_NUMBERS", 12)
    monkeypatch.setattr(blocks, "BLOCK", 5)  # a few rows, and then one that is longer
    flat = torch.full((120, 4), 0.25)
    first = find_disagreeing_edges(small_graph, flat)
    assert first.target.tolist() == sorted(first.target.tolist())  # equals in the order in which they are met
    for limit in (7, 1000):
        first = find_disagreeing_edges(small_graph, probabilities, limit=limit)
        assert torch.equal(first.disagreement, every_edge.disagreement[:limit])
        assert torch.equal(first.source, every_edge.source[:limit])
        assert torch.equal(first.target, every_edge.target[:limit])


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
    monkeypatch.setattr(label_errors, "BLOCK_NUMBERS", numbers)
    monkeypatch.setattr(label_errors, "BLOCK_ROWS", 50)
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
        assert centroid_probabilities(Graph.build([(0, 1)], given, [0, 1])).shape == (0, 2)


def test_centroids_do_not_use_the_node_itself(graph: Graph) -> None:
    rows, labels = np.asarray(averaged_features(graph)), graph.train_labels.tolist()
    found = centroid_probabilities(graph)
    for v, row in enumerate(rows):
        others = [[rows[u] for u in range(len(rows)) if u != v and labels[u] == label] for label in range(3)]
        likeness = torch.tensor([float(row @ unit(np.sum(group, axis=0))) for group in others], dtype=torch.float64)
        torch.testing.assert_close(found[v], (SHARPNESS * likeness).softmax(0), atol=1e-6, rtol=1e-5)


def test_sparse_feature_probabilities_the_same(graph: Graph) -> None:
    assert isinstance(graph.features, torch.Tensor)
    sparse = Graph.build(
        torch.stack([graph.neighbours.rows, graph.neighbours.indices], 1).numpy(),
        sp.csr_matrix(graph.features.numpy()),
        graph.labels.numpy(),
        train=graph.train.numpy(),
    )
    torch.testing.assert_close(centroid_probabilities(sparse), centroid_probabilities(graph), atol=1e-6, rtol=1e-5)


def test_the_only_node_of_a_class_has_no_evidence_against_it() -> None:
    graph = Graph.build([], np.eye(3)[[0, 0, 1]], [0, 0, 1], train=[0, 1, 2])
    found = centroid_probabilities(graph)
    assert found[2].tolist() == pytest.approx([0.5, 0.5])
    assert found[0, 0] > 0.99


def test_a_node_without_features_gets_uniform_probabilities() -> None:
    graph = Graph.build([], [[0.0, 0], [1, 0], [1, 0], [0, 1], [0, 1]], [0, 0, 0, 1, 1], train=range(5))
    assert centroid_probabilities(graph)[0].tolist() == pytest.approx([0.5, 0.5])


def test_the_sharpness_of_similarities_is_twenty() -> None:
    features = np.array([[1.0, 0], [1, 0], [0, 1], [0, 1], [3, 4]])
    graph = Graph.build([], features, [0, 0, 1, 1, 0], train=range(5))
    found = centroid_probabilities(graph)
    own, other = 0.6, 0.8  # cosines of the last node with the two classes, itself left out
    assert found[4].tolist() == pytest.approx(
        [1 / (1 + np.exp(20 * (other - own))), 1 / (1 + np.exp(20 * (own - other)))]
    )


def test_the_only_node_of_a_class_is_given_the_likeness_of_the_most_alike() -> None:
    features = np.array([[1.0, 0], [1, 0], [0, 1], [0, 1], [3, 4]])
    found = centroid_probabilities(Graph.build([], features, [0, 0, 1, 1, 2], train=range(5)))
    grown = np.exp(20 * np.array([0.6, 0.8, 0.8]))
    assert found[4].tolist() == pytest.approx((grown / grown.sum()).tolist())


def test_features_in_the_opposite_direction_lower_the_probability() -> None:
    features = np.array([[1.0, 0], [1, 0], [-1, 0], [-1, 0], [0, 1]])
    found = centroid_probabilities(Graph.build([], features, [0, 0, 1, 1, 2], train=range(5)))
    grown = np.exp(20 * np.array([1.0, -1, 0]))
    assert found[0].tolist() == pytest.approx((grown / grown.sum()).tolist())
    assert found[4].tolist() == pytest.approx([1 / 3] * 3)  # like neither, and alone
