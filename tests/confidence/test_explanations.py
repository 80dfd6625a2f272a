"""Neighbours left out one by one, against graphs built anew without the edge."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from confgcn.confidence.explanations import explain, without_edges
from confgcn.exceptions import UsageError
from confgcn.graph import Graph
from confgcn.models.base import AbstractMethod, Contributions, Prediction, Shape
from confgcn.models.confgcn.propagated import PropagatedConfGCN
from confgcn.models.registry import method_class

EDGES = [(0, 1), (1, 2), (2, 3), (3, 1), (0, 4)]


def rebuilt(graph: Graph, edges: list[tuple[int, int]]) -> Graph:
    splits = {name: getattr(graph, name).numpy() for name in ("train", "validation", "test")}
    return Graph.build(edges, graph.features.numpy(), graph.labels.numpy(), **splits, name=graph.name)


def built(name: str, graph: Graph, preset: str = "default") -> AbstractMethod:
    method = method_class(name, preset)(Shape.of(graph))
    method.setup(graph)
    with torch.no_grad():
        for parameter in method.parameters():
            parameter.add_(torch.randn(parameter.shape) / 2)
    return method


class MeanOfNeighbours(AbstractMethod):
    """Logits are the sum of the features over N(v); the influence of an edge is ten times its source."""

    def forward(self, graph: Graph, nodes: Tensor | None = None) -> Prediction:
        assert isinstance(graph.features, Tensor)
        source, target = graph.adjacency.indices, graph.adjacency.rows
        logits = torch.zeros_like(graph.features).index_add_(0, target, graph.features[source])
        return Prediction(logits, influence=10.0 * source)


@pytest.mark.parametrize("name", ["confgcn", "gcn", "gat", "ggnn", "gpnn", "gated_gcn", "sage", "appnp"])
def test_changes_are_those_of_a_graph_built_without_the_edge(name: str, six_nodes: Graph) -> None:
    method = built(name, six_nodes, "consensus")
    explanation = explain(method, six_nodes, 1)
    with_all = method.predict(six_nodes).logits[1].double().log_softmax(0)
    torch.testing.assert_close(explanation.log_probabilities, with_all, atol=1e-5, rtol=1e-5)
    assert {effect.neighbour for effect in explanation.effects} == {0, 2, 3}
    for effect in explanation.effects:
        left = [edge for edge in EDGES if set(edge) != {1, effect.neighbour}]
        without = method.predict(rebuilt(six_nodes, left)).logits[1].double().log_softmax(0)
        torch.testing.assert_close(effect.change, with_all - without, atol=1e-5, rtol=1e-5)
        assert effect.label_without == int(without.argmax())
        assert effect.decisive == (effect.label_without != explanation.label)
    alone = method.predict(rebuilt(six_nodes, [(2, 3), (0, 4)])).logits[1].double().log_softmax(0)
    torch.testing.assert_close(explanation.without_all, alone, atol=1e-5, rtol=1e-5)
    assert explanation.uses_edges
    sizes = [abs(float(effect.change[explanation.label])) for effect in explanation.effects]
    assert sizes == sorted(sizes, reverse=True)
    assert max(sizes) > 0


def test_influence_is_that_of_the_edge_into_the_node(six_nodes: Graph) -> None:
    method = built("confgcn", six_nodes, "consensus")
    influence = method.predict(six_nodes).influence
    assert influence is not None
    of_edge = {
        (int(u), int(v)): float(r)
        for u, v, r in zip(six_nodes.adjacency.indices, six_nodes.adjacency.rows, influence, strict=True)
    }
    for effect in explain(method, six_nodes, 1).effects:
        assert effect.influence == pytest.approx(of_edge[effect.neighbour, 1])
    assert explain(built("gcn", six_nodes), six_nodes, 1).effects[0].influence is None


def test_who_decides_is_named() -> None:
    features = np.array([[0.0, 0.2], [3, 0], [0, 1]])
    graph = Graph.build([(0, 1), (0, 2)], features, [0, 0, 1], node_names=["x", "loud", "quiet"])
    explanation = explain(MeanOfNeighbours(), graph, 0)
    assert explanation.label == 0
    assert [(effect.name, effect.decisive) for effect in explanation.effects] == [("loud", True), ("quiet", False)]
    assert explanation.effects[0].change[0] > 0 > explanation.effects[0].change[1]
    assert int(explanation.without_all.argmax()) == 1


def test_of_many_neighbours_those_of_the_largest_influence_are_tried() -> None:
    graph = Graph.build([(0, v) for v in range(1, 8)], np.random.default_rng(0).normal(size=(8, 2)), [0, 1] * 4)
    tried = explain(MeanOfNeighbours(), graph, 0, limit=3).effects
    assert {effect.neighbour for effect in tried} == {5, 6, 7}


def test_without_influence_those_of_the_fewest_edges_are_tried(six_nodes: Graph) -> None:
    tried = explain(built("gcn", six_nodes), six_nodes, 0, limit=1).effects  # neighbours 1 of three edges, 4 of one
    assert [effect.neighbour for effect in tried] == [4]


def test_a_node_without_neighbours_has_no_reasons(six_nodes: Graph) -> None:
    explanation = explain(built("gcn", six_nodes), six_nodes, 5)
    assert explanation.effects == []
    assert torch.equal(explanation.without_all, explanation.log_probabilities)
    assert not explanation.uses_edges


@pytest.mark.parametrize("name", ["feat", "label_propagation"])
def test_a_method_that_predicts_without_edges_is_marked(name: str, six_nodes: Graph) -> None:
    explanation = explain(built(name, six_nodes), six_nodes, 1)
    assert len(explanation.effects) == 3
    assert not explanation.uses_edges


def test_the_copy_has_nothing_of_what_the_graph_has_kept(six_nodes: Graph) -> None:
    assert six_nodes.degrees.tolist() == [2, 3, 2, 2, 1, 0]
    assert not six_nodes.is_uninformative.any()
    six_nodes.receptive_field(six_nodes.train, depth=1)
    copy, fresh = without_edges(six_nodes, 1, torch.tensor([0, 3])), rebuilt(six_nodes, [(1, 2), (2, 3), (0, 4)])
    assert copy.adjacency.equals(fresh.adjacency)
    assert torch.equal(copy.adjacency.rows, fresh.adjacency.rows)
    assert copy.degrees.tolist() == [1, 1, 2, 1, 1, 0]
    assert copy.neighbours.equals(fresh.neighbours)
    hops = (graph.receptive_field(graph.train, depth=1).hops[0].structure for graph in (copy, fresh))
    assert next(hops).equals(next(hops))
    assert six_nodes.adjacency.equals(rebuilt(six_nodes, EDGES).adjacency)


def test_a_node_that_is_not_there_is_refused(six_nodes: Graph) -> None:
    with pytest.raises(UsageError, match="node 6: expected a position from 0 to 5"):
        explain(built("gcn", six_nodes), six_nodes, 6)


def test_neighbours_beyond_the_limit_are_counted() -> None:
    graph = Graph.build(
        [(0, v) for v in range(1, 61)], np.random.default_rng(0).normal(size=(61, 2)), [0, 1] * 30 + [0]
    )
    for limit, tried in ((3, 3), (60, 60), (70, 60)):
        explanation = explain(MeanOfNeighbours(), graph, 0, limit=limit)
        assert (len(explanation.effects), explanation.not_tried) == (tried, 60 - tried)
    explanation = explain(MeanOfNeighbours(), graph, 0)
    assert {effect.neighbour for effect in explanation.effects} == set(range(11, 61))  # fifty by default
    assert explanation.not_tried == 10


def test_a_negative_influence_counts_by_its_size() -> None:
    class Against(MeanOfNeighbours):
        def forward(self, graph: Graph, nodes: Tensor | None = None) -> Prediction:
            prediction = super().forward(graph, nodes)
            return Prediction(prediction.logits, influence=-1.0 * graph.adjacency.indices)

    graph = Graph.build([(0, v) for v in range(1, 5)], np.random.default_rng(0).normal(size=(5, 2)), [0, 1, 0, 1, 0])
    tried = explain(Against(), graph, 0, limit=2).effects
    assert {effect.neighbour: effect.influence for effect in tried} == {3: -3.0, 4: -4.0}


@pytest.mark.parametrize("node", [-1, 6, 7])
def test_nodes_are_counted_from_zero(six_nodes: Graph, node: int) -> None:
    with pytest.raises(UsageError, match=f"node {node}: expected a position from 0 to 5"):
        explain(built("gcn", six_nodes), six_nodes, node)
    for there in (0, 5):
        assert explain(built("gcn", six_nodes), six_nodes, there).node == there


def test_the_edge_goes_in_both_directions(six_nodes: Graph) -> None:
    left = without_edges(six_nodes, 3, torch.tensor([1]))
    ends = set(zip(left.adjacency.indices.tolist(), left.adjacency.rows.tolist(), strict=True))
    everything = set(zip(six_nodes.adjacency.indices.tolist(), six_nodes.adjacency.rows.tolist(), strict=True))
    assert everything - ends == {(1, 3), (3, 1)}


def test_the_other_edges_keep_their_weights() -> None:
    graph = Graph.build([(0, 1), (1, 2), (2, 0)], np.eye(3), [0, 1, 0], edge_weight=[1.0, 2.0, 3.0])
    left = without_edges(graph, 0, torch.tensor([1]))
    assert left.neighbour_weights.to_scipy().toarray().tolist() == [[0, 0, 3], [0, 0, 2], [3, 2, 0]]


class SumWithinTwoEdges(MeanOfNeighbours):
    """Knows its contributions: node u adds u to the score of the first label, and its weight is u / 10."""

    def contributions(self, graph: Graph, node: int, *, limit: int) -> Contributions:
        nodes = torch.tensor([2, 1])
        scores = torch.tensor([[3.0, 2.5], [1.0, 2.5], [2.0, 2.5], [0.0, 2.5]]).log_softmax(-1)
        influence = torch.tensor([0.0, 0.5])
        return Contributions(nodes, nodes / 10, influence, scores[0], scores[1:3], scores[3], not_tried=4)


def test_a_method_that_knows_its_contributions_is_explained_by_them() -> None:
    graph = Graph.build([(0, 1), (1, 2)], np.eye(3), [0, 1, 1], node_names=["a", "b", "c"])
    explanation = explain(SumWithinTwoEdges(), graph, 0)
    assert (explanation.removed, explanation.label, explanation.not_tried) == ("contribution", 0, 4)
    far, near = explanation.effects
    assert (far.name, far.distance, far.influence, far.weight) == ("c", 2, None, pytest.approx(0.2))
    assert (near.name, near.distance, near.influence, near.weight) == ("b", 1, 0.5, pytest.approx(0.1))
    assert far.change[0] > near.change[0] > 0
    assert far.decisive
    assert near.decisive
    assert far.label_without == int(explanation.without_all.argmax()) == 1


def test_other_methods_have_distances_of_one_and_no_weights(six_nodes: Graph) -> None:
    explanation = explain(built("gcn", six_nodes), six_nodes, 1)
    assert explanation.removed == "edge"
    assert [(effect.distance, effect.weight) for effect in explanation.effects] == [(1, None)] * 3


def test_a_node_without_features_has_the_class_prior_without_the_others(six_nodes: Graph) -> None:
    features = torch.as_tensor(six_nodes.features).clone()
    features[[3, 5]] = 0.0
    graph = six_nodes.with_features(features).training_view()
    assert 3 not in graph.train
    method = PropagatedConfGCN(Shape.of(graph))
    without = without_edges(graph, 3, torch.tensor([1, 2]))
    prior = method.predict(without).logits[3].double().log_softmax(-1)
    explanation = explain(method, graph, 3)
    torch.testing.assert_close(explanation.without_all, prior, atol=0.01, rtol=0.01)  # its share of other predictions
    alone = explain(method, graph, 5)
    torch.testing.assert_close(alone.log_probabilities, method.predict(graph).logits[5].double().log_softmax(-1))
    assert not alone.uses_edges
