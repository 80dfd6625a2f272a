"""GPNN against loops over its schedule, against GGNN where there is no cut, and its output layers by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from confgcn.graph import Graph
from confgcn.models.base import Shape
from confgcn.models.baselines.ggnn import GGNN
from confgcn.models.baselines.gpnn import GPNN

PART = [0, 0, 1, 1, 0, 0]  # cuts 1 - 2 and 1 - 3; nodes 0, 4 and 5 touch no cut


@pytest.fixture
def graph(six_nodes: Graph) -> Graph:
    """Six nodes, in float64; 5 is isolated."""
    return six_nodes.with_features(six_nodes.features.double())


def random_method(graph: Graph, part: list[int], **settings: int) -> GPNN:
    method = GPNN(Shape.of(graph), **{"hidden_dim": 3, "num_parts": 2, **settings}).double()
    for parameter in method.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    method.part.copy_(torch.tensor(part))
    return method


def chosen_neighbours(graph: Graph, part: list[int], node: int, *, inside: bool) -> list[int]:
    """Those in the node's part, or those in others."""
    ends = zip(graph.neighbours.rows.tolist(), graph.neighbours.indices.tolist(), strict=True)
    return [u for v, u in ends if v == node and (part[u] == part[v]) is inside]


def slow_states(method: GPNN, graph: Graph, part: list[int], schedule: list[str]) -> list[Tensor]:
    """One node at a time; the cell has a test of its own."""
    states = [x @ method.input.weight + method.input.bias for x in graph.features]
    for step in schedule:
        before = states
        states = []
        for v, own in enumerate(before):
            others = [before[u] for u in chosen_neighbours(graph, part, v, inside=step == "inside")]
            message = torch.stack(others).mean(0) if others else torch.zeros_like(own)
            stays = step == "across" and not others
            states.append(own if stays else method.cell(message[None], own[None])[0])
    return states


@pytest.mark.parametrize(
    ("passes", "inside", "across"),
    [(1, 1, 1), (2, 1, 1), (1, 2, 1), (2, 1, 3)],
)
def test_logits_and_gradients_equal_loops(graph: Graph, passes: int, inside: int, across: int) -> None:
    method = random_method(graph, PART, num_passes=passes, steps_inside=inside, steps_across=across)
    schedule = (["inside"] * inside + ["across"] * across) * passes
    rows = torch.cat([torch.stack(slow_states(method, graph, PART, schedule)), graph.features], dim=1)
    slow = rows @ method.output[0].weight + method.output[0].bias
    ours = method(graph).logits
    torch.testing.assert_close(ours, slow)
    gradients = (torch.autograd.grad(logits.square().sum(), list(method.parameters())) for logits in (ours, slow))
    torch.testing.assert_close(*gradients)


def test_a_step_across_changes_only_the_nodes_of_the_cut(graph: Graph) -> None:
    method = random_method(graph, PART)
    (hop,) = graph.receptive_field(None, depth=1).hops
    state = torch.randn(6, 3, dtype=torch.double)
    after = method.update(hop, method.edge_weights(graph)["across"], state, all_nodes=False)
    assert (after != state).any(1).tolist() == [False, True, True, True, False, False]
    everywhere = method.update(hop, method.edge_weights(graph)["inside"], state, all_nodes=True)
    assert (everywhere != state).any(1).all()


def test_part_numbers_follow_the_ids_of_nodes(graph: Graph) -> None:
    order = [3, 5, 0, 1, 2, 4]
    place = {node: position for position, node in enumerate(order)}
    edges = [(place[u], place[v]) for u, v in [(0, 1), (1, 2), (2, 3), (3, 1), (0, 4)]]
    moved = Graph.build(edges, graph.features[order].numpy(), [0] * 6, train=[0])
    moved = replace(moved, features=graph.features[order], node_ids=torch.tensor(order))
    method = random_method(graph, PART)
    torch.testing.assert_close(method(moved).logits, method(graph).logits[order])


def test_with_one_part_it_is_a_ggnn(small_graph: Graph) -> None:
    method = GPNN(Shape.of(small_graph), hidden_dim=5, num_parts=1, num_passes=2, steps_inside=2, steps_across=3)
    twin = GGNN(Shape.of(small_graph), hidden_dim=5, num_steps=4)
    for parameter in method.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    method.setup(small_graph)
    twin.input.load_state_dict(method.input.state_dict())
    twin.cell.load_state_dict(method.cell.state_dict())
    (output,) = method.output
    twin.output.load_state_dict(output.state_dict())
    torch.testing.assert_close(method(small_graph).logits, twin(small_graph).logits)


def test_output_layers_are_of_tanh(graph: Graph) -> None:
    method = random_method(graph, PART, num_output_layers=2, output_dim=4, num_passes=1)
    states = slow_states(method, graph, PART, ["inside", "across"])
    hidden = torch.cat([torch.stack(states), graph.features], dim=1)
    first, second, last = method.output
    hidden = torch.tanh(hidden @ first.weight + first.bias)
    hidden = torch.tanh(hidden @ second.weight + second.bias)
    assert hidden.shape == (6, 4)
    torch.testing.assert_close(method(graph).logits, hidden @ last.weight + last.bias)


def test_parts_are_found_in_setup() -> None:
    edges = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)]
    graph = Graph.build(edges, np.eye(6), [0, 0, 0, 1, 1, 1], train=[0, 3])
    method = GPNN(Shape.of(graph), num_parts=2, partition="flood_fill")
    assert not method.part.any()
    method.setup(graph)
    first, second = method.part[0].item(), method.part[3].item()
    assert method.part.tolist() == [first] * 3 + [second] * 3
    assert {first, second} == {0, 1}


def test_all_parameters_decay(six_nodes: Graph) -> None:
    method = GPNN(Shape.of(six_nodes), weight_decay=0.1)
    (group,) = method.parameter_groups()
    assert group["weight_decay"] == 0.1
    assert len(group["params"]) == len(list(method.parameters())) == 8
