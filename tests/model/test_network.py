"""The whole network: its terms against the equations, depth, the guard against odd distances, the control."""

from __future__ import annotations

import pytest
import torch

from confgcn.graph import Graph
from confgcn.method import Shape
from confgcn.model import losses
from confgcn.model.network import ConfGCN
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
    (group,) = ConfGCN(Shape.of(six_nodes), **RELEASED).parameter_groups()
    assert group["weight_decay"](3.0) == pytest.approx(4 * 0.05**3 * 3.0)
    (group,) = ConfGCN(Shape.of(six_nodes)).parameter_groups()
    assert group["weight_decay"] == 0.0


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
