"""APPNP against dense linear algebra."""

from __future__ import annotations

import torch

from confgcn.graph import Graph
from confgcn.models.base import Shape
from confgcn.models.baselines.appnp import APPNP


def normalised(graph: Graph) -> torch.Tensor:
    adjacency = torch.zeros(graph.num_nodes, graph.num_nodes)
    adjacency[graph.adjacency.rows, graph.adjacency.indices] = 1.0
    root = torch.diag(adjacency.sum(1).rsqrt())
    return root @ adjacency @ root


def test_forward_is_the_printed_recursion(six_nodes: Graph) -> None:
    method = APPNP(Shape.of(six_nodes), hidden_dim=5, num_steps=3, teleport=0.2).eval()
    own = torch.relu(six_nodes.features @ method.hidden) @ method.output
    expected = own
    for _ in range(3):
        expected = 0.8 * normalised(six_nodes) @ expected + 0.2 * own
    torch.testing.assert_close(method(six_nodes).logits, expected)
    torch.testing.assert_close(method(six_nodes, torch.tensor([4, 1])).logits, expected[[4, 1]])


def test_many_steps_reach_personalised_pagerank(six_nodes: Graph) -> None:
    method = APPNP(Shape.of(six_nodes), hidden_dim=5, num_steps=200).eval()
    own = torch.relu(six_nodes.features @ method.hidden) @ method.output
    pagerank = 0.1 * torch.linalg.inv(torch.eye(6) - 0.9 * normalised(six_nodes))
    torch.testing.assert_close(method(six_nodes).logits, pagerank @ own, rtol=1e-4, atol=1e-5)


def test_dropout_falls_on_the_adjacency_in_every_step() -> None:
    graph = Graph.build([], torch.ones(2000, 1), [0] * 2000)  # each node is its own only neighbour
    method = APPNP(Shape.of(graph), hidden_dim=1, num_steps=2, teleport=0.5, dropout=0.5)
    method.hidden.data.fill_(1.0)
    method.output.data.fill_(1.0)
    values = method(graph).logits.detach()
    # H is 0 or 4; from it the first step gives 1/2 or 3/2 of H, the second 1/2, 1/2 + 1/2 or 1/2 + 3/2.
    assert set(values.unique().tolist()) == {0.0, 2.0, 4.0, 8.0}


def test_only_the_first_layer_decays(six_nodes: Graph) -> None:
    method = APPNP(Shape.of(six_nodes), weight_decay=0.1)
    decayed, others = method.parameter_groups()
    assert decayed["weight_decay"] == 0.1
    assert decayed["params"][0] is method.hidden
    assert others["params"][0] is method.output
    assert "weight_decay" not in others
