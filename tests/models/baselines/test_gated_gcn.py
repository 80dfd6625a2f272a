"""G-GCN against dense linear algebra, and against Kipf-GCN where all gates are open."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from confgcn.graph import Graph
from confgcn.models.base import Shape
from confgcn.models.baselines.gated_gcn import GatedGCN
from confgcn.models.baselines.gcn import GCN

either_gate = pytest.mark.parametrize("gate", ["edge", "node"])
two_or_three_layers = pytest.mark.parametrize("num_layers", [2, 3])


def random_method(graph: Graph, **settings: object) -> GatedGCN:
    method = GatedGCN(Shape.of(graph), hidden_dim=5, **settings).eval()
    for parameter in method.parameters():
        torch.nn.init.normal_(parameter)
    return method


def edge_weights(graph: Graph, normalisation: str) -> Tensor:
    """a as a dense matrix, target by source."""
    adjacency = torch.zeros(6, 6)
    adjacency[graph.adjacency.rows, graph.adjacency.indices] = 1.0
    if normalisation == "none":
        return adjacency
    root = torch.diag(adjacency.sum(1).rsqrt())
    return root @ adjacency @ root


@either_gate
@two_or_three_layers
@pytest.mark.parametrize("normalisation", ["symmetric", "none"])
def test_forward_is_the_printed_equation(six_nodes: Graph, gate: str, normalisation: str, num_layers: int) -> None:
    method = random_method(six_nodes, gate=gate, normalisation=normalisation, num_layers=num_layers)
    a = edge_weights(six_nodes, normalisation)
    hidden = six_nodes.features
    for number, layer in enumerate(method.layers):
        hidden = hidden if number == 0 else torch.relu(hidden)
        opening = hidden @ layer.gate_weight + layer.gate_bias  # (6, 1)
        if gate == "edge":
            hidden = a @ (torch.sigmoid(opening) * (hidden @ layer.weight))
        else:
            hidden = torch.sigmoid(a @ opening) * (a @ hidden @ layer.weight)
    torch.testing.assert_close(method(six_nodes).logits, hidden, rtol=1e-4, atol=1e-4)


@either_gate
@two_or_three_layers
def test_with_open_gates_it_is_kipf_gcn(small_graph: Graph, gate: str, num_layers: int) -> None:
    method = random_method(small_graph, gate=gate, num_layers=num_layers)
    kipf = GCN(Shape.of(small_graph), hidden_dim=5, num_layers=num_layers).eval()
    for layer, weight in zip(method.layers, kipf.weights, strict=True):
        torch.nn.init.constant_(layer.gate_bias, 1e4)
        weight.data.copy_(layer.weight.data)
    torch.testing.assert_close(method(small_graph).logits, kipf(small_graph).logits, rtol=1e-4, atol=1e-4)


def test_gates_are_open_at_first(six_nodes: Graph) -> None:
    assert all(layer.gate_bias.item() == 1.0 for layer in GatedGCN(Shape.of(six_nodes)).layers)


def test_inputs_are_dropped_in_training_only(six_nodes: Graph) -> None:
    method = random_method(six_nodes, dropout=0.5)
    assert torch.equal(method(six_nodes).logits, method(six_nodes).logits)
    method.train()
    assert not torch.equal(method(six_nodes).logits, method(six_nodes).logits)


def test_only_the_first_layer_decays(six_nodes: Graph) -> None:
    method = GatedGCN(Shape.of(six_nodes), num_layers=3, weight_decay=0.1)
    decayed, others = method.parameter_groups()
    assert decayed["weight_decay"] == 0.1
    assert {id(p) for p in decayed["params"]} == {id(p) for p in method.layers[0].parameters()}
    assert len(others["params"]) == 6
    assert "weight_decay" not in others
