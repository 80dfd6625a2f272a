"""The authors' code against the same equations in plain torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from confgcn.data.synthetic import block_model
from confgcn.exceptions import UsageError
from confgcn.graph import Graph
from confgcn.models.base import Shape
from confgcn.models.confgcn.released import ReleasedConfGCN

pytestmark = pytest.mark.usefixtures("each_kernels")

WEIGHTS = {"lambda_smooth": 0.2, "lambda_label": 0.3, "lambda_const": 0.4, "lambda_reg": 0.5, "gamma": 0.7}
STRENGTH = 0.1  # of the doubled L2 penalty
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}


def slow_objective(graph: Graph, options: dict[str, Any], p: dict[str, Tensor]) -> Tensor:
    """L of the parameters ``p``, without the penalty."""
    source, target = graph.adjacency.indices, graph.adjacency.rows
    mu, precision = p["label_distribution.raw_mu"].softmax(1), functional.elu(p["label_distribution.raw_precision"])
    distance = ((mu[source] - mu[target]) ** 2 * (precision[source] + precision[target])).sum(1)
    influence = torch.cat([(1 / (distance[target == v] + 2.0)).softmax(0) for v in range(graph.num_nodes)])
    hidden, depth = graph.features.double(), options.get("num_layers", 2)
    for layer in range(depth):
        message = hidden @ p[f"layers.{layer}.weight"]
        hidden = message.new_zeros(message.shape).index_add(0, target, influence[:, None] * message[source])
        if options.get("activation") == "relu" and layer < depth - 1:
            hidden = hidden.relu()
    log_probabilities = hidden.log_softmax(1)
    train, labels = graph.train, graph.labels[graph.train]
    far = (mu[train] - torch.eye(graph.num_classes, dtype=mu.dtype)[labels]) ** 2
    differences = (mu - log_probabilities.exp()) ** 2
    cross = -log_probabilities[train, labels].mean()
    smooth = 0.25 * distance.sum()
    label = 0.5 * (far * (precision[train] + WEIGHTS["gamma"])).sum()
    const = (differences if options.get("const_over") == "all" else differences[train]).sum()
    reg = (-precision).clamp(min=0).sum()
    return cross + 0.2 * smooth + 0.3 * label + 0.4 * const + 0.5 * reg


@pytest.mark.parametrize("pruned", [True, False], ids=["pruned", "all nodes"])
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("options", [{}, {"num_layers": 3}, {"activation": "relu"}, {"const_over": "all"}], ids=str)
def test_objective_and_gradient_equal_those_of_plain_torch(
    options: dict[str, Any], dtype: torch.dtype, pruned: bool
) -> None:
    graph = block_model(80, num_features=6, mean_degree=1.5, seed=2, per_class=2)
    graph = graph.with_features(graph.features.to(dtype))
    settings = {"hidden_dim": 5, "distance_offset": 2.0, "doubled_l2": STRENGTH, **WEIGHTS, **options}
    method = ReleasedConfGCN(Shape.of(graph), **settings).to(dtype)
    for parameter in method.parameters():
        torch.nn.init.normal_(parameter, 0.0, 0.5)
    prediction = method(graph, method.nodes_in_loss(graph) if pruned else None)
    assert len(prediction.logits) == (len(graph.train) if pruned and "const_over" not in options else 80)
    objective = sum(term.value() for term in method.loss_terms(graph, prediction).values())
    wide = {name: value.detach().double().requires_grad_() for name, value in method.named_parameters()}
    expected = slow_objective(graph, options, wide)
    assert objective.item() == pytest.approx(expected.item(), rel=TOLERANCE[dtype])
    (group,) = method.parameter_groups()
    penalty = sum(STRENGTH / 2 * (STRENGTH / 2 * w.square().sum()) ** 2 for w in wide.values())
    theirs = torch.autograd.grad(expected + penalty, list(wide.values()))
    for parameter, other in zip(method.parameters(), theirs, strict=True):
        decay = group["weight_decay"](float(parameter.detach().square().sum()))
        (gradient,) = torch.autograd.grad(objective, parameter, retain_graph=True)
        ours = gradient + decay * parameter.detach()
        assert (ours.double() - other).norm() < TOLERANCE[dtype] * other.norm()


def test_label_scores_are_distributions(six_nodes: Graph) -> None:
    torch.testing.assert_close(ReleasedConfGCN(Shape.of(six_nodes))(six_nodes).mu.sum(1), torch.ones(6))


def test_every_parameter_decays_by_the_doubled_l2_penalty(six_nodes: Graph) -> None:
    method = ReleasedConfGCN(Shape.of(six_nodes), doubled_l2=STRENGTH)
    (group,) = method.parameter_groups()
    assert group["weight_decay"](3.0) == pytest.approx(4 * 0.05**3 * 3.0)
    assert {id(p) for p in group["params"]} == {id(p) for p in method.parameters()}


@pytest.mark.parametrize("num_layers", [1, 2, 5])
def test_any_depth(six_nodes: Graph, num_layers: int) -> None:
    method = ReleasedConfGCN(Shape.of(six_nodes), num_layers=num_layers)
    assert len(method.layers) == method.reach == num_layers
    assert method(six_nodes).logits.shape == (6, 3)


@pytest.mark.parametrize("value", [-0.9, 0.0, 1e30])
def test_influence_stays_a_distribution_at_extreme_precisions(six_nodes: Graph, value: float) -> None:
    method = ReleasedConfGCN(Shape.of(six_nodes))
    torch.nn.init.constant_(method.label_distribution.raw_precision, value)
    influence = method(six_nodes).influence
    sums = torch.zeros(6).index_add_(0, six_nodes.adjacency.rows, influence.detach())
    torch.testing.assert_close(sums, torch.ones(6))


@pytest.mark.parametrize("as_control", [True, False])
def test_uniform_influence_is_the_plain_mean(six_nodes: Graph, as_control: bool) -> None:
    method = ReleasedConfGCN(Shape.of(six_nodes), influence="distance" if as_control else "uniform")
    torch.nn.init.normal_(method.label_distribution.raw_mu)
    method = method.with_uniform_influence() if as_control else method
    degrees = (six_nodes.degrees + 1)[six_nodes.adjacency.rows]
    torch.testing.assert_close(method(six_nodes).influence, 1 / degrees)


@pytest.mark.parametrize("option", ["influence", "activation", "const_over"])
def test_unknown_names_are_refused(six_nodes: Graph, option: str) -> None:
    with pytest.raises(UsageError, match=f"unknown {option} 'x': choose from"):
        ReleasedConfGCN(Shape.of(six_nodes), **{option: "x"})
