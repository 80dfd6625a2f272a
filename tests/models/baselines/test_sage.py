"""GraphSAGE against dense linear algebra."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch

from confgcn.graph import Graph
from confgcn.models.base import Shape
from confgcn.models.baselines.sage import SAGE
from confgcn.sparse import SparseMatrix


def mean_of_neighbours(graph: Graph) -> torch.Tensor:
    adjacency = torch.zeros(graph.num_nodes, graph.num_nodes)
    adjacency[graph.adjacency.rows, graph.adjacency.indices] = 1.0
    adjacency.fill_diagonal_(0.0)
    return adjacency / adjacency.sum(1, keepdim=True).clamp(min=1)


def test_forward_is_the_printed_equation(six_nodes: Graph) -> None:
    method = SAGE(Shape.of(six_nodes), hidden_dim=5).eval()
    mean = mean_of_neighbours(six_nodes)
    first, second = method.layers

    def layer(module: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
        both = torch.cat([x, mean @ x], dim=1) @ torch.cat([module.own.weight, module.of_neighbours])
        return torch.relu(torch.nn.functional.layer_norm(both + module.own.bias, (5,)))

    hidden = layer(first, six_nodes.features)
    hidden = hidden + layer(second, hidden)
    expected = hidden @ method.output.weight + method.output.bias
    torch.testing.assert_close(method(six_nodes).logits, expected)
    torch.testing.assert_close(method(six_nodes, torch.tensor([4, 1])).logits, expected[[4, 1]])


def test_own_row_and_neighbours_have_their_own_weights() -> None:
    features = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    graph = Graph.build([(0, 1), (0, 2)], features, [0, 1, 1], train=[0, 1])
    method = SAGE(Shape.of(graph), hidden_dim=4, num_layers=1).eval()
    torch.nn.init.zeros_(method.layers[0].own.weight)
    logits = method(graph).logits
    torch.testing.assert_close(logits[1], logits[2])
    torch.nn.init.zeros_(method.layers[0].of_neighbours)
    torch.testing.assert_close(method(graph).logits[0], method(graph).logits[1])  # biases only


def test_sparse_features_give_the_logits_of_dense_ones(six_nodes: Graph) -> None:
    method = SAGE(Shape.of(six_nodes), hidden_dim=5).eval()
    sparse = Graph.build([], sp.csr_matrix(six_nodes.features), six_nodes.labels.numpy()).features
    assert isinstance(sparse, SparseMatrix)
    torch.testing.assert_close(method(six_nodes.with_features(sparse)).logits, method(six_nodes).logits)


def test_all_parameters_decay(six_nodes: Graph) -> None:
    method = SAGE(Shape.of(six_nodes), weight_decay=0.1)
    (group,) = method.parameter_groups()
    assert group["weight_decay"] == 0.1
    assert {id(p) for p in group["params"]} == {id(p) for p in method.parameters()}
