"""Kipf-GCN against dense linear algebra."""

from __future__ import annotations

import torch

from confgcn.graph import Graph
from confgcn.models.base import Shape
from confgcn.models.baselines.gcn import GCN


def test_forward_is_the_printed_equation(six_nodes: Graph) -> None:
    method = GCN(Shape.of(six_nodes), hidden_dim=5).eval()
    adjacency = torch.zeros(6, 6)
    adjacency[six_nodes.adjacency.rows, six_nodes.adjacency.indices] = 1.0
    root = torch.diag(adjacency.sum(1).rsqrt())
    s = root @ adjacency @ root
    first, second = method.weights
    expected = s @ torch.relu(s @ six_nodes.features @ first) @ second
    torch.testing.assert_close(method(six_nodes).logits, expected)


def test_without_an_activation_two_layers_are_one_product(six_nodes: Graph) -> None:
    method = GCN(Shape.of(six_nodes), hidden_dim=5, dropout=0.0, activation="identity")
    adjacency = torch.zeros(6, 6)
    adjacency[six_nodes.adjacency.rows, six_nodes.adjacency.indices] = 1.0
    root = torch.diag(adjacency.sum(1).rsqrt())
    s = root @ adjacency @ root
    first, second = method.weights
    expected = s @ (s @ six_nodes.features @ first) @ second
    torch.testing.assert_close(method(six_nodes).logits, expected)
    assert bool((s @ six_nodes.features @ first < 0).any())  # which ReLU would have cut off


def test_only_the_first_layer_decays(six_nodes: Graph) -> None:
    method = GCN(Shape.of(six_nodes), num_layers=3, weight_decay=0.1)
    decayed, others = method.parameter_groups()
    assert decayed["weight_decay"] == 0.1
    assert decayed["params"][0] is method.weights[0]
    assert len(others["params"]) == 2
    assert "weight_decay" not in others
