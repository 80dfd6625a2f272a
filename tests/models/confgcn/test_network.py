"""The whole network: its terms against the equations, depth, the guard against odd distances, the control."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from confgcn.exceptions import UsageError
from confgcn.graph import Graph
from confgcn.models.base import Shape
from confgcn.models.confgcn import losses
from confgcn.models.confgcn.influence import SELF_SHARE
from confgcn.models.confgcn.network import ConfGCN
from confgcn.ops import edge_distance

pytestmark = pytest.mark.usefixtures("each_kernels")

RELEASED = {
    "normalisation": "softmax",
    "activation": "identity",
    "bias": False,
    "output": "graph",
    "mu_form": "softmax",
    "precision_form": "elu",
    "label_certainty": "multiplied",
    "quadratic_scale": 0.5,
    "const_over": "labelled",
    "reg_on": "precision",
    "cross": "mean",
    "doubled_l2": 0.1,
}
CONSENSUS = {
    "num_layers": 1,
    "influence": "agreement",
    "normalisation": "walk",
    "mu_form": "softmax",
    "mu_temperature": 0.5,
    "precision_form": "sigmoid",
    "smooth_over": "influence",
    "const_over": "consensus",
    "reg_on": "evidence",
    "cross": "mean",
    "terms": "mean",
}


@pytest.mark.parametrize("settings", [{}, RELEASED], ids=["paper", "released"])
def test_network_and_its_gradients_equal_loops_over_nodes(six_nodes: Graph, settings: dict[str, object]) -> None:
    graph = six_nodes.with_features(six_nodes.features.double())
    method = ConfGCN(Shape.of(graph), hidden_dim=5, **settings).double()
    for parameter in method.parameters():
        torch.nn.init.normal_(parameter, 0.5, 0.3, generator=torch.Generator().manual_seed(len(parameter)))
    prediction = method(graph)
    edges = zip(graph.adjacency.indices.tolist(), graph.adjacency.rows.tolist(), prediction.influence, strict=True)
    edges = list(edges)
    hidden = list(graph.features)
    for number, layer in enumerate(method.layers, start=1):
        rows = [torch.zeros(layer.weight.shape[1], dtype=torch.float64) for _ in range(6)]
        for u, v, r in edges:
            bias = 0 if layer.bias is None else layer.bias
            rows[v] = rows[v] + r * (layer.weight.T @ hidden[u] + bias)
        rectified = not settings and (number < len(method.layers) or method.dense is not None)
        hidden = [torch.relu(row) if rectified else row for row in rows]
    if method.dense is not None:
        hidden = [method.dense.weight @ row + method.dense.bias for row in hidden]
    slow = torch.stack(hidden)
    torch.testing.assert_close(prediction.logits, slow, rtol=1e-9, atol=1e-9)
    parameters = list(method.parameters())
    ours, theirs = (
        torch.autograd.grad(x.square().sum(), parameters, retain_graph=True) for x in (prediction.logits, slow)
    )
    torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-9)


def test_released_scores_are_distributions(six_nodes: Graph) -> None:
    torch.testing.assert_close(ConfGCN(Shape.of(six_nodes), **RELEASED)(six_nodes).mu.sum(1), torch.ones(6))


def test_paper_terms(six_nodes: Graph) -> None:
    weights = {"lambda_smooth": 2.0, "lambda_label": 3.0, "lambda_const": 4.0, "lambda_reg": 5.0}
    method = ConfGCN(Shape.of(six_nodes), gamma=0.5, **weights)
    torch.nn.init.normal_(method.label_distribution.raw_precision)
    prediction = method(six_nodes)
    mu, precision = method.label_distribution.raw_mu, method.label_distribution.raw_precision
    train, labels = six_nodes.train, six_nodes.labels[six_nodes.train]
    one_hot = torch.eye(3)[labels]
    log_probabilities = prediction.logits.log_softmax(-1)
    expected = {
        "cross": -log_probabilities[train, labels].sum(),
        "smooth": 2 * losses.smooth_loss(edge_distance(six_nodes.adjacency, mu, precision)),
        "label": 3 * ((mu[train] - one_hot) ** 2 * (precision[train] + 1 / 0.5)).sum(),
        "const": 4 * ((mu - log_probabilities.exp()) ** 2).sum(),
        "reg": 5 * torch.clamp(-1 / precision, min=0).sum(),
    }
    terms = {name: term.value() for name, term in method.loss_terms(six_nodes, prediction).items()}
    assert terms.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(terms[name], value)


def test_released_terms(six_nodes: Graph) -> None:
    weights = {"lambda_smooth": 2.0, "lambda_label": 3.0, "lambda_const": 4.0, "lambda_reg": 5.0}
    method = ConfGCN(Shape.of(six_nodes), gamma=0.5, **RELEASED, **weights)
    torch.nn.init.normal_(method.label_distribution.raw_precision)
    prediction = method(six_nodes)
    mu = method.label_distribution.raw_mu.softmax(-1)
    precision = torch.nn.functional.elu(method.label_distribution.raw_precision)
    train, labels = six_nodes.train, six_nodes.labels[six_nodes.train]
    one_hot = torch.eye(3)[labels]
    log_probabilities = prediction.logits.log_softmax(-1)
    directed = edge_distance(six_nodes.adjacency, mu, precision)
    expected = {
        "cross": -log_probabilities[train, labels].mean(),
        "smooth": 2 * 0.25 * directed.sum(),
        "label": 3 * 0.5 * ((mu[train] - one_hot) ** 2 * (precision[train] + 0.5)).sum(),
        "const": 4 * ((mu[train] - log_probabilities[train].exp()) ** 2).sum(),
        "reg": 5 * torch.clamp(-precision, min=0).sum(),
    }
    terms = {name: term.value() for name, term in method.loss_terms(six_nodes, prediction).items()}
    assert terms.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(terms[name], value)


def test_every_parameter_decays_by_the_doubled_l2_penalty_where_there_is_one(six_nodes: Graph) -> None:
    method = ConfGCN(Shape.of(six_nodes), **RELEASED)
    (group,) = method.parameter_groups()
    assert group["weight_decay"](3.0) == pytest.approx(4 * 0.05**3 * 3.0)
    assert {id(p) for p in group["params"]} == {id(p) for p in method.parameters()}


def test_a_plain_decay_is_of_the_weights_of_layers_alone(six_nodes: Graph) -> None:
    method = ConfGCN(Shape.of(six_nodes), weight_decay=0.3, confidence_learning_rate=0.2)
    names = {parameter: name for name, parameter in method.named_parameters()}
    groups = [{**group, "params": [names[p] for p in group["params"]]} for group in method.parameter_groups()]
    assert groups == [
        {"params": ["label_distribution.raw_mu", "label_distribution.raw_precision"], "learning_rate": 0.2},
        {"params": ["layers.0.weight", "layers.1.weight", "dense.weight"], "weight_decay": 0.3},
        {"params": ["layers.0.bias", "layers.1.bias", "dense.bias"]},
    ]


def test_by_default_nothing_decays_and_all_have_the_rate_of_the_recipe(six_nodes: Graph) -> None:
    groups = ConfGCN(Shape.of(six_nodes)).parameter_groups()
    assert [group.get("weight_decay", 0.0) for group in groups] == [0.0] * 3
    assert all("learning_rate" not in group for group in groups)


def test_a_zero_weight_removes_a_term(six_nodes: Graph) -> None:
    method = ConfGCN(Shape.of(six_nodes), lambda_const=0.0)
    assert "const" not in method.loss_terms(six_nodes, method(six_nodes))


@pytest.mark.parametrize("num_layers", [1, 2, 5])
@pytest.mark.parametrize("settings", [{}, RELEASED])
def test_any_depth(six_nodes: Graph, num_layers: int, settings: dict[str, object]) -> None:
    method = ConfGCN(Shape.of(six_nodes), num_layers=num_layers, **settings)
    assert len(method.layers) == num_layers
    assert method(six_nodes).logits.shape == (6, 3)


def test_initial_values(six_nodes: Graph) -> None:
    distribution = ConfGCN(Shape.of(six_nodes)).label_distribution
    assert (distribution.raw_precision == 1).all()
    assert distribution.raw_mu.abs().max() <= (6 / (6 + 3)) ** 0.5


def test_identical_scores_give_finite_influence(six_nodes: Graph) -> None:
    method = ConfGCN(Shape.of(six_nodes))
    torch.nn.init.zeros_(method.label_distribution.raw_mu)
    prediction = method(six_nodes)
    assert (prediction.distance == 0).all()
    assert torch.isfinite(prediction.influence).all()


@pytest.mark.parametrize("value", [-0.9, 0.0, 1e30])
def test_released_influence_stays_a_distribution_at_extreme_precisions(six_nodes: Graph, value: float) -> None:
    method = ConfGCN(Shape.of(six_nodes), **RELEASED)
    torch.nn.init.constant_(method.label_distribution.raw_precision, value)
    influence = method(six_nodes).influence
    sums = torch.zeros(6).index_add_(0, six_nodes.adjacency.rows, influence.detach())
    torch.testing.assert_close(sums, torch.ones(6))


def test_uniform_control_differs_only_in_the_influence(six_nodes: Graph) -> None:
    method = ConfGCN(Shape.of(six_nodes), influence="uniform", **RELEASED)
    torch.nn.init.normal_(method.label_distribution.raw_mu)
    degrees = (six_nodes.degrees + 1)[six_nodes.adjacency.rows]
    torch.testing.assert_close(method(six_nodes).influence, 1 / degrees)


def test_a_trained_method_can_be_asked_without_its_influences(six_nodes: Graph) -> None:
    method = ConfGCN(Shape.of(six_nodes), hidden_dim=4)
    torch.nn.init.normal_(method.label_distribution.raw_mu)
    before = method.predict(six_nodes)
    control = method.with_uniform_influence()
    assert (method.influence, control.influence) == ("distance", "uniform")
    for own, shared in zip(method.parameters(), control.parameters(), strict=True):
        assert shared is own
    uniform = control.predict(six_nodes)
    assert uniform.influence.tolist() == [1.0] * six_nodes.adjacency.num_entries
    assert not torch.allclose(uniform.logits, before.logits)
    after = method.predict(six_nodes)
    assert torch.equal(after.logits, before.logits)
    assert torch.equal(after.influence, before.influence)


@pytest.mark.parametrize("changes", [{"node_dropout": 0.5}, {"reg_on": "evidence"}], ids=["node_dropout", "evidence"])
def test_what_needs_a_walk_is_refused_without_steps(six_nodes: Graph, changes: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="need a walk of at least one step"):
        ConfGCN(Shape.of(six_nodes), **changes)
    ConfGCN(Shape.of(six_nodes), steps=1, precision_form="sigmoid", **changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"doubled_l2": 0.1, "weight_decay": 0.1},
        {"doubled_l2": 0.1, "confidence_learning_rate": 0.1},
        {"mu_temperature": 0.5},
        {"reg_on": "evidence", "steps": 1},
    ],
    ids=lambda changes: "-".join(changes),
)
def test_settings_that_would_do_nothing_are_refused(six_nodes: Graph, changes: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        ConfGCN(Shape.of(six_nodes), **changes)


def test_several_steps_predict_all_nodes_whichever_are_asked_for(six_nodes: Graph) -> None:
    method = ConfGCN(Shape.of(six_nodes), steps=2)
    some, everybody = method.predict(six_nodes, six_nodes.test), method.predict(six_nodes)
    assert some.nodes is None
    assert torch.equal(some.logits, everybody.logits)
    assert torch.equal(some.logits_of(six_nodes.test), everybody.logits[six_nodes.test])


@pytest.mark.parametrize("steps", [1, 4])
def test_evidence_is_the_share_of_what_is_heard_that_comes_from_labels(steps: int) -> None:
    edges = [(0, 1), (1, 2), (2, 3), (4, 5)]  # 4 and 5 without a label, 6 isolated, 7 isolated and labelled
    graph = Graph.build(edges, np.eye(8), [0, 1, 0, 1, 0, 1, 0, 1], train=[0, 7])
    method = ConfGCN(Shape.of(graph), steps=steps, **CONSENSUS).double()
    torch.nn.init.normal_(method.label_distribution.raw_mu)
    prediction = method(graph.with_features(graph.features.double()))
    matrix = torch.zeros(8, 8, dtype=torch.float64)
    matrix[graph.adjacency.rows, graph.adjacency.indices] = prediction.influence
    labelled = torch.tensor([1, 0, 0, 0, 0, 0, 0, 1], dtype=torch.float64)
    expected = sum(torch.linalg.matrix_power(matrix, k) @ labelled for k in range(steps + 1)) / (steps + 1)
    torch.testing.assert_close(prediction.evidence, expected)
    assert prediction.evidence[4:7].tolist() == [0.0, 0.0, 0.0]
    assert prediction.evidence[7] == pytest.approx(1.0)
    assert (prediction.evidence[:2] > 0).all()
    assert (prediction.evidence[:2] < 1).all()
    assert bool(prediction.evidence[2] > 0) is (steps > 1)  # two steps away from the label


def test_without_steps_nobody_is_asked_for_evidence(six_nodes: Graph) -> None:
    assert ConfGCN(Shape.of(six_nodes))(six_nodes).evidence is None


def test_consensus_terms(six_nodes: Graph) -> None:
    weights = {"lambda_smooth": 2.0, "lambda_label": 3.0, "lambda_const": 4.0, "lambda_reg": 5.0}
    method = ConfGCN(Shape.of(six_nodes), steps=2, gamma=0.5, **CONSENSUS, **weights)
    for parameter in method.label_distribution.parameters():
        torch.nn.init.normal_(parameter)
    prediction = method(six_nodes)
    raw_mu, raw_precision = method.label_distribution.parameters()
    mu, precision = (raw_mu / 0.5).softmax(-1), raw_precision.sigmoid()
    train, labels = six_nodes.train, six_nodes.labels[six_nodes.train]
    one_hot = torch.eye(3)[labels]
    log_probabilities = prediction.logits.log_softmax(-1)
    probabilities = log_probabilities.exp()
    distance = edge_distance(six_nodes.adjacency, mu, precision)
    counts = losses.PRIOR_FOR + losses.COUNT_OF_EVIDENCE * prediction.evidence[:, None]
    expected = {
        "cross": -log_probabilities[train, labels].mean(),
        "smooth": 2 * (prediction.influence * distance).sum() / 6,
        "label": 3 * ((mu[train] - one_hot) ** 2 * (precision[train] + 1 / 0.5)).sum() / 3,
        "const": 4 * ((mu - probabilities) ** 2 + (raw_mu.softmax(-1) - probabilities) ** 2).sum() / 6,
        "reg": -5 * (counts * precision.log() + losses.PRIOR_AGAINST * (1 - precision).log()).sum() / 6,
    }
    terms = {name: term.value() for name, term in method.loss_terms(six_nodes, prediction).items()}
    assert terms.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(terms[name], value)


def test_predictions_do_not_teach_the_confidences_whom_to_trust(six_nodes: Graph) -> None:
    method = ConfGCN(Shape.of(six_nodes), steps=2, **CONSENSUS)
    method(six_nodes).logits.square().sum().backward()
    assert all(parameter.grad is None for parameter in method.label_distribution.parameters())
    assert all(parameter.grad.any() for parameter in method.layers.parameters())


@pytest.mark.parametrize("const_over", ["consensus", "all", "labelled"])
@pytest.mark.parametrize("steps", [0, 2])
def test_smooth_by_influence_needs_the_influence_on_all_nodes(six_nodes: Graph, const_over: str, steps: int) -> None:
    settings = {"smooth_over": "influence", "lambda_const": 1.0, "const_over": const_over}
    method = ConfGCN(Shape.of(six_nodes), steps=steps, **settings)
    prediction = method(six_nodes, method.nodes_in_loss(six_nodes))
    term = method.loss_terms(six_nodes, prediction)["smooth"]
    everywhere = method(six_nodes)
    torch.testing.assert_close(term.value(), torch.dot(everywhere.distance, everywhere.influence))


@pytest.mark.parametrize("rate", ["dropout", "node_dropout"])
def test_what_is_dropped_in_training_is_there_in_predictions(six_nodes: Graph, rate: str) -> None:
    method = ConfGCN(Shape.of(six_nodes), steps=2, **CONSENSUS, **{rate: 0.5})
    sure = method.predict(six_nodes).logits
    method.train()
    assert not torch.equal(method(six_nodes).logits, method(six_nodes).logits)
    plain = ConfGCN(Shape.of(six_nodes), steps=2, **CONSENSUS)
    plain.load_state_dict(method.state_dict())
    assert torch.equal(plain.predict(six_nodes).logits, sure)


def test_consensus_can_be_asked_without_its_influences(six_nodes: Graph) -> None:
    method = ConfGCN(Shape.of(six_nodes), steps=2, **CONSENSUS)
    torch.nn.init.normal_(method.label_distribution.raw_mu)
    before = method.predict(six_nodes)
    control = method.with_uniform_influence()
    uniform = control.predict(six_nodes)
    is_loop = six_nodes.adjacency.indices == six_nodes.adjacency.rows
    degrees = six_nodes.degrees[six_nodes.adjacency.rows]
    expected = torch.where(is_loop, torch.where(degrees > 0, SELF_SHARE, 1.0), (1 - SELF_SHARE) / degrees)
    torch.testing.assert_close(uniform.influence, expected)
    assert not torch.allclose(uniform.logits, before.logits)
    for own, shared in zip(method.parameters(), control.parameters(), strict=True):
        assert shared is own
    assert torch.equal(method.predict(six_nodes).influence, before.influence)


@pytest.mark.parametrize("steps", [0, 2])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_consensus_has_its_share_once_training_is_over(six_nodes: Graph, share: float, steps: int) -> None:
    method = ConfGCN(Shape.of(six_nodes), steps=steps, mu_form="softmax", mu_temperature=0.5, consensus_share=share)
    torch.nn.init.normal_(method.label_distribution.raw_mu)
    network = method.train()(six_nodes).logits.detach().softmax(1)
    consensus = method.label_distribution.raw_mu.detach().softmax(1)
    predicted = method.eval()(six_nodes)
    torch.testing.assert_close(predicted.logits.softmax(1), (1 - share) * network + share * consensus)
    some = method(six_nodes, six_nodes.test)
    torch.testing.assert_close(some.logits_of(six_nodes.test), predicted.logits[six_nodes.test])


@pytest.mark.parametrize("rate", [0.0, 0.5])
def test_of_the_printed_network_only_the_inputs_of_graph_layers_are_dropped(six_nodes: Graph, rate: float) -> None:
    method = ConfGCN(Shape.of(six_nodes), num_layers=1, hidden_dim=64, dropout=rate)
    torch.nn.init.ones_(method.layers[0].bias)
    torch.nn.init.zeros_(method.layers[0].weight)  # nothing of the input is left
    assert torch.equal(method(six_nodes).logits, method(six_nodes).logits)
