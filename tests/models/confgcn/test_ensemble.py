"""The weighted mean of propagated models: shares, temperatures, teachers, and weights that are read again."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
import torch
from torch import Tensor

from confgcn.exceptions import UsageError
from confgcn.graph import Graph
from confgcn.models.base import Shape
from confgcn.models.confgcn.ensemble import PropagatedEnsemble
from confgcn.models.confgcn.propagated import PropagatedConfGCN
from confgcn.models.confgcn.propagation import uniform_propagation
from confgcn.training.seed import seeded

UNIFORM: dict[str, Any] = {"influence": "uniform"}
OTHER: dict[str, Any] = {"influence": "uniform", "channels": "own", "num_layers": 1}
LEARNED: dict[str, Any] = {"influence": "learned", "order": 3}


def members_of(graph: Graph, options: list[dict[str, Any]]) -> list[PropagatedConfGCN]:
    with seeded(0):
        return [PropagatedConfGCN(Shape.of(graph), **each).eval() for each in options]


def ensemble_of(
    graph: Graph,
    options: list[dict[str, Any]],
    shares: list[float],
    inverse_temperatures: list[float],
    offsets: list[list[float]] | None = None,
) -> PropagatedEnsemble:
    rows = torch.zeros(len(shares), graph.num_classes) if offsets is None else torch.tensor(offsets)
    return PropagatedEnsemble.of(members_of(graph, options), options, shares, inverse_temperatures, list(rows.double()))


def alone(
    graph: Graph, member: PropagatedConfGCN, inverse_temperature: float, offsets: list[float] | None = None
) -> Tensor:
    logits = inverse_temperature * member.predict(graph).logits
    return (logits if offsets is None else logits + torch.tensor(offsets)).softmax(-1)


def test_the_prediction_is_the_mean_by_shares_each_at_its_temperature_and_offsets(small_graph: Graph) -> None:
    graph, offsets = small_graph.training_view(), [[1.0, 0.0, -1.0, 0.0], [0.0, 0.0, 0.5, -0.5]]
    ensemble = ensemble_of(graph, [UNIFORM, OTHER], [0.25, 0.75], [0.5, 10.0], offsets)
    first, second = ensemble.members
    mu = 0.25 * alone(graph, first, 0.5, offsets[0]) + 0.75 * alone(graph, second, 10.0, offsets[1])
    prediction = ensemble.predict(graph)
    torch.testing.assert_close(prediction.mu, mu)
    torch.testing.assert_close(prediction.logits.softmax(-1), mu)
    evidence = 0.25 * first.evidence(graph) + 0.75 * second.evidence(graph)
    torch.testing.assert_close(prediction.evidence, evidence)


def test_some_nodes_are_predicted_as_among_all(small_graph: Graph) -> None:
    graph, nodes = small_graph.training_view(), torch.tensor([7, 3])
    ensemble = ensemble_of(graph, [UNIFORM, LEARNED], [0.5, 0.5], [1.0, 1.0])
    torch.testing.assert_close(ensemble.predict(graph, nodes).logits, ensemble.predict(graph).logits[nodes])


def test_members_with_uniform_influence_teach_those_with_learned_influence(small_graph: Graph) -> None:
    ensemble = ensemble_of(small_graph, [UNIFORM, LEARNED, OTHER], [0.2, 0.5, 0.3], [1.0, 1.0, 1.0])
    first, second, third = ensemble.members
    assert second.teacher.models == (first, third)
    assert first.teacher is third.teacher is None
    graph = small_graph.training_view()
    assert torch.equal(ensemble.predict(graph).influence, second.teacher.propagation(graph).influence)


def test_a_teacher_of_share_zero_gives_influences_and_no_prediction(small_graph: Graph) -> None:
    graph = small_graph.training_view()
    ensemble = ensemble_of(graph, [UNIFORM, LEARNED], [0.0, 1.0], [1.0, 1.0])
    prediction = ensemble.predict(graph)
    torch.testing.assert_close(prediction.mu, alone(graph, ensemble.members[1], 1.0))
    assert not torch.equal(prediction.influence, uniform_propagation(graph).influence)


def test_influence_is_uniform_where_members_that_learned_it_have_no_share(small_graph: Graph) -> None:
    graph = small_graph.training_view()
    ensemble = ensemble_of(graph, [UNIFORM, LEARNED], [1.0, 0.0], [1.0, 1.0])
    assert torch.equal(ensemble.predict(graph).influence, uniform_propagation(graph).influence)


def test_the_uniform_control_has_the_same_weights_and_leaves_the_ensemble_as_it_is(small_graph: Graph) -> None:
    graph = small_graph.training_view()
    offsets = [[0.0, 1.0, 0.0, -1.0], [0.5, 0.0, 0.0, 0.0]]
    ensemble = ensemble_of(graph, [UNIFORM, LEARNED], [0.3, 0.7], [1.0, 2.0], offsets)
    before = ensemble(graph).logits
    control = ensemble.with_uniform_influence()
    prediction = control.predict(graph)
    assert torch.equal(prediction.influence, uniform_propagation(graph).influence)
    assert not torch.equal(prediction.logits, before)
    weights = control.state_dict()
    assert all(torch.equal(value, weights[name]) for name, value in ensemble.state_dict().items())
    assert torch.equal(ensemble(graph).logits, before)  # no dropout is switched on either


def test_weights_that_are_read_again_give_the_same_prediction(small_graph: Graph) -> None:
    graph, options = small_graph.training_view(), [UNIFORM, OTHER, LEARNED]
    offsets = [[0.1, -0.1, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, -2.0]]
    ensemble = ensemble_of(graph, options, [0.2, 0.0, 0.8], [1.0, 3.0, 0.5], offsets)
    with seeded(1):
        twin = PropagatedEnsemble(Shape.of(graph), ensemble.member_options)
    stale = twin.predict(graph)  # influences of other weights must not be kept
    twin.load_state_dict(ensemble.state_dict())
    found, expected = twin.predict(graph), ensemble.predict(graph)
    assert torch.equal(found.logits, expected.logits)
    assert torch.equal(found.influence, expected.influence)
    assert not torch.equal(found.influence, stale.influence)


def test_a_pickled_ensemble_predicts_the_same(small_graph: Graph) -> None:
    graph = small_graph.training_view()
    offsets = [[0.0, 0.0, 0.0, 1.0], [2.0, 0.0, 0.0, 0.0]]
    ensemble = ensemble_of(graph, [UNIFORM, LEARNED], [0.5, 0.5], [2.0, 1.0], offsets)
    expected = ensemble.predict(graph).logits
    assert torch.equal(pickle.loads(pickle.dumps(ensemble)).predict(graph).logits, expected)  # noqa: S301


def test_new_members_have_equal_shares_and_unchanged_logits(small_graph: Graph) -> None:
    ensemble = PropagatedEnsemble(Shape.of(small_graph), [UNIFORM, OTHER])
    assert (ensemble.shares.tolist(), ensemble.inverse_temperatures.tolist()) == ([0.5, 0.5], [1.0, 1.0])
    assert ensemble.offsets.tolist() == [[0.0] * 4] * 2
    assert ensemble.member_options == [UNIFORM, OTHER]


def test_an_ensemble_is_not_trained(small_graph: Graph) -> None:
    ensemble = ensemble_of(small_graph, [UNIFORM], [1.0], [1.0]).train()
    with pytest.raises(UsageError, match="trained members"):
        ensemble(small_graph)
