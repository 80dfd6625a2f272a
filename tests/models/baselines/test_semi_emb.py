"""SemiEmb by hand: the forward pass, and its two kinds of pairs against loops over the same draws."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch.nn import functional

from confgcn.graph import Graph
from confgcn.models.base import LossTerm, Shape
from confgcn.models.baselines.semi_emb import SemiEmb


def random_method(graph: Graph, **settings: float) -> SemiEmb:
    method = SemiEmb(Shape.of(graph), **{"hidden_dim": 5, **settings})
    for parameter in method.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return method


def terms_of(method: SemiEmb, graph: Graph) -> dict[str, LossTerm]:
    """With pairs that a stream seeded with 5 draws."""
    prediction = method(graph)
    torch.manual_seed(5)
    return method.loss_terms(graph, prediction)


def pairs_of(method: SemiEmb, graph: Graph) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The neighbours and the other pairs that the same stream gives."""
    torch.manual_seed(5)
    edges = torch.stack([graph.neighbours.rows, graph.neighbours.indices], dim=1).tolist()
    neighbours = [tuple(edges[e]) for e in torch.randint(len(edges), (method.num_pairs,)).tolist()]
    others = torch.randint(graph.num_nodes, (2, method.num_pairs)).T.tolist()
    return neighbours, [tuple(pair) for pair in others]


def distances(method: SemiEmb, graph: Graph, pairs: list[tuple[int, int]]) -> list[float]:
    """Between the hidden layers before their activation."""
    g = (graph.features @ method.hidden.weight + method.hidden.bias).tolist()
    return [math.dist(g[i], g[j]) for i, j in pairs]


@pytest.mark.parametrize("sparse", [True, False], ids=["sparse", "dense"])
def test_forward_is_the_printed_equation(sparse: bool) -> None:
    features = np.array([[1.0, 0, 2], [0, 0, 0], [0, -3, 0], [4, 5, 6]])
    graph = Graph.build([(0, 1)], sp.csr_matrix(features) if sparse else features, [0, 1, 2, 1], train=[0])
    method = random_method(graph)
    hidden = torch.tensor(features).float() @ method.hidden.weight + method.hidden.bias
    assert (hidden < 0).any()
    expected = hidden.clamp(min=0) @ method.output.weight + method.output.bias
    torch.testing.assert_close(method(graph).logits, expected)


def test_terms_equal_loops_over_the_pairs(six_nodes: Graph) -> None:
    method = random_method(six_nodes, num_pairs=40, margin=1.5, lambda_embedding=0.3)
    terms = terms_of(method, six_nodes)
    neighbours, others = pairs_of(method, six_nodes)
    close = distances(method, six_nodes, neighbours)
    apart = distances(method, six_nodes, others)
    assert min(apart) < 1.5 < max(apart)
    assert {name: term.value().item() for name, term in terms.items()} == pytest.approx(
        {
            "cross": functional.cross_entropy(method(six_nodes).logits[:3], six_nodes.labels[:3]).item(),
            "neighbours": 0.3 * sum(d**2 for d in close) / 40,
            "others": 0.3 * sum(max(0.0, 1.5 - d) ** 2 for d in apart) / 40,
        },
        rel=1e-4,
    )


def test_pairs_further_apart_than_the_margin_cost_nothing(six_nodes: Graph) -> None:
    values = []
    for margin in (0.0, 1.0, 2.0):
        method = random_method(six_nodes, margin=margin)
        with torch.no_grad():
            method.hidden.weight.zero_()
            method.hidden.weight[:4, :4] = 1e3 * torch.eye(4)
        values.append(terms_of(method, six_nodes)["others"].value().item())
    _, others = pairs_of(method, six_nodes)
    share = sum(i == j for i, j in others) / len(others)  # a node and itself stay at distance zero
    assert values == pytest.approx([0.0, share, 4 * share], abs=1e-4)


def test_gradients_are_those_of_the_loops(six_nodes: Graph) -> None:
    method = random_method(six_nodes, num_pairs=40, margin=1.5)
    neighbours, others = (torch.tensor(pairs).T for pairs in pairs_of(method, six_nodes))
    terms = terms_of(method, six_nodes)
    g = six_nodes.features @ method.hidden.weight + method.hidden.bias
    different = others[:, others[0] != others[1]]  # a node and itself have no gradient
    distance = (g[different[0]] - g[different[1]]).norm(dim=1)
    expected = (g[neighbours[0]] - g[neighbours[1]]).square().sum() + (1.5 - distance).clamp(min=0).square().sum()
    ours = terms["neighbours"].value() + terms["others"].value()
    gradients = [torch.autograd.grad(loss, method.hidden.weight)[0] for loss in (ours, expected / 40)]
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-5)


def test_a_node_paired_with_itself_has_a_finite_gradient(six_nodes: Graph) -> None:
    method = random_method(six_nodes)
    same = six_nodes.with_features(torch.ones(6, 4))
    terms_of(method, same)["others"].value().backward()
    assert torch.isfinite(method.hidden.weight.grad).all()


def test_a_graph_without_edges_has_no_neighbours_to_pull(six_nodes: Graph) -> None:
    graph = Graph.build([], six_nodes.features.numpy(), six_nodes.labels.numpy(), train=[0, 1, 2])
    terms = terms_of(random_method(graph), graph)
    assert set(terms) == {"cross", "others"}
    assert all(torch.isfinite(term.value()) for term in terms.values())


def test_a_prediction_does_not_depend_on_edges(six_nodes: Graph) -> None:
    graph = Graph.build([], six_nodes.features.numpy(), six_nodes.labels.numpy(), train=[0, 1, 2])
    method = random_method(graph)
    assert torch.equal(method(graph).logits, method(six_nodes).logits)


def test_all_parameters_decay(six_nodes: Graph) -> None:
    method = SemiEmb(Shape.of(six_nodes), weight_decay=0.1)
    (group,) = method.parameter_groups()
    assert group["weight_decay"] == 0.1
    assert len(group["params"]) == 4
