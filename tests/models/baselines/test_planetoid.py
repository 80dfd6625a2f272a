"""Planetoid: its heads by hand, which pairs each step draws, and their loss against loops."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from confgcn.graph import Graph
from confgcn.models.base import LossTerm, Shape
from confgcn.models.baselines.planetoid import Planetoid
from confgcn.ops import Linear

either_variant = pytest.mark.parametrize("variant", ["transductive", "inductive"])
LENGTH = 20


@pytest.fixture
def path() -> Graph:
    """Twenty nodes in a row; those of the test set stand between others."""
    labels = [v % 3 for v in range(LENGTH)]
    edges = [(v, v + 1) for v in range(LENGTH - 1)]
    features = np.random.default_rng(0).normal(size=(LENGTH, 4))
    return Graph.build(edges, features, labels, train=[0, 1, 2, 3, 4, 9], test=[6, 12, 13])


def random_method(graph: Graph, **settings: object) -> Planetoid:
    method = Planetoid(Shape.of(graph), **{"embedding_dim": 5, **settings})
    for parameter in method.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return method


def dense(layer: Linear, values: Tensor) -> Tensor:
    return values @ layer.weight + layer.bias


def embeddings(method: Planetoid, graph: Graph) -> Tensor:
    """Of every node of the graph, as printed."""
    if method.is_inductive:
        return dense(method.encoder, graph.features).clamp(min=0)
    return method.embedding[graph.node_ids]


def steps(method: Planetoid, graph: Graph, count: int) -> list[dict[str, LossTerm]]:
    return [method.loss_terms(graph, method(graph, graph.train)) for _ in range(count)]


@either_variant
def test_heads_are_the_printed_equations(six_nodes: Graph, variant: str) -> None:
    method = random_method(six_nodes, variant=variant)
    of_features = dense(method.of_features, six_nodes.features)
    of_embedding = dense(method.of_embedding, embeddings(method, six_nodes))
    both = torch.cat([of_features.softmax(1), of_embedding.softmax(1)], dim=1)
    expected = (dense(method.output, both), of_features, of_embedding)
    torch.testing.assert_close(method.heads(six_nodes, None), expected)
    torch.testing.assert_close(method(six_nodes).logits, expected[0])


def test_the_steps_take_label_pairs_then_graph_pairs_then_labels(path: Graph) -> None:
    method = random_method(path, label_steps=2, graph_steps=1, graph_share=0.0)
    crosses = {"cross", "cross_features", "cross_embedding"}
    names = [set(terms) for terms in steps(method, path, 24)]
    assert names == [{"label_pairs"}, {"label_pairs"}, {"graph_pairs"}, *[crosses] * 21]


def test_with_a_share_of_one_every_step_of_labels_takes_graph_pairs_too(path: Graph) -> None:
    method = random_method(path, label_steps=0, graph_steps=0, graph_share=1.0)
    assert all("graph_pairs" in terms and "cross" in terms for terms in steps(method, path, 20))


def test_a_share_between_takes_them_in_some_steps(path: Graph) -> None:
    method = random_method(path, label_steps=0, graph_steps=0, graph_share=0.25, batch_nodes=2)
    with_pairs = sum("graph_pairs" in terms for terms in steps(method, path, 400))
    assert abs(with_pairs - 100) < 5 * math.sqrt(400 * 0.25 * 0.75)


@either_variant
def test_the_labels_are_learnt_by_the_mean_cross_entropy_of_every_head(path: Graph, variant: str) -> None:
    method = random_method(path, variant=variant, label_steps=0, graph_steps=0)
    (terms,) = steps(method, path, 1)
    heads = [head[path.train] for head in method.heads(path, None)]
    expected = [functional.cross_entropy(head, path.train_labels) for head in heads]
    torch.testing.assert_close([term.value() for term in terms.values()], expected)


@either_variant
def test_the_loss_of_pairs_equals_a_loop(six_nodes: Graph, variant: str) -> None:
    graph = replace(six_nodes, node_ids=torch.tensor([3, 5, 0, 1, 2, 4]))
    method = random_method(graph, variant=variant, context_weight=0.3)
    centre, other = torch.tensor([4, 0, 4, 2, 4]), torch.tensor([1, 1, 4, 0, 1])
    sign = torch.tensor([1.0, -1.0, 1.0, -1.0, -1.0])
    expected = 0.0
    for i, j, s in zip(centre.tolist(), other.tolist(), sign.tolist(), strict=True):
        score = (embeddings(method, graph)[i] @ method.context[graph.node_ids[j]]).item()
        expected += 0.3 * math.log1p(math.exp(-s * score))
    assert method.context_loss(graph, centre, other, sign).value().item() == pytest.approx(expected, rel=1e-5)


@either_variant
def test_the_gradient_of_pairs_adds_up_over_a_node_named_often(six_nodes: Graph, variant: str) -> None:
    method = random_method(six_nodes, variant=variant, context_weight=1.0)
    centre, other = torch.tensor([4, 0, 4, 2, 4]), torch.tensor([1, 1, 4, 0, 1])
    sign = torch.tensor([1.0, -1.0, 1.0, -1.0, -1.0])
    scores = (embeddings(method, six_nodes)[centre] * method.context[other]).sum(1)
    losses = method.context_loss(six_nodes, centre, other, sign).value(), -functional.logsigmoid(sign * scores).sum()
    weights = [method.context, method.encoder.weight if method.is_inductive else method.embedding]
    torch.testing.assert_close(*(torch.autograd.grad(loss, weights) for loss in losses))


def test_label_pairs_are_for_each_other_where_labels_are_equal(path: Graph) -> None:
    first, second, sign = random_method(path, batch_pairs=300, num_negatives=2).label_pairs(path)
    assert len(first) == len(second) == len(sign) == 900
    assert torch.equal(first[:300].repeat(2), first[300:])
    for drawn in (first[:300], second[:300], second[300:]):
        assert set(drawn.tolist()) == set(path.train.tolist())
    equal = path.labels[first] == path.labels[second]
    assert torch.equal(sign, 2.0 * equal - 1.0)
    assert int(equal.sum()) == 300


@pytest.mark.parametrize("window", [1, 3])
def test_graph_pairs_stand_near_each_other_on_edges(path: Graph, window: int) -> None:
    method = random_method(path, window=window, batch_nodes=50, walk_length=6, num_negatives=4)
    centre, other, sign = method.graph_pairs(path)
    near = sign > 0
    assert int(near.sum()) == LENGTH * sum(2 * (7 - gap) for gap in range(1, window + 1))
    apart = (centre - other).abs()[near]  # in a row, so many steps
    assert set(apart.tolist()) == set(range(window + 1) if window > 1 else [1])
    assert set(centre[near].tolist()) == set(range(LENGTH))


def test_each_pair_of_a_walk_has_its_number_of_pairs_against_it(path: Graph) -> None:
    centre, other, sign = random_method(path, batch_nodes=50, num_negatives=4).graph_pairs(path)
    against = sign < 0
    assert int(against.sum()) == 4 * int((sign > 0).sum())
    counts = torch.bincount(other[against], minlength=LENGTH)
    assert counts.min() > 0.8 * counts.sum() / LENGTH  # any node, as often as another
    assert torch.equal(torch.bincount(centre[against]), 4 * torch.bincount(centre[sign > 0]))


def test_walks_of_a_batch_begin_at_different_nodes(path: Graph) -> None:
    centre, _, sign = random_method(path, window=1, walk_length=1, batch_nodes=7).graph_pairs(path)
    starts = centre[sign > 0][:7]
    assert len(starts.unique()) == 7


def test_a_walk_of_a_node_without_edges_stays(path: Graph) -> None:
    lonely = Graph.build([], path.features.numpy(), path.labels.numpy(), train=[0, 1])
    centre, other, sign = random_method(lonely).graph_pairs(lonely)
    assert torch.equal(centre[sign > 0], other[sign > 0])


def test_the_inductive_variant_never_pairs_a_test_node(path: Graph) -> None:
    method = random_method(path, variant="inductive")
    centre, other, sign = method.graph_pairs(path)
    seen = set(range(LENGTH)) - set(path.test.tolist())
    assert set(centre.tolist()) == set(other.tolist()) == seen
    assert (sign > 0).any()
    assert (sign < 0).any()
    first, second, _ = method.label_pairs(path)
    assert set(first.tolist()) | set(second.tolist()) <= seen


def test_the_transductive_variant_pairs_them(path: Graph) -> None:
    centre, other, _ = random_method(path).graph_pairs(path)
    assert set(centre.tolist()) == set(other.tolist()) == set(range(LENGTH))


def test_an_inductive_prediction_needs_the_features_and_nothing_else(path: Graph) -> None:
    method = random_method(path, variant="inductive")
    expected = method(path).logits
    order = torch.arange(LENGTH).flip(0)
    other = Graph.build([(0, 9)], path.features[order].numpy(), path.labels[order].numpy(), train=[1, 2])
    torch.nn.init.zeros_(method.context)
    torch.testing.assert_close(method(other).logits, expected[order])


def test_transductive_embeddings_follow_the_ids_of_nodes(path: Graph) -> None:
    method = random_method(path)
    ids = torch.randperm(LENGTH)
    moved = replace(path, node_ids=ids)
    nodes = torch.tensor([7, 3])
    torch.testing.assert_close(method.embed(moved, nodes), method.embedding[ids[nodes]])
    torch.testing.assert_close(method(moved, nodes).logits, method(moved).logits[nodes])


def test_the_heads_decay_and_nothing_else(six_nodes: Graph) -> None:
    method = random_method(six_nodes, weight_decay=0.1)
    decayed, others = method.parameter_groups()
    heads = [method.of_features.weight, method.of_embedding.weight, method.output.weight]
    assert decayed["weight_decay"] == 0.1
    assert {id(parameter) for parameter in decayed["params"]} == {id(head) for head in heads}
    assert len(others["params"]) == len(list(method.parameters())) - 3
    assert "weight_decay" not in others
