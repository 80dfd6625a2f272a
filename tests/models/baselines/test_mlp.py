"""MLP: one hidden layer on the features, by hand."""

from __future__ import annotations

import numpy as np
import torch

from confgcn.graph import Graph
from confgcn.models.base import Shape
from confgcn.models.baselines.mlp import MLP


def random_method(graph: Graph, **settings: float) -> MLP:
    method = MLP(Shape.of(graph), hidden_dim=5, **settings)
    for parameter in method.parameters():
        torch.nn.init.normal_(parameter)
    return method


def test_forward_is_two_layers_of_the_features(six_nodes: Graph) -> None:
    method = random_method(six_nodes).eval()
    hidden = torch.relu(six_nodes.features @ method.hidden.weight + method.hidden.bias)
    expected = hidden @ method.output.weight + method.output.bias
    torch.testing.assert_close(method(six_nodes).logits, expected)
    torch.testing.assert_close(method(six_nodes, torch.tensor([3, 0])).logits, expected[[3, 0]])


def test_edges_change_nothing() -> None:
    features = np.random.default_rng(0).normal(size=(4, 3))
    many, none = (Graph.build(edges, features, [0, 1, 2, 1], train=[0]) for edges in ([(0, 1), (1, 2), (0, 3)], []))
    method = random_method(many).eval()
    assert torch.equal(method(many).logits, method(none).logits)


def test_dropout_acts_in_training_only(six_nodes: Graph) -> None:
    method = random_method(six_nodes)
    assert not torch.equal(method(six_nodes).logits, method(six_nodes).logits)
    method.eval()
    assert torch.equal(method(six_nodes).logits, method(six_nodes).logits)


def test_only_the_first_weight_matrix_decays(six_nodes: Graph) -> None:
    method = random_method(six_nodes, weight_decay=0.1)
    decayed, others = method.parameter_groups()
    assert decayed["weight_decay"] == 0.1
    assert [id(parameter) for parameter in decayed["params"]] == [id(method.hidden.weight)]
    assert len(others["params"]) == 3
    assert "weight_decay" not in others
