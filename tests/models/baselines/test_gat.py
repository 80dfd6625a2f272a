"""GAT against its equations on dense matrices, against PyG's operator, and where its dropout falls."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.nn import functional

from confgcn.graph import Graph
from confgcn.models.base import Shape
from confgcn.models.baselines.gat import GAT, Attention
from confgcn.sparse import SparseMatrix


def random_method(graph: Graph, **settings: int) -> GAT:
    method = GAT(Shape.of(graph), **{"hidden_dim": 4, "num_heads": 3, "num_output_heads": 2, **settings}).eval()
    for parameter in method.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    return method


def dense_attention(layer: Attention, graph: Graph, x: Tensor) -> Tensor:
    """(N, heads, width), one head and one target at a time."""
    is_edge = torch.zeros(graph.num_nodes, graph.num_nodes, dtype=torch.bool)
    is_edge[graph.adjacency.rows, graph.adjacency.indices] = True
    heads = []
    for k, weight in enumerate(layer.weights):
        z = x @ weight
        rows = []
        for v in range(graph.num_nodes):
            e = z[v] @ layer.at_target[k] + z @ layer.at_source[k] + layer.offset[k]  # over all u
            e = torch.where(e > 0, e, 0.2 * e)
            share = torch.exp(e) * is_edge[v]
            rows.append(share / share.sum() @ z + layer.bias[k])
        heads.append(torch.stack(rows))
    return torch.stack(heads, dim=1)


def test_forward_is_the_printed_equations(six_nodes: Graph) -> None:
    method = random_method(six_nodes)
    hidden = functional.elu(dense_attention(method.hidden, six_nodes, six_nodes.features))
    hidden = torch.cat([hidden[:, k] for k in range(3)], dim=1)
    expected = dense_attention(method.output, six_nodes, hidden).mean(1)
    torch.testing.assert_close(method(six_nodes).logits, expected, rtol=1e-4, atol=1e-5)


def test_gradients_are_those_of_the_equations(six_nodes: Graph) -> None:
    graph = six_nodes.with_features(six_nodes.features.double())
    layer = random_method(graph).hidden.double()
    hop = graph.receptive_field(None, depth=1).hops[0]
    outputs = layer(hop, graph.features), dense_attention(layer, graph, graph.features)
    mix = torch.randn(6, 3, 4, dtype=torch.double)
    torch.testing.assert_close(*(torch.autograd.grad((y * mix).sum(), list(layer.parameters())) for y in outputs))


def test_attention_sums_to_one(small_graph: Graph) -> None:
    layer = random_method(small_graph).hidden
    torch.nn.init.zeros_(layer.bias)
    for weight in layer.weights:
        weight.data[:, 3] = functional.one_hot(torch.tensor(0), 32)
    features = torch.cat([torch.ones(120, 1), small_graph.features[:, 1:]], dim=1)  # the last of each z is one
    output = layer(small_graph.receptive_field(None, depth=1).hops[0], features)
    torch.testing.assert_close(output[:, :, 3], torch.ones(120, 3))
    assert output[:, :, 0].std() > 0.1


def test_sparse_features_give_what_dense_ones_give(six_nodes: Graph) -> None:
    method = random_method(six_nodes)
    sparse = Graph.build([], sp.csr_matrix(six_nodes.features), six_nodes.labels.numpy()).features
    assert isinstance(sparse, SparseMatrix)
    torch.testing.assert_close(method(six_nodes.with_features(sparse)).logits, method(six_nodes).logits)


def test_it_equals_two_layers_of_pyg(small_graph: Graph) -> None:
    conv = pytest.importorskip("torch_geometric.nn", exc_type=ImportError).GATConv
    method = random_method(small_graph)
    first = conv(32, 4, heads=3, add_self_loops=False)
    second = conv(12, 4, heads=2, concat=False, add_self_loops=False)
    for theirs, ours in ((first, method.hidden), (second, method.output)):
        torch.nn.init.zeros_(ours.offset)
        theirs.lin.weight.data = torch.cat(list(ours.weights), dim=1).T.detach().contiguous()
        theirs.att_src.data, theirs.att_dst.data = ours.at_source.data[None], ours.at_target.data[None]
    first.bias.data, second.bias.data = method.hidden.bias.data.flatten(), method.output.bias.data.mean(0)
    edges = torch.stack([small_graph.adjacency.indices, small_graph.adjacency.rows])
    expected = second(functional.elu(first(small_graph.features, edges)), edges)
    torch.testing.assert_close(method(small_graph).logits, expected, rtol=1e-4, atol=1e-5)


def test_dropout_falls_on_input_attention_and_message_of_each_head_anew() -> None:
    count = 20_000
    graph = Graph.build([], np.ones((count, 1)), [0] * count)  # each node attends to itself only
    layer = Attention(1, 1, 2, dropout=0.5)
    for weight in layer.weights:
        torch.nn.init.ones_(weight)
    output = layer(graph.receptive_field(None, depth=1).hops[0], graph.features).squeeze(2)  # (N, heads)
    assert set(output.unique().tolist()) == {0.0, 8.0}
    is_kept = output > 0
    for share, expected in ((is_kept[:, 0], 1 / 8), (is_kept[:, 1], 1 / 8), (is_kept.all(1), 1 / 64)):
        deviation = math.sqrt(count * expected * (1 - expected))
        assert abs(int(share.sum()) - count * expected) < 5 * deviation


def test_heads_of_equal_weights_differ_in_training_only(six_nodes: Graph) -> None:
    layer = Attention(4, 5, 3, dropout=0.5)
    with torch.no_grad():
        for weight in layer.weights:
            weight.copy_(layer.weights[0])
        layer.at_target.copy_(layer.at_target[:1].clone().expand(3, 5))
        layer.at_source.copy_(layer.at_source[:1].clone().expand(3, 5))
    hop = six_nodes.receptive_field(None, depth=1).hops[0]
    first, second, third = layer(hop, six_nodes.features).unbind(1)
    assert not torch.equal(first, second)
    assert not torch.equal(second, third)
    first, second, third = layer.eval()(hop, six_nodes.features).unbind(1)
    assert torch.equal(first, second)
    assert torch.equal(second, third)


def test_all_parameters_decay(six_nodes: Graph) -> None:
    method = GAT(Shape.of(six_nodes), weight_decay=0.1)
    (group,) = method.parameter_groups()
    assert group["weight_decay"] == 0.1
    assert {id(p) for p in group["params"]} == {id(p) for p in method.parameters()}
