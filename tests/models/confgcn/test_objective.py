"""The gradient of the whole objective against torch's own, of the same equations written without our operators."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from confgcn.data.synthetic import block_model
from confgcn.graph import Graph
from confgcn.models.base import Shape
from confgcn.models.confgcn.network import ConfGCN
from confgcn.runs.settings import resolve

pytestmark = pytest.mark.usefixtures("each_kernels")

WEIGHTS = {"lambda_smooth": 0.2, "lambda_label": 0.3, "lambda_const": 0.4, "lambda_reg": 0.5, "gamma": 0.7}
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}


def settings_of(preset: str, **changes: Any) -> dict[str, Any]:
    changes = {**WEIGHTS, "dropout": 0.0, "hidden_dim": 5, "distance_offset": 2.0, **changes}
    return resolve("confgcn", preset, "pubmed", changes).model


OBJECTIVES = {
    "paper": settings_of("paper"),
    "paper, labelled": settings_of("paper", const_over="labelled"),
    "released": settings_of("released"),
    "released, three layers": settings_of("released", num_layers=3),
}


@pytest.fixture
def graph() -> Graph:
    """Few labels and few edges, so that the labels do not read every node; one node is isolated."""
    graph = block_model(80, num_features=6, mean_degree=1.5, seed=2, per_class=2)
    assert (graph.degrees == 0).any()
    return graph


def slow_objective(graph: Graph, settings: dict[str, Any], p: dict[str, Tensor]) -> Tensor:
    """The objective of the parameters ``p``, in their type of number."""
    source, target = graph.adjacency.indices, graph.adjacency.rows
    mu, precision = p["label_distribution.raw_mu"], p["label_distribution.raw_precision"]
    if settings["mu_form"] == "softmax":
        mu = torch.stack([row.softmax(0) for row in mu])
    if settings["precision_form"] == "elu":
        precision = functional.elu(precision)
    distance = ((mu[source] - mu[target]) ** 2 * (precision[source] + precision[target])).sum(1)
    weights = 1 / (distance + settings["distance_offset"])
    if settings["normalisation"] == "softmax":
        weights = torch.cat([weights[target == v].softmax(0) for v in range(graph.num_nodes)])
    logits = _slow_logits(graph, settings, p, weights)
    return sum(_slow_terms(graph, settings, mu, precision, distance, logits))


def _slow_logits(graph: Graph, settings: dict[str, Any], p: dict[str, Tensor], weights: Tensor) -> Tensor:
    source, target = graph.adjacency.indices, graph.adjacency.rows
    hidden = graph.features.to(weights.dtype)
    for layer in range(settings["num_layers"]):
        message = hidden @ p[f"layers.{layer}.weight"] + (p[f"layers.{layer}.bias"] if settings["bias"] else 0)
        sums = message.new_zeros(message.shape).index_add(0, target, weights.unsqueeze(1) * message[source])
        hidden = sums.relu() if settings["activation"] == "relu" else sums
    return hidden @ p["dense.weight"].T + p["dense.bias"] if settings["output"] == "dense" else hidden


def _slow_terms(
    graph: Graph, settings: dict[str, Any], mu: Tensor, precision: Tensor, distance: Tensor, logits: Tensor
) -> list[Tensor]:
    train, labels = graph.train, graph.labels[graph.train]
    one_hot = torch.eye(graph.num_classes, dtype=mu.dtype)[labels]
    log_probabilities = logits.log_softmax(1)
    cross = -log_probabilities[train, labels]
    certainty = settings["gamma"] if settings["label_certainty"] == "multiplied" else 1 / settings["gamma"]
    far = (mu - log_probabilities.exp()) ** 2
    diagonal = 1 / precision if settings["reg_on"] == "covariance" else precision
    scale = settings["quadratic_scale"]
    return [
        cross.mean() if settings["cross"] == "mean" else cross.sum(),
        settings["lambda_smooth"] * scale * 0.5 * distance.sum(),
        settings["lambda_label"] * scale * ((mu[train] - one_hot) ** 2 * (precision[train] + certainty)).sum(),
        settings["lambda_const"] * (far if settings["const_over"] == "all" else far[train]).sum(),
        settings["lambda_reg"] * (-diagonal).clamp(min=0).sum(),
    ]


def with_decay(method: ConfGCN, gradients: tuple[Tensor, ...]) -> list[Tensor]:
    """What the optimiser goes down: the gradients, and the share of each weight that decays."""
    decays = {w: group.get("weight_decay", 0.0) for group in method.parameter_groups() for w in group["params"]}
    shares = {w: d(float(w.detach().square().sum())) if callable(d) else d for w, d in decays.items()}
    return [g + shares[w] * w.detach() for g, w in zip(gradients, method.parameters(), strict=True)]


@pytest.mark.parametrize("pruned", [True, False], ids=["pruned", "all nodes"])
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("settings", OBJECTIVES.values(), ids=OBJECTIVES.keys())
def test_gradient_equals_that_of_plain_torch(
    graph: Graph, settings: dict[str, Any], dtype: torch.dtype, pruned: bool
) -> None:
    graph = graph.with_features(graph.features.to(dtype))
    method = ConfGCN(Shape.of(graph), **settings).to(dtype)
    for parameter in method.parameters():
        torch.nn.init.normal_(parameter, 0.0, 0.5)
    raw_mu, raw_precision = method.label_distribution.parameters()
    raw_mu.data *= 0.5  # no distance comes near to minus the offset,
    raw_precision.data += 0.2 * raw_precision.sign()  # and no precision to zero: both would drown all else
    prediction = method(graph, method.nodes_in_loss(graph) if pruned else None)
    assert (prediction.precision < 0).any()
    assert -1.5 < prediction.distance.min() < 0
    assert len(prediction.logits) == (len(graph.train) if pruned and settings["const_over"] != "all" else 80)
    objective = sum(term.value() for term in method.loss_terms(graph, prediction).values())
    wide = {name: value.detach().double().requires_grad_() for name, value in method.named_parameters()}
    expected = slow_objective(graph, settings, wide)
    assert objective.item() == pytest.approx(expected.item(), rel=TOLERANCE[dtype])
    ours = with_decay(method, torch.autograd.grad(objective, list(method.parameters())))
    half = settings["doubled_l2"] / 2
    penalty = sum(half * (half * w.square().sum()) ** 2 for w in wide.values())
    theirs = torch.autograd.grad(expected + penalty, list(wide.values()))
    for name, one, other in zip(wide, ours, theirs, strict=True):
        assert (one.double() - other).norm() < TOLERANCE[dtype] * other.norm(), name


def slow_consensus_objective(graph: Graph, settings: dict[str, Any], p: dict[str, Tensor]) -> Tensor:
    """The same for the preset ``consensus``; what it does not let learn is detached."""
    source, target = graph.adjacency.indices, graph.adjacency.rows
    raw_mu, precision = p["label_distribution.raw_mu"], p["label_distribution.raw_precision"].sigmoid()
    consensus, mu = raw_mu.softmax(1), (raw_mu / settings["mu_temperature"]).softmax(1)
    distance = ((mu[source] - mu[target]) ** 2 * (precision[source] + precision[target])).sum(1)
    trust = _slow_trust(graph, settings, mu, precision, distance).detach()  # (N, N), to v from u
    walk = sum(torch.linalg.matrix_power(trust, k) for k in range(settings["steps"] + 1)) / (settings["steps"] + 1)
    hidden = graph.features.to(mu.dtype)
    for layer in range(settings["num_layers"]):
        hidden = (walk @ (hidden @ p[f"layers.{layer}.weight"] + p[f"layers.{layer}.bias"])).relu()
    log_probabilities = (hidden @ p["dense.weight"].T + p["dense.bias"]).log_softmax(1)
    probabilities = log_probabilities.exp()
    evidence = walk[:, graph.train].sum(1, keepdim=True)
    train, labels = graph.train, graph.labels[graph.train]
    far = (mu[train] - torch.eye(graph.num_classes, dtype=mu.dtype)[labels]) ** 2
    pulls = (probabilities - mu.detach()) ** 2 + (consensus - probabilities.detach()) ** 2
    terms = {
        "smooth": (trust[target, source] * distance).sum() / graph.num_nodes,
        "label": (far * (precision[train] + 1 / settings["gamma"])).sum() / len(train),
        "const": pulls.sum() / graph.num_nodes,
        "reg": -((0.5 + 10 * evidence) * precision.log() + 0.1 * (1 - precision).log()).sum() / graph.num_nodes,
    }
    penalty = sum(w.square().sum() for name, w in p.items() if name.endswith(".weight"))
    weighted = [settings[f"lambda_{name}"] * term for name, term in terms.items()]
    return sum(weighted) - log_probabilities[train, labels].mean() + settings["weight_decay"] / 2 * penalty


def _slow_trust(graph: Graph, settings: dict[str, Any], mu: Tensor, precision: Tensor, distance: Tensor) -> Tensor:
    source, target = graph.adjacency.indices, graph.adjacency.rows
    a = (mu[source] * (precision[source] + precision[target]) * mu[target]).sum(1) / 2
    odds = (graph.num_classes - 1) * a
    c = settings["distance_offset"]
    scores = odds / (odds + 1 - a) if settings["influence"] == "agreement" else c / (distance + c)
    matrix = mu.new_zeros(graph.num_nodes, graph.num_nodes)
    matrix[target, source] = 0.8 * scores / graph.degrees.clamp(min=1)[target]
    matrix.fill_diagonal_(0.0)
    return matrix + torch.diag(1 - matrix.sum(1))


CONSENSUS_OBJECTIVES = {
    "consensus": settings_of("consensus", node_dropout=0.0),
    "three steps, two layers": settings_of("consensus", node_dropout=0.0, steps=3, num_layers=2),
    "influence by distance": settings_of("consensus", node_dropout=0.0, influence="distance"),
    "more decay": settings_of("consensus", node_dropout=0.0, weight_decay=0.3),
}


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("settings", CONSENSUS_OBJECTIVES.values(), ids=CONSENSUS_OBJECTIVES.keys())
def test_gradient_of_consensus_equals_that_of_plain_torch(
    graph: Graph, settings: dict[str, Any], dtype: torch.dtype
) -> None:
    graph = graph.with_features(graph.features.to(dtype))
    method = ConfGCN(Shape.of(graph), **settings).to(dtype)
    for parameter in method.parameters():
        torch.nn.init.normal_(parameter, 0.0, 0.5)
    prediction = method(graph, method.nodes_in_loss(graph))
    assert (prediction.influence > 0).all()
    assert prediction.evidence.min() == 0
    objective = sum(term.value() for term in method.loss_terms(graph, prediction).values())
    wide = {name: value.detach().double().requires_grad_() for name, value in method.named_parameters()}
    expected = slow_consensus_objective(graph, settings, wide)
    ours = with_decay(method, torch.autograd.grad(objective, list(method.parameters())))
    theirs = torch.autograd.grad(expected, list(wide.values()))
    penalty = settings["weight_decay"] / 2 * sum(w.square().sum() for n, w in wide.items() if n.endswith(".weight"))
    assert objective.item() == pytest.approx((expected - penalty).item(), rel=TOLERANCE[dtype])
    for name, one, other in zip(wide, ours, theirs, strict=True):
        assert (one.double() - other).norm() < TOLERANCE[dtype] * other.norm(), name
