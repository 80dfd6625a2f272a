"""GGNN against loops over steps, nodes and neighbours."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from confgcn.graph import Graph
from confgcn.models.base import Shape
from confgcn.models.baselines.ggnn import GGNN
from confgcn.ops import GRUCell

DIM = 3


@pytest.fixture
def graph(six_nodes: Graph) -> Graph:
    """Six nodes, in float64; 5 is isolated."""
    return six_nodes.with_features(six_nodes.features.double())


def random_method(graph: Graph, num_steps: int) -> GGNN:
    method = GGNN(Shape.of(graph), hidden_dim=DIM, num_steps=num_steps).double()
    for parameter in method.parameters():
        torch.nn.init.normal_(parameter)
    return method


def neighbours_of(graph: Graph, node: int) -> list[int]:
    ends = zip(graph.neighbours.rows.tolist(), graph.neighbours.indices.tolist(), strict=True)
    return [u for v, u in ends if v == node]


def updated(cell: GRUCell, m: Tensor, h: Tensor) -> Tensor:
    """One node's state by the printed equations."""
    w_i, w_r, w_u = cell.of_message.split(DIM, dim=1)
    u_i, u_r = cell.of_state.split(DIM, dim=1)
    b_i, b_r, b_u = cell.bias.split(DIM)
    i = torch.sigmoid(m @ w_i + h @ u_i + b_i)
    r = torch.sigmoid(m @ w_r + h @ u_r + b_r)
    u = torch.tanh(m @ w_u + (r * h) @ cell.of_reset_state + b_u)
    return i * h + (1 - i) * u


def message(states: list[Tensor], neighbours: list[int]) -> Tensor:
    """The mean of the neighbours' states; zero where there are none."""
    total = torch.zeros(DIM, dtype=torch.double)
    for u in neighbours:
        total = total + states[u] / len(neighbours)
    return total


def slow_logits(method: GGNN, graph: Graph) -> Tensor:
    states = [x @ method.input.weight + method.input.bias for x in graph.features]
    for _ in range(method.num_steps):
        messages = [message(states, neighbours_of(graph, v)) for v in range(6)]
        states = [updated(method.cell, m, h) for m, h in zip(messages, states, strict=True)]
    rows = [torch.cat([h, x]) for h, x in zip(states, graph.features, strict=True)]
    return torch.stack([row @ method.output.weight + method.output.bias for row in rows])


@pytest.mark.parametrize("num_steps", [1, 3])
def test_logits_and_gradients_equal_loops(graph: Graph, num_steps: int) -> None:
    method = random_method(graph, num_steps)
    ours, slow = method(graph).logits, slow_logits(method, graph)
    torch.testing.assert_close(ours, slow)
    gradients = (torch.autograd.grad(logits.square().sum(), list(method.parameters())) for logits in (ours, slow))
    torch.testing.assert_close(*gradients)


def test_an_isolated_node_receives_zero(graph: Graph) -> None:
    method = random_method(graph, num_steps=2)
    state = graph.features[5] @ method.input.weight + method.input.bias
    for _ in range(2):
        state = updated(method.cell, torch.zeros(DIM, dtype=torch.double), state)
    expected = torch.cat([state, graph.features[5]]) @ method.output.weight + method.output.bias
    torch.testing.assert_close(method(graph).logits[5], expected)


def test_all_parameters_decay(six_nodes: Graph) -> None:
    method = GGNN(Shape.of(six_nodes), weight_decay=0.1)
    (group,) = method.parameter_groups()
    assert group["weight_decay"] == 0.1
    assert len(group["params"]) == len(list(method.parameters())) == 8
