"""Contributions by propagation rows, against models that see a graph without the contribution."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from confgcn.graph import Graph
from confgcn.graph.propagation_rows import PropagationRows
from confgcn.models.base import Contributions, Shape
from confgcn.models.confgcn.ensemble import PropagatedEnsemble
from confgcn.models.confgcn.label_channel import (
    FAR_DECAY,
    FAR_STEPS,
    far_label_channel,
    label_channel,
    label_channel_of_rows,
    label_rows,
)
from confgcn.models.confgcn.propagated import PropagatedConfGCN
from confgcn.models.confgcn.row_contributions import Member

EDGES = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (1, 5), (6, 7)]
OPTIONS: list[dict[str, Any]] = [
    {"channels": "summed", "order": 3},
    {"channels": "summed", "order": 3, "unit_length": False, "num_layers": 1},
    {"channels": "apart", "normalise": "columns"},
    {"channels": "apart", "label_channel": True},
    {"channels": "own", "label_channel": True},
    {"channels": "labels", "normalise": "columns"},
]


@pytest.fixture
def graph() -> Graph:
    features = np.random.default_rng(0).normal(size=(8, 4))
    return Graph.build(EDGES, features, [0, 1, 2, 0, 1, 2, 0, 1], train=[0, 1, 2, 3], test=[4]).training_view()


def model_for(graph: Graph, options: dict[str, Any]) -> PropagatedConfGCN:
    torch.manual_seed(1)
    model = PropagatedConfGCN(Shape.of(graph), **options)
    model.setup(graph)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape) / 2)
    return model.eval()


def found(model: Any, graph: Graph, node: int, limit: int = 50) -> Contributions:
    with model.evaluating():
        contributions: Contributions = model.contributions(graph, node, limit=limit)
    return contributions


def rows_without(model: PropagatedConfGCN, graph: Graph, node: int, is_kept: Any) -> Tensor:
    """The log-probabilities of a node where rows hold only the nodes that ``is_kept`` is true for."""
    copy = replace(graph)
    inputs = model.inputs(copy)
    tables = []
    for table in inputs.tables:
        if table is not None:
            weights = table.weights.clone()
            for place, other in enumerate(table.indices[node].tolist()):
                if not is_kept(other):
                    weights[node, place] = 0.0
            table = PropagationRows(table.indices, weights)
        tables.append(table)
    labels = list(inputs.labels)
    if labels:
        is_seen = torch.tensor([is_kept(int(other)) or int(other) == node for other in graph.train])
        labels[0] = label_channel(replace(graph, train=graph.train[is_seen]))
    if len(labels) > 1:
        labels[1] = labels[1].clone()
        labels[1][node] = far_labels(graph, [other for other in graph.train.tolist() if is_kept(other)], node)
    model._inputs = replace(inputs, tables=tuple(tables), labels=tuple(labels))
    with torch.no_grad():
        logits: Tensor = model(copy).logits[node]
    return logits.double().log_softmax(-1)


def far_labels(graph: Graph, seen: list[int], node: int) -> Tensor:
    """The far label channel of a node that sees these labels and not its own, by powers of a dense matrix."""
    edges = torch.from_numpy(graph.neighbours.with_ones().to_scipy().toarray()).double()
    walk = edges / edges.sum(1, keepdim=True).clamp(min=1.0)
    weights = [(1.0 - FAR_DECAY) ** k for k in range(1, FAR_STEPS + 1)]
    row = sum(weight * torch.linalg.matrix_power(walk, k)[node] for k, weight in enumerate(weights, start=1))
    assert isinstance(row, Tensor)
    sums = torch.zeros(graph.num_classes, dtype=torch.double)
    for other in seen:
        sums[graph.labels[other]] += row[other] / sum(weights) * (other != node)
    share = sums.sum()
    distribution = sums / share if share else torch.full_like(sums, 1.0 / len(sums))
    return torch.cat([distribution, share[None]]).float()


def test_labels_by_powers_of_the_matrix_are_those_of_the_far_channel(graph: Graph) -> None:
    channel = far_label_channel(graph)
    for node in range(graph.num_nodes):  # four training nodes: each is a fold of its own
        torch.testing.assert_close(far_labels(graph, graph.train.tolist(), node), channel[node])


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("node", [0, 2, 4])
def test_a_node_is_left_out_of_all_rows_and_labels(graph: Graph, options: dict[str, Any], node: int) -> None:
    model = model_for(graph, options)
    contributions = found(model, graph, node)
    expected = model.predict(graph).logits[node].double().log_softmax(-1)
    torch.testing.assert_close(contributions.log_probabilities, expected, atol=1e-5, rtol=1e-5)
    assert len(contributions.nodes)
    assert node not in contributions.nodes
    for place, other in enumerate(contributions.nodes.tolist()):
        without = rows_without(model, graph, node, lambda kept, other=other: kept != other)
        torch.testing.assert_close(contributions.without[place], without, atol=1e-5, rtol=1e-5)
    alone = rows_without(model, graph, node, lambda kept: kept == node)
    torch.testing.assert_close(contributions.without_all, alone, atol=1e-5, rtol=1e-5)
    assert not torch.allclose(contributions.without_all, expected, atol=1e-3)


def test_without_others_the_own_features_are_left(graph: Graph) -> None:
    model = model_for(graph, OPTIONS[0])
    apart = Graph.build([(6, 7)], np.asarray(graph.features), graph.labels.numpy(), train=[0, 1, 2, 3])
    alone = model.predict(apart.training_view()).logits[0].double().log_softmax(-1)
    torch.testing.assert_close(found(model, graph, 0).without_all, alone, atol=1e-5, rtol=1e-5)


def test_nodes_at_any_distance_within_the_order_contribute_by_their_weight(graph: Graph) -> None:
    model = model_for(graph, {"channels": "summed", "order": 2, "decay": 0.5})
    contributions = found(model, graph, 0)
    assert set(contributions.nodes.tolist()) == {1, 2, 3, 4, 5}
    table = model.inputs(graph).tables[0]
    assert table is not None
    row = dict(zip(table.indices[0].tolist(), table.normalised().weights[0].tolist(), strict=True))
    for node, weight in zip(contributions.nodes.tolist(), contributions.weights.tolist(), strict=True):
        assert weight == pytest.approx(row[node])
    assert contributions.weights.tolist() == sorted(contributions.weights.tolist(), reverse=True)
    influence = dict(zip(contributions.nodes.tolist(), contributions.influence.tolist(), strict=True))
    assert influence[1] == pytest.approx(1 / 3)  # of two neighbours and the node itself
    assert influence[2] == 0.0
    fewer = found(model, graph, 0, limit=2)
    assert fewer.nodes.tolist() == contributions.nodes[:2].tolist()
    assert fewer.not_tried == 3
    torch.testing.assert_close(fewer.without, contributions.without[:2])


@pytest.mark.parametrize("options", [OPTIONS[3], OPTIONS[5]], ids=str)
def test_the_label_of_the_node_itself_changes_nothing(graph: Graph, options: dict[str, Any]) -> None:
    model = model_for(graph, options)
    other = graph.labels.clone()
    other[0] = 2
    one, two = found(model, graph, 0), found(model, replace(graph, labels=other), 0)
    assert one.nodes.tolist() == two.nodes.tolist()
    assert torch.equal(one.without, two.without)
    assert torch.equal(one.log_probabilities, two.log_probabilities)


def test_the_rows_of_the_label_channel_are_those_of_one_and_two_steps(graph: Graph) -> None:
    whole = label_channel(graph)
    for node in range(8):
        rows = label_rows(graph, node)
        assert all(not table.weights[table.indices == node].any() for table in rows)
        torch.testing.assert_close(label_channel_of_rows(graph, node, rows)[0], whole[node])


def test_probabilities_of_a_member_have_its_temperature_and_offsets(graph: Graph) -> None:
    logits = torch.tensor([[4.0, 0.0, 0.0], [0.0, 0.0, 2.0]])
    member = Member(model_for(graph, OPTIONS[0]), 0.3, 0.5, torch.tensor([0.0, 1.0, -1.0]))
    expected = torch.tensor([[2.0, 1.0, -1.0], [0.0, 1.0, 0.0]]).exp()
    torch.testing.assert_close(member.probabilities(logits), expected / expected.sum(1, keepdim=True))
    torch.testing.assert_close(Member(member.model).probabilities(logits), logits.softmax(-1))


def test_an_ensemble_leaves_a_node_out_of_the_rows_of_every_member(graph: Graph) -> None:
    options = [OPTIONS[0], OPTIONS[2], OPTIONS[4]]
    members = [model_for(graph, each) for each in options]
    offsets = torch.tensor([[0.0, 0.5, -0.5], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    ensemble = PropagatedEnsemble.of(members, options, [0.25, 0.75, 0.0], [0.5, 2.0, 1.0], list(offsets)).eval()
    contributions = found(ensemble, graph, 0)
    expected = ensemble.predict(graph).logits[0].double().log_softmax(-1)
    torch.testing.assert_close(contributions.log_probabilities, expected, atol=1e-5, rtol=1e-5)
    own = [found(member, graph, 0) for member in members[:2]]
    for place, node in enumerate(contributions.nodes.tolist()):
        weight, probabilities = 0.0, torch.zeros(3, dtype=torch.double)
        for each, share, inverse, offset in zip(own, (0.25, 0.75), (0.5, 2.0), offsets[:2], strict=True):
            is_it = each.nodes == node
            without = each.without[is_it][0] if is_it.any() else each.log_probabilities
            weight += share * float(each.weights[is_it].sum())
            probabilities += share * (inverse * without + offset).softmax(-1)
        torch.testing.assert_close(contributions.without[place], probabilities.log(), atol=1e-5, rtol=1e-5)
        assert float(contributions.weights[place]) == pytest.approx(weight)


def test_a_model_of_own_features_has_no_contributions(graph: Graph) -> None:
    contributions = found(model_for(graph, {"channels": "own"}), graph, 0)
    assert len(contributions.nodes) == len(contributions.without) == 0
    assert torch.equal(contributions.without_all, contributions.log_probabilities)
