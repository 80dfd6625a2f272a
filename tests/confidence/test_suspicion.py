"""Flipped labels and wrong edges on graphs small enough to point at them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from confgcn.confidence import neighbourhood
from confgcn.confidence.leave_one_out import centroid_vote
from confgcn.confidence.suspicion import label_margin, neighbour_vote, suspicious_edges, suspicious_labels
from confgcn.data.synthetic import block_model
from confgcn.evaluation.metrics import auroc
from confgcn.graph import Graph
from confgcn.io import blocks


def test_margin_is_that_of_the_best_other_label() -> None:
    log_votes = torch.tensor([[0.5, 0.3, 0.2], [0.5, 0.3, 0.2]]).log()
    score, proposed = label_margin(log_votes, torch.tensor([0, 2]))
    assert score.tolist() == pytest.approx([np.log(0.3 / 0.5), np.log(0.5 / 0.2)], abs=1e-6)
    assert proposed.tolist() == [1, 0]


def test_the_neighbours_vote_without_the_node_itself(six_nodes: Graph) -> None:
    probabilities = torch.rand(6, 3).softmax(1).double()
    everyone = torch.arange(6)
    vote = neighbour_vote(six_nodes, probabilities, everyone)
    torch.testing.assert_close(vote.sum(1), torch.ones(6, dtype=torch.float64))
    prior = vote[5]  # it has no neighbour
    torch.testing.assert_close(vote[0], (probabilities[1] + probabilities[4] + prior) / 3)
    other = probabilities.clone()
    other[0] = other[0].flip(0)
    moved = (neighbour_vote(six_nodes, other, everyone) - vote).abs().sum(1)
    assert moved[0] < 1e-3 < moved[1]  # by the prior alone


def test_a_flipped_label_comes_first() -> None:
    clusters = np.repeat([0, 1], 5)
    edges = [(a, b) for a in range(10) for b in range(a) if clusters[a] == clusters[b]]
    labels = clusters.copy()
    labels[3] = 1
    graph = Graph.build(edges, np.eye(2)[clusters], labels, train=range(10))
    model = torch.eye(2)[torch.from_numpy(labels)] * 0.8 + 0.1  # which believes what it was told
    ranking = suspicious_labels(graph, model)
    assert int(ranking.nodes[0]) == 3
    assert (int(ranking.given[0]), int(ranking.proposed[0])) == (1, 0)
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
    ranking = suspicious_labels(graph, uniform)
    is_flipped = torch.isin(ranking.nodes, torch.from_numpy(flipped))
    found = auroc(ranking.score, is_flipped)
    assert found is not None
    assert found > 0.8
    order = np.random.default_rng(1).permutation(400)
    place = np.argsort(order)
    twin = Graph.build(place[edges], clean.features.numpy()[order], labels[order], train=everyone)
    other = suspicious_labels(twin, uniform)
    scores = torch.empty(400, dtype=torch.float64)
    scores[torch.from_numpy(order)[other.nodes]] = other.score
    torch.testing.assert_close(scores[ranking.nodes], ranking.score)


def test_no_training_nodes_no_ranking() -> None:
    graph = Graph.build([(0, 1)], np.eye(2), [0, 1])
    assert len(suspicious_labels(graph, torch.full((2, 2), 0.5)).nodes) == 0


def test_edges_are_ranked_once_each_by_the_chance_of_different_labels(six_nodes: Graph) -> None:
    probabilities = torch.rand(6, 3).mul(4).softmax(1)
    ranking = suspicious_edges(six_nodes, probabilities)
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
    ranking = suspicious_edges(six_nodes, torch.rand(6, 3).softmax(1), influence)
    assert ranking.influence is not None
    assert ranking.influence.tolist() == pytest.approx((5.5 * (ranking.source + ranking.target)).tolist())


def test_a_graph_without_edges_has_no_suspicious_ones() -> None:
    graph = Graph.build(np.empty((0, 2), int), np.eye(2), [0, 1])
    assert len(suspicious_edges(graph, torch.full((2, 2), 0.5)).source) == 0


def test_the_two_votes_are_multiplied_and_neither_outweighs_everything() -> None:
    clusters = np.repeat([0, 1], 4)
    edges = [(a, b) for a in range(8) for b in range(a) if clusters[a] == clusters[b]]
    labels = clusters.copy()
    labels[0] = 1
    graph = Graph.build(edges, np.eye(2)[clusters], labels, train=range(8))
    probabilities = torch.eye(2, dtype=torch.float64)[torch.from_numpy(clusters)]
    found = suspicious_labels(graph, probabilities)
    prior = (
        neighbour_vote(graph, probabilities, graph.train)[0] * 4 - 3 * probabilities[1]
    )  # three neighbours, and one of the prior
    around = [(3 + float(prior[0])) / 4, float(prior[1]) / 4]
    features = centroid_vote(graph)[0].clamp(min=1e-4)  # which is all but certain
    assert centroid_vote(graph)[0, 1] < 1e-4
    expected = np.log(around[0] / around[1]) + float(torch.log(features[0] / features[1]))
    assert int(found.nodes[0]) == 0
    assert float(found.score[0]) == pytest.approx(expected)


def test_as_many_edges_are_kept_as_asked_for(six_nodes: Graph) -> None:
    probabilities, influence = torch.rand(6, 3).softmax(1), torch.rand(six_nodes.adjacency.num_entries)
    ranking = suspicious_edges(six_nodes, probabilities, influence)
    assert (ranking.source < ranking.target).all()
    names = [
        (six_nodes.node_names[u], six_nodes.node_names[v]) for u, v in zip(ranking.source, ranking.target, strict=True)
    ]
    assert [(u, v) for u, v, _ in ranking.named(six_nodes)] == names
    for limit, count in ((0, 0), (3, 3), (5, 5), (9, 5)):
        first = suspicious_edges(six_nodes, probabilities, influence, limit=limit)
        assert len(first.source) == count
        for name in ("source", "target", "disagreement", "influence"):
            assert torch.equal(getattr(first, name), getattr(ranking, name)[:limit])


def test_equal_scores_keep_the_order_of_the_nodes() -> None:
    graph = Graph.build([(0, 1), (2, 3), (4, 5)], np.eye(6), [0, 1] * 3, train=range(6))
    flat = torch.full((6, 2), 0.5)
    assert suspicious_edges(graph, flat).source.tolist() == [0, 2, 4]
    assert suspicious_edges(graph, flat).disagreement.tolist() == [0.5] * 3
    plain = Graph.build([], np.ones((4, 1)), [0, 1, 0, 1], train=range(4))
    assert suspicious_labels(plain, flat[:4]).nodes.tolist() == [0, 1, 2, 3]


def test_edges_are_ranked_alike_block_by_block(small_graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    probabilities = torch.randn(120, 4).softmax(1)
    whole = suspicious_edges(small_graph, probabilities)
    wide = probabilities.double()
    assert torch.equal(whole.disagreement, 1.0 - (wide[whole.source] * wide[whole.target]).sum(1))
    monkeypatch.setattr(neighbourhood, "NUMBERS_AT_ONCE", 12)
    monkeypatch.setattr(blocks, "BLOCK", 5)  # a few rows, and then one that is longer
    flat = torch.full((120, 4), 0.25)
    first = suspicious_edges(small_graph, flat)
    assert first.target.tolist() == sorted(first.target.tolist())  # equals in the order in which they are met
    for limit in (7, 1000):
        parts = suspicious_edges(small_graph, probabilities, limit=limit)
        assert torch.equal(parts.disagreement, whole.disagreement[:limit])
        assert torch.equal(parts.source, whole.source[:limit])
        assert torch.equal(parts.target, whole.target[:limit])
