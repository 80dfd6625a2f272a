"""Influences from label scores: by hand, in homophilous and heterophilous graphs, and never out of date."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from confgcn.data.synthetic import block_model
from confgcn.graph import Graph
from confgcn.models.base import InductiveMethod, Prediction
from confgcn.models.confgcn.learned_influence import LearnedInfluence, edge_scores, with_training_labels
from confgcn.models.confgcn.propagation import uniform_propagation

HOMOPHILOUS, HETEROPHILOUS = torch.tensor([[0.9, 0.1], [0.1, 0.9]]), torch.tensor([[0.1, 0.9], [0.9, 0.1]])


class Constant(InductiveMethod):
    """Predicts the given probabilities; counts its predictions."""

    def __init__(self, probabilities: Tensor) -> None:
        super().__init__()
        self.probabilities, self.calls = probabilities, 0

    def forward(self, graph: Graph, nodes: Tensor | None = None) -> Prediction:
        self.calls += 1
        return Prediction(self.probabilities.log())


def path() -> Graph:
    """0 - 1 - 2: equal labels, then different ones."""
    return Graph.build([(0, 1), (1, 2)], np.eye(3), [0, 0, 1], train=[0])


def of_edge(graph: Graph, values: Tensor, source: int, target: int) -> float:
    return float(values[(graph.adjacency.indices == source) & (graph.adjacency.rows == target)])


def test_scores_are_the_likelihood_ratio_over_one_plus_itself() -> None:
    graph, mu = path(), torch.tensor([[0.7, 0.3], [0.6, 0.4], [0.2, 0.8]])
    ratio = 2 * (mu[1] @ HOMOPHILOUS @ mu[2])
    assert of_edge(graph, edge_scores(graph, mu, mu, HOMOPHILOUS), 2, 1) == pytest.approx(float(ratio / (1 + ratio)))


def test_under_a_uniform_compatibility_all_edges_have_half_of_their_weight() -> None:
    mu = torch.rand(3, 2).softmax(1)
    scores = edge_scores(path(), mu, mu, torch.full((2, 2), 0.5))
    torch.testing.assert_close(scores, torch.full_like(scores, 0.5))


def test_edges_that_do_not_fit_the_compatibility_lose_influence() -> None:
    graph, mu = path(), torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    equal, different = (
        [of_edge(graph, edge_scores(graph, mu, mu, h), source, 1) for h in (HOMOPHILOUS, HETEROPHILOUS)]
        for source in (0, 2)
    )
    assert equal == pytest.approx([1.8 / 2.8, 0.2 / 1.2])
    assert different == pytest.approx([0.2 / 1.2, 1.8 / 2.8])


def test_label_scores_are_the_mean_of_the_models_then_the_labels_of_training_nodes() -> None:
    graph = path()
    models = [Constant(torch.tensor([[0.8, 0.2], [0.9, 0.1], [0.4, 0.6]])), Constant(torch.tensor([[0.6, 0.4]] * 3))]
    mu = LearnedInfluence(models).label_scores(graph)
    torch.testing.assert_close(mu, torch.tensor([[0.7, 0.3], [0.75, 0.25], [0.5, 0.5]]))
    known = with_training_labels(graph, mu)
    torch.testing.assert_close(known, torch.tensor([[1.0, 0.0], [0.75, 0.25], [0.5, 0.5]]))


def test_influences_on_a_node_do_not_use_its_own_label() -> None:
    mu = torch.tensor([[0.6, 0.4], [0.7, 0.3], [0.2, 0.8]])
    of_labels = []
    for label in (0, 1):
        graph = Graph.build([(0, 1), (1, 2)], np.eye(3), [label, 0, 1], train=[0])
        scores = edge_scores(graph, mu, with_training_labels(graph, mu), HOMOPHILOUS)
        of_labels.append((of_edge(graph, scores, 1, 0), of_edge(graph, scores, 0, 1)))
    (into, out), (into_other, out_other) = of_labels
    assert into == into_other
    assert out > out_other


@pytest.mark.parametrize(("mismatch", "sign"), [(0.1, 1), (0.9, -1)])
def test_learned_influence_follows_the_edges_of_a_block_model(mismatch: float, sign: int) -> None:
    graph = block_model(400, num_classes=2, mismatch=mismatch, per_class=80, seed=3)
    truth = torch.eye(2)[graph.labels].clamp(0.05, 0.95)
    influence = LearnedInfluence([Constant(truth)]).propagation(graph.training_view()).influence
    relative = influence / uniform_propagation(graph).influence
    rows, columns = graph.adjacency.rows, graph.adjacency.indices
    agree, is_edge = graph.labels[rows] == graph.labels[columns], rows != columns
    assert sign * float(relative[is_edge & agree].mean() - relative[is_edge & ~agree].mean()) > 0.2


def test_it_is_computed_once_and_again_after_every_change_of_the_graph() -> None:
    graph = path()
    model = Constant(torch.tensor([[0.6, 0.4], [0.7, 0.3], [0.4, 0.6]]))
    learned = LearnedInfluence([model])
    first = learned.propagation(graph)
    assert learned.propagation(graph.training_view()) is first
    changed = [
        graph.with_features(graph.features.clone()),
        replace(graph, edge_weight=torch.ones(graph.adjacency.num_entries)),
        replace(graph, labels=torch.tensor([1, 0, 1])),
        replace(graph, train=torch.tensor([0, 2])),
        path(),
    ]
    for number, other in enumerate(changed):
        assert learned.propagation(other) is not first
        assert model.calls == number + 2


def test_it_does_not_keep_a_graph_alive() -> None:
    gc.collect()
    gc.disable()
    try:
        graph = path()
        learned = LearnedInfluence([Constant(torch.full((3, 2), 0.5))])
        learned.propagation(graph)
        kept = weakref.ref(graph), weakref.ref(graph.adjacency), weakref.ref(graph.features)
        del graph
        assert [reference() for reference in kept] == [None, None, None]
    finally:
        gc.enable()
