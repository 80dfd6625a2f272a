"""The default model against the same equations in plain torch, and its confidences after training."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from confgcn.data.synthetic import block_model
from confgcn.exceptions import UsageError
from confgcn.graph import Graph
from confgcn.models.base import Prediction, Shape
from confgcn.models.confgcn.consensus import SELF_SHARE, ConsensusConfGCN, drop_rows
from confgcn.runs.settings import resolve
from confgcn.runs.train import trained_loop

PLAIN = {"dropout": 0.0, "node_dropout": 0.0}
WEIGHTS = {"lambda_smooth": 0.2, "lambda_label": 0.3, "lambda_const": 0.4, "lambda_reg": 0.5, "gamma": 0.7}
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}
RING, ISOLATED = range(120, 132), range(132, 136)  # nodes that are added to a block model
Trained = tuple[Graph, ConsensusConfGCN, Prediction]


def slow_objective(graph: Graph, options: dict[str, Any], p: dict[str, Tensor]) -> Tensor:
    """L of the parameters ``p``; quantities that are held fixed are detached."""
    source, target = graph.adjacency.indices, graph.adjacency.rows
    raw_mu, precision = p["label_distribution.raw_mu"], p["label_distribution.raw_precision"].sigmoid()
    consensus, mu = raw_mu.softmax(1), (raw_mu / 0.8).softmax(1)
    distance = ((mu[source] - mu[target]) ** 2 * (precision[source] + precision[target])).sum(1)
    influence = slow_influence(graph, options, mu, precision, distance).detach()  # (N, N), target by source
    steps = options.get("steps", 4)
    walk = sum(torch.linalg.matrix_power(influence, k) for k in range(steps + 1)) / (steps + 1)
    hidden = graph.features.double()
    for layer in range(options.get("num_layers", 1)):
        hidden = (walk @ (hidden @ p[f"layers.{layer}.weight"] + p[f"layers.{layer}.bias"])).relu()
    log_probabilities = (hidden @ p["dense.weight"].T + p["dense.bias"]).log_softmax(1)
    probabilities = log_probabilities.exp()
    evidence = walk[:, graph.train].sum(1, keepdim=True)
    train, labels, count = graph.train, graph.labels[graph.train], graph.num_nodes
    far = (mu[train] - torch.eye(graph.num_classes, dtype=mu.dtype)[labels]) ** 2
    cross = -log_probabilities[train, labels].mean()
    smooth = (influence[target, source] * distance).sum() / count
    if options.get("smooth_over") == "edges":
        smooth = 0.5 * distance.sum() / count
    label = (far * (precision[train] + 1 / WEIGHTS["gamma"])).sum() / len(train)
    const = ((probabilities - mu.detach()) ** 2 + (consensus - probabilities.detach()) ** 2).sum() / count
    reg = -((0.5 + 10 * evidence) * precision.log() + 0.1 * (1 - precision).log()).sum() / count
    return cross + 0.2 * smooth + 0.3 * label + 0.4 * const + 0.5 * reg


def slow_influence(graph: Graph, options: dict[str, Any], mu: Tensor, precision: Tensor, distance: Tensor) -> Tensor:
    source, target = graph.adjacency.indices, graph.adjacency.rows
    a = (mu[source] * (precision[source] + precision[target]) * mu[target]).sum(1) / 2
    odds = (graph.num_classes - 1) * a
    scores = {"distance": 1 / (distance + 1), "uniform": torch.ones_like(a)}.get(
        options.get("influence", ""), odds / (odds + 1 - a)
    )
    matrix = mu.new_zeros(graph.num_nodes, graph.num_nodes)
    if options.get("influence") == "softmax":
        matrix[target, source] = torch.cat([scores[target == v].softmax(0) for v in range(graph.num_nodes)])
        return matrix
    matrix[target, source] = 0.8 * scores / graph.degrees.clamp(min=1)[target]
    matrix.fill_diagonal_(0.0)
    return matrix + torch.diag(1 - matrix.sum(1))


@pytest.mark.usefixtures("each_kernels")
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"steps": 3, "num_layers": 2},
        {"influence": "distance"},
        {"influence": "uniform"},
        {"influence": "softmax"},
        {"smooth_over": "edges"},
    ],
    ids=str,
)
def test_objective_and_gradient_equal_those_of_plain_torch(options: dict[str, Any], dtype: torch.dtype) -> None:
    graph = block_model(80, num_features=6, mean_degree=1.5, seed=2, per_class=2)
    assert (graph.degrees == 0).any()
    graph = graph.with_features(graph.features.to(dtype))
    method = ConsensusConfGCN(Shape.of(graph), hidden_dim=5, **WEIGHTS, **PLAIN, **options).to(dtype)
    for parameter in method.parameters():
        torch.nn.init.normal_(parameter, 0.0, 0.5)
    prediction = method(graph, method.nodes_in_loss(graph))
    assert prediction.evidence.min() == 0
    objective = sum(term.value() for term in method.loss_terms(graph, prediction).values())
    wide = {name: value.detach().double().requires_grad_() for name, value in method.named_parameters()}
    expected = slow_objective(graph, options, wide)
    assert objective.item() == pytest.approx(expected.item(), rel=TOLERANCE[dtype])
    gradients = torch.autograd.grad(objective, list(method.parameters()))
    for name, one, other in zip(wide, gradients, torch.autograd.grad(expected, list(wide.values())), strict=True):
        assert (one.double() - other).norm() < TOLERANCE[dtype] * other.norm(), name


def test_every_term_is_a_mean(six_nodes: Graph) -> None:
    method = ConsensusConfGCN(Shape.of(six_nodes))
    counts = {name: term.count for name, term in method.loss_terms(six_nodes, method(six_nodes)).items()}
    assert counts == {"cross": 3, "smooth": 6, "label": 3, "const": 6, "reg": 6}


@pytest.mark.parametrize("term", ["smooth", "label", "const", "reg"])
def test_a_zero_weight_removes_a_term(six_nodes: Graph, term: str) -> None:
    method = ConsensusConfGCN(Shape.of(six_nodes), **{f"lambda_{term}": 0.0})
    assert term not in method.loss_terms(six_nodes, method(six_nodes))


def test_weights_decay_and_parameters_of_nodes_have_their_own_rate(six_nodes: Graph) -> None:
    method = ConsensusConfGCN(Shape.of(six_nodes), num_layers=2, weight_decay=0.3, confidence_learning_rate=0.2)
    names = {parameter: name for name, parameter in method.named_parameters()}
    groups = [{**group, "params": [names[p] for p in group["params"]]} for group in method.parameter_groups()]
    assert groups == [
        {"params": ["label_distribution.raw_mu", "label_distribution.raw_precision"], "learning_rate": 0.2},
        {"params": ["layers.0.weight", "layers.1.weight", "dense.weight"], "weight_decay": 0.3},
        {"params": ["layers.0.bias", "layers.1.bias", "dense.bias"]},
    ]
    same_rate = ConsensusConfGCN(Shape.of(six_nodes), confidence_learning_rate=None).parameter_groups()
    assert all("learning_rate" not in group for group in same_rate)


def test_all_nodes_are_predicted_whichever_are_requested(six_nodes: Graph) -> None:
    method = ConsensusConfGCN(Shape.of(six_nodes), steps=2)
    some, everything = method.predict(six_nodes, six_nodes.test), method.predict(six_nodes)
    assert some.nodes is None
    assert torch.equal(some.logits, everything.logits)
    assert torch.equal(some.logits_of(six_nodes.test), everything.logits[six_nodes.test])


@pytest.mark.usefixtures("each_kernels")
@pytest.mark.parametrize("steps", [1, 4])
def test_evidence_is_the_share_of_messages_from_labelled_nodes(steps: int) -> None:
    edges = [(0, 1), (1, 2), (2, 3), (4, 5)]  # 4 and 5 without a label, 6 isolated, 7 isolated and labelled
    graph = Graph.build(edges, np.eye(8), [0, 1, 0, 1, 0, 1, 0, 1], train=[0, 7])
    method = ConsensusConfGCN(Shape.of(graph), steps=steps).double()
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
    assert method.reach == steps


def test_mu_is_the_consensus_to_a_power(six_nodes: Graph) -> None:
    method = ConsensusConfGCN(Shape.of(six_nodes), mu_temperature=0.5)
    torch.nn.init.normal_(method.label_distribution.raw_mu)
    powers = method.label_distribution.raw_mu.softmax(1) ** 2
    torch.testing.assert_close(method(six_nodes).mu, powers / powers.sum(1, keepdim=True))


def test_no_gradient_reaches_the_confidences_through_the_predictions(six_nodes: Graph) -> None:
    method = ConsensusConfGCN(Shape.of(six_nodes), **PLAIN)
    method(six_nodes).logits.square().sum().backward()
    assert all(parameter.grad is None for parameter in method.label_distribution.parameters())
    assert all(parameter.grad.any() for parameter in method.layers.parameters())


@pytest.mark.parametrize("rate", ["dropout", "node_dropout"])
def test_dropout_acts_in_training_only(six_nodes: Graph, rate: str) -> None:
    method = ConsensusConfGCN(Shape.of(six_nodes), **{**PLAIN, rate: 0.5})
    expected = method.predict(six_nodes).logits
    assert not torch.equal(method(six_nodes).logits, method(six_nodes).logits)
    plain = ConsensusConfGCN(Shape.of(six_nodes), **PLAIN)
    plain.load_state_dict(method.state_dict())
    assert torch.equal(plain.predict(six_nodes).logits, expected)


def test_whole_rows_are_dropped() -> None:
    values = torch.randn(200, 3)
    dropped = drop_rows(values, 0.25, training=True)
    kept = (dropped != 0).any(1)
    torch.testing.assert_close(dropped, torch.where(kept[:, None], values / 0.75, 0.0))
    assert 0.15 < 1 - float(kept.double().mean()) < 0.35
    assert drop_rows(values, 0.25, training=False) is values


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_prediction_after_training_is_a_mean_with_the_consensus(six_nodes: Graph, share: float) -> None:
    method = ConsensusConfGCN(Shape.of(six_nodes), consensus_share=share, **PLAIN)
    torch.nn.init.normal_(method.label_distribution.raw_mu)
    network = method.train()(six_nodes).logits.detach().softmax(1)
    consensus = method.label_distribution.raw_mu.detach().softmax(1)
    predicted = method.eval()(six_nodes)
    torch.testing.assert_close(predicted.logits.softmax(1), (1 - share) * network + share * consensus)


def test_the_control_shares_the_weights_and_has_uniform_influence(six_nodes: Graph) -> None:
    method = ConsensusConfGCN(Shape.of(six_nodes))
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


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("influence", "agrement", "unknown influence 'agrement': did you mean 'agreement'"),
        ("smooth_over", "x", "choose from edges, influence"),
    ],
)
def test_unknown_names_are_refused(six_nodes: Graph, option: str, value: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ConsensusConfGCN(Shape.of(six_nodes), **{option: value})


@pytest.fixture(scope="module")
def trained() -> Trained:
    """A block model with a ring without labels and isolated nodes, whose features are like those of the block model."""
    block = block_model(120, seed=1)
    ring = [(node, node + 1) for node in RING[:-1]] + [(RING[-1], RING[0])]
    edges = torch.stack([block.neighbours.indices, block.neighbours.rows], 1).numpy()
    like = [*range(120), *range(len(RING) + len(ISOLATED))]
    features, labels = block.features[like].numpy(), block.labels[like].numpy()
    splits = {split: getattr(block, split).numpy() for split in ("train", "validation", "test")}
    graph = Graph.build(np.concatenate([edges, ring]), features, labels, **splits)
    settings = resolve("confgcn", "consensus", "demo", {"epochs": 100, "stop": "never", "select": "last"})
    loop = trained_loop(graph, settings, seed=0)
    assert isinstance(loop.method, ConsensusConfGCN)
    return settings.data.prepare(graph, seed=0), loop.method, loop.predict()


def test_it_learns(trained: Trained) -> None:
    graph, _, prediction = trained
    right = (prediction.logits.argmax(1) == graph.labels)[graph.test]
    mu_right = (prediction.mu.argmax(1) == graph.labels)[graph.test]
    assert right.float().mean() > 0.8
    assert mu_right.float().mean() > 0.7


def test_evidence_is_where_labels_are(trained: Trained) -> None:
    graph, _, prediction = trained
    assert prediction.evidence[[*RING, *ISOLATED]].tolist() == [0.0] * 16
    received = prediction.evidence[:120][graph.degrees[:120] > 0]
    assert received.mean() > 0.1
    assert prediction.evidence.max() <= 1 + 1e-6
    labelled = torch.zeros(120, dtype=torch.bool).index_fill(0, graph.train, True)
    assert prediction.evidence[:120][labelled].min() > 0.2


@pytest.mark.parametrize("nodes", [RING, ISOLATED], ids=["component without a label", "isolated"])
def test_without_evidence_precision_is_lower(trained: Trained, nodes: range) -> None:
    graph, _, prediction = trained
    with_evidence = prediction.precision[:120][prediction.evidence[:120] > 0].mean()
    without_evidence = prediction.precision[list(nodes)]
    assert without_evidence.mean() < with_evidence - 0.05
    assert without_evidence.max() < prediction.precision[graph.train].mean()


def scores(trained: Trained, prediction: Prediction) -> Tensor:
    """s of every edge, from its influence; of no meaning for loops."""
    graph, _, _ = trained
    return prediction.influence * graph.degrees[graph.adjacency.rows] / (1 - SELF_SHARE)


def test_of_neighbours_with_the_same_label_those_with_sharper_scores_have_more_influence(
    trained: Trained,
) -> None:
    graph, _, prediction = trained
    source, target = graph.adjacency.indices, graph.adjacency.rows
    label = prediction.mu.argmax(1)
    agree = (label[source] == label[target]) & (source != target) & (source < 120)
    sharpness = prediction.mu.max(1).values[source][agree]
    influence = scores(trained, prediction)[agree]
    sharp = sharpness >= sharpness.median()
    assert influence[sharp].mean() > influence[~sharp].mean() + 0.02


@pytest.mark.parametrize("changed", ["precision", "mu"])
def test_a_less_precise_neighbour_loses_influence_to_the_node_itself(trained: Trained, changed: str) -> None:
    graph, method, before = trained
    source, target = graph.adjacency.indices, graph.adjacency.rows
    label = before.mu.argmax(1)
    node = int(graph.degrees[:120].argmax())
    neighbours = source[(target == node) & (source != node)]
    neighbour = int(neighbours[label[neighbours] == label[node]][0])
    state = {name: value.clone() for name, value in method.state_dict().items()}
    state[f"label_distribution.raw_{changed}"][neighbour] = -4.0 if changed == "precision" else 0.0
    changed_method = ConsensusConfGCN(Shape.of(graph))
    changed_method.load_state_dict(state)
    after = changed_method.predict(graph.training_view())
    lost = (before.influence - after.influence)[target == node]
    of_neighbour = lost[source[target == node] == neighbour]
    of_itself = lost[source[target == node] == node]
    assert of_neighbour > 0.1 * before.influence[(target == node) & (source == neighbour)]
    assert float(of_neighbour + of_itself) == pytest.approx(0.0, abs=1e-6)
    assert int((lost.abs() > 1e-6).sum()) == 2


def test_uniform_influences_change_the_predictions(trained: Trained) -> None:
    graph, method, prediction = trained
    uniform = method.with_uniform_influence().predict(graph.training_view())
    assert not torch.allclose(uniform.logits, prediction.logits, atol=1e-2)
    assert torch.equal(method.predict(graph.training_view()).logits, prediction.logits)
