"""The printed model against the same equations in plain torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from confgcn.data.synthetic import block_model
from confgcn.exceptions import UsageError
from confgcn.graph import Graph
from confgcn.models.base import Shape
from confgcn.models.confgcn.paper import PaperConfGCN

pytestmark = pytest.mark.usefixtures("each_kernels")

WEIGHTS = {"lambda_smooth": 0.2, "lambda_label": 0.3, "lambda_const": 0.4, "lambda_reg": 0.5, "gamma": 0.7}
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}


def slow_objective(graph: Graph, options: dict[str, Any], p: dict[str, Tensor]) -> Tensor:
    """L of the parameters ``p``."""
    source, target = graph.adjacency.indices, graph.adjacency.rows
    mu, precision = p["label_distribution.raw_mu"], p["label_distribution.raw_precision"]
    distance = ((mu[source] - mu[target]) ** 2 * (precision[source] + precision[target])).sum(1)
    influence = 1 / (distance + 2.0)
    if options.get("normalisation") == "softmax":
        influence = torch.cat([influence[target == v].softmax(0) for v in range(graph.num_nodes)])
    hidden = graph.features.double()
    for layer in range(options.get("num_layers", 2)):
        message = hidden @ p[f"layers.{layer}.weight"] + p[f"layers.{layer}.bias"]
        sums = message.new_zeros(message.shape).index_add(0, target, influence[:, None] * message[source])
        hidden = sums if options.get("activation") == "identity" else sums.relu()
    log_probabilities = (hidden @ p["dense.weight"].T + p["dense.bias"]).log_softmax(1)
    train, labels = graph.train, graph.labels[graph.train]
    far = (mu[train] - torch.eye(graph.num_classes, dtype=mu.dtype)[labels]) ** 2
    cross = -log_probabilities[train, labels].sum()
    smooth = 0.5 * distance.sum()
    label = (far * (precision[train] + 1 / WEIGHTS["gamma"])).sum()
    const = ((mu - log_probabilities.exp()) ** 2).sum()
    reg = (-1 / precision).clamp(min=0).sum()
    return cross + 0.2 * smooth + 0.3 * label + 0.4 * const + 0.5 * reg


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize(
    "options", [{}, {"num_layers": 3}, {"normalisation": "softmax"}, {"activation": "identity"}], ids=str
)
def test_objective_and_gradient_equal_those_of_plain_torch(options: dict[str, Any], dtype: torch.dtype) -> None:
    graph = block_model(80, num_features=6, mean_degree=1.5, seed=2, per_class=2)
    assert (graph.degrees == 0).any()
    graph = graph.with_features(graph.features.to(dtype))
    method = PaperConfGCN(Shape.of(graph), hidden_dim=5, distance_offset=2.0, **WEIGHTS, **options).to(dtype)
    for parameter in method.parameters():
        torch.nn.init.normal_(parameter, 0.0, 0.5)
    raw_mu, raw_precision = method.label_distribution.parameters()
    raw_mu.data *= 0.5  # no distance is near to minus the offset,
    raw_precision.data += 0.2 * raw_precision.sign()  # and no precision to zero: both would dominate the gradient
    prediction = method(graph, method.nodes_in_loss(graph))
    assert (prediction.precision < 0).any()
    assert -1.5 < prediction.distance.min() < 0
    objective = sum(term.value() for term in method.loss_terms(graph, prediction).values())
    wide = {name: value.detach().double().requires_grad_() for name, value in method.named_parameters()}
    expected = slow_objective(graph, options, wide)
    assert objective.item() == pytest.approx(expected.item(), rel=TOLERANCE[dtype])
    gradients = torch.autograd.grad(objective, list(method.parameters()))
    for name, one, other in zip(wide, gradients, torch.autograd.grad(expected, list(wide.values())), strict=True):
        assert (one.double() - other).norm() < TOLERANCE[dtype] * other.norm(), name


def test_the_objective_has_five_terms(six_nodes: Graph) -> None:
    method = PaperConfGCN(Shape.of(six_nodes))
    terms = method.loss_terms(six_nodes, method(six_nodes))
    assert list(terms) == ["cross", "smooth", "label", "const", "reg"]
    assert all(term.count is None for term in terms.values())  # sums, not means


@pytest.mark.parametrize("term", ["smooth", "label", "const", "reg"])
def test_a_zero_weight_removes_a_term(six_nodes: Graph, term: str) -> None:
    method = PaperConfGCN(Shape.of(six_nodes), **{f"lambda_{term}": 0.0})
    assert term not in method.loss_terms(six_nodes, method(six_nodes))


@pytest.mark.parametrize("num_layers", [1, 2, 5])
def test_any_depth(six_nodes: Graph, num_layers: int) -> None:
    method = PaperConfGCN(Shape.of(six_nodes), num_layers=num_layers)
    assert len(method.layers) == method.reach == num_layers
    assert method(six_nodes).logits.shape == (6, 3)


def test_identical_scores_give_finite_influence(six_nodes: Graph) -> None:
    method = PaperConfGCN(Shape.of(six_nodes))
    torch.nn.init.zeros_(method.label_distribution.raw_mu)
    prediction = method(six_nodes)
    assert (prediction.distance == 0).all()
    assert torch.isfinite(prediction.influence).all()


def test_the_control_shares_the_weights_and_has_uniform_influence(six_nodes: Graph) -> None:
    method = PaperConfGCN(Shape.of(six_nodes), hidden_dim=4)
    torch.nn.init.normal_(method.label_distribution.raw_mu)
    before = method.predict(six_nodes)
    control = method.with_uniform_influence()
    for own, shared in zip(method.parameters(), control.parameters(), strict=True):
        assert shared is own
    uniform = control.predict(six_nodes)
    assert uniform.influence.tolist() == [1.0] * six_nodes.adjacency.num_entries
    assert not torch.allclose(uniform.logits, before.logits)
    after = method.predict(six_nodes)
    assert torch.equal(after.logits, before.logits)
    assert torch.equal(after.influence, before.influence)


def test_only_the_inputs_of_graph_layers_are_dropped(six_nodes: Graph) -> None:
    method = PaperConfGCN(Shape.of(six_nodes), num_layers=1, hidden_dim=64, dropout=0.5)
    assert not torch.equal(method(six_nodes).logits, method(six_nodes).logits)
    torch.nn.init.ones_(method.layers[0].bias)
    torch.nn.init.zeros_(method.layers[0].weight)  # nothing of the input is left
    assert torch.equal(method(six_nodes).logits, method(six_nodes).logits)


def test_nothing_decays_and_all_parameters_have_the_rate_of_the_recipe(six_nodes: Graph) -> None:
    (group,) = PaperConfGCN(Shape.of(six_nodes)).parameter_groups()
    assert set(group) == {"params"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"influence": "agreement"}, "unknown influence 'agreement': choose from distance, uniform"),
        ({"normalisation": "softmx"}, "did you mean 'softmax'"),
        ({"activation": "rlu"}, "unknown activation 'rlu': did you mean 'relu'"),
    ],
    ids=str,
)
def test_unknown_names_are_refused(six_nodes: Graph, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        PaperConfGCN(Shape.of(six_nodes), **options)
