"""Graph layers against loops over edges, on six nodes."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck

from confgcn.graph import Graph
from confgcn.models.confgcn.layer import ConfidenceConvolution, apply_layers, dense_layer, graph_layers

pytestmark = pytest.mark.usefixtures("each_kernels")


def slow_layer(graph: Graph, layer: ConfidenceConvolution, influence: Tensor, hidden: Tensor) -> Tensor:
    rows = [hidden.new_zeros(layer.weight.shape[1]) for _ in range(graph.num_nodes)]
    sources, targets = graph.adjacency.indices.tolist(), graph.adjacency.rows.tolist()
    for r, u, v in zip(influence, sources, targets, strict=True):
        rows[v] = rows[v] + r * (layer.weight.T @ hidden[u] + (0 if layer.bias is None else layer.bias))
    return torch.stack(rows)


@pytest.mark.parametrize("bias", [True, False])
def test_a_layer_is_a_sum_over_neighbours(six_nodes: Graph, bias: bool) -> None:
    layer = ConfidenceConvolution(4, 2, bias=bias).double()
    if layer.bias is not None:
        torch.nn.init.normal_(layer.bias)
    influence = torch.rand(six_nodes.adjacency.num_entries, dtype=torch.float64).requires_grad_()
    hidden = torch.randn(6, 4, dtype=torch.float64).requires_grad_()
    fast, slow = layer(six_nodes.adjacency, influence, hidden), slow_layer(six_nodes, layer, influence, hidden)
    torch.testing.assert_close(fast, slow, rtol=1e-9, atol=1e-9)
    variables = [influence, hidden, *layer.parameters()]
    ours, theirs = (torch.autograd.grad(x.square().sum(), variables, retain_graph=True) for x in (fast, slow))
    torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-9)
    assert gradcheck(lambda r, h: layer(six_nodes.adjacency, r, h), (influence, hidden))


@pytest.mark.parametrize("activation", ["relu", "identity"])
def test_an_activation_stands_between_two_layers_and_not_after_the_last(six_nodes: Graph, activation: str) -> None:
    graph = six_nodes.with_features(six_nodes.features.double())
    layers = graph_layers([4, 5, 3], bias=True).double()
    for parameter in layers.parameters():
        torch.nn.init.normal_(parameter)
    influence = torch.rand(graph.adjacency.num_entries, dtype=torch.float64)
    field = graph.receptive_field(None, depth=2)
    found = apply_layers(layers, field, influence, activation=activation, dropout=0.0, halo=None)
    first, second = layers
    assert isinstance(first, ConfidenceConvolution)
    assert isinstance(second, ConfidenceConvolution)
    hidden = slow_layer(graph, first, influence, graph.features)
    assert (hidden < 0).any()
    hidden = hidden.relu() if activation == "relu" else hidden
    torch.testing.assert_close(found, slow_layer(graph, second, influence, hidden))
    assert (found < 0).any()


def test_the_inputs_of_every_layer_are_dropped(six_nodes: Graph) -> None:
    layers = graph_layers([4, 64], bias=False)
    influence = torch.ones(six_nodes.adjacency.num_entries)
    field = six_nodes.receptive_field(None, depth=1)
    drawn = [apply_layers(layers, field, influence, activation="relu", dropout=0.5, halo=None) for _ in range(2)]
    assert not torch.equal(*drawn)


def test_a_dense_layer_starts_without_bias_and_within_the_bound_of_xavier() -> None:
    dense = dense_layer(5, 3)
    assert not dense.bias.any()
    assert 0 < dense.weight.abs().max() <= (6 / (5 + 3)) ** 0.5
