"""Training on samples: the terms and gradients of a batch, what a step changes, and epochs that can be resumed."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from confgcn.exceptions import DivergedError, UsageError
from confgcn.graph import Graph
from confgcn.models.base import AbstractMethod, Shape
from confgcn.models.confgcn.paper import PaperConfGCN
from confgcn.runs.settings import make_method, resolve
from confgcn.training.batches import Batches
from confgcn.training.group import SingleProcess
from confgcn.training.loop import TrainingLoop
from confgcn.training.recipe import Recipe
from confgcn.training.saved_state import restore, state_of
from confgcn.training.seed import seeded

PRESETS = ("paper", "released", "consensus")
CHANGED: list[tuple[str, dict[str, Any]]] = [
    *((preset, {}) for preset in PRESETS),
    ("paper", {"normalisation": "softmax"}),
    ("consensus", {"influence": "softmax"}),
]
ALL = 1000  # more neighbours than any node has
PASSES = 60
RATES = {"paper": ["dropout"], "released": ["dropout"], "consensus": ["dropout", "node_dropout"]}


@pytest.fixture
def precise() -> Iterator[None]:
    """Numbers of 64 bits."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def doubled(graph: Graph) -> Graph:
    """With features of 64 bits."""
    features = graph.features
    return graph.with_features(
        features.double() if isinstance(features, Tensor) else features.with_values(features.values.double())
    )


def new_method(graph: Graph, preset: str, **changes: Any) -> AbstractMethod:
    with seeded(3):
        method = make_method(graph, resolve("confgcn", preset, "cora_ml", dict.fromkeys(RATES[preset], 0.0) | changes))
        for name, weight in method.named_parameters():  # off the symmetric start, some precisions below zero
            if "precision" in name:
                torch.nn.init.normal_(weight, 0.5, 0.5)
            elif "raw_mu" in name:
                torch.nn.init.normal_(weight)
    return method


def batch_loop(graph: Graph, method: AbstractMethod, **recipe: Any) -> TrainingLoop:
    return TrainingLoop(method, graph, Recipe(**{"epochs": 3, "fanout": ALL, **recipe}))


def gradients(loop: TrainingLoop, graph: Graph) -> tuple[dict[str, float], dict[str, Tensor]]:
    """The loss of one step, and its gradients as dense tables, without changing any weight."""
    before = {name: value.clone() for name, value in loop.method.state_dict().items()}
    losses = loop.train_step(graph)
    found = {name: p.grad.to_dense().clone() for name, p in loop.parameters.items() if p.grad is not None}
    loop.method.load_state_dict(before)
    return losses, found


@pytest.mark.usefixtures("precise", "each_kernels")
@pytest.mark.parametrize(
    ("preset", "changes"), [*CHANGED, *((preset, {"influence": "uniform"}) for preset in PRESETS)], ids=str
)
def test_a_batch_of_all_nodes_with_all_neighbours_is_the_full_batch(
    small_graph: Graph, preset: str, changes: dict[str, Any]
) -> None:
    graph = doubled(small_graph)
    full, sampled = (batch_loop(graph, new_method(graph, preset, **changes), batch_size=n) for n in (None, ALL))
    expected, found = full.train_epoch(), sampled.train_epoch()
    assert found == pytest.approx(expected, rel=1e-12)
    for (name, one), (_, other) in zip(full.parameters.items(), sampled.parameters.items(), strict=True):
        assert one.grad is None or other.grad is not None
        if one.grad is not None:
            torch.testing.assert_close(other.grad.to_dense(), one.grad, rtol=1e-10, atol=1e-12, msg=name)
        torch.testing.assert_close(other.detach(), one.detach(), rtol=1e-9, atol=1e-10, msg=name)


@pytest.mark.usefixtures("precise")
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("batch_size", [7, 40])
def test_with_all_neighbours_the_batches_of_an_epoch_have_the_full_loss_and_gradient(
    small_graph: Graph, preset: str, batch_size: int
) -> None:
    graph = doubled(small_graph)
    method = new_method(graph, preset)
    expected, gradient = gradients(batch_loop(graph, method), graph.training_view())
    loop = batch_loop(graph, method, batch_size=batch_size)
    steps = [gradients(loop, batch) for batch in loop.batches]
    assert len(steps) == loop.batches.count > 1
    for name, value in expected.items():
        assert statistics.fmean(losses[name] for losses, _ in steps) == pytest.approx(value, rel=1e-9), name
    for name, value in gradient.items():
        mean = torch.stack([found[name] for _, found in steps]).mean(0)
        torch.testing.assert_close(mean, value, rtol=1e-8, atol=1e-10, msg=name)


@pytest.mark.usefixtures("precise")
@pytest.mark.parametrize(("preset", "changes"), CHANGED, ids=str)
def test_drawn_neighbours_estimate_smoothness_and_predictions(
    small_graph: Graph, preset: str, changes: dict[str, Any]
) -> None:
    graph = doubled(small_graph)
    one_step = {"steps": 1} if preset == "consensus" else {"num_layers": 1, "activation": "identity"}
    method = new_method(graph, preset, **one_step, **changes, lambda_smooth=1.0)
    full = method(graph)
    batches = Batches(graph.training_view(), method, Recipe(batch_size=60, fanout=8))
    logits, smooth = torch.zeros_like(full.logits), 0.0
    for _ in range(PASSES):
        for batch in batches:
            drawn = method(batch)
            logits[batch.node_ids[batch.batch_nodes]] += drawn.logits.detach() / PASSES
            smooth += method.loss_terms(batch, drawn)["smooth"].value().item() / PASSES
    tolerance = 0.05  # a softmax is right only where many are drawn
    assert (logits - full.logits).norm() < tolerance * full.logits.norm()
    assert smooth == pytest.approx(method.loss_terms(graph, full)["smooth"].value().item(), rel=tolerance)


def test_every_node_is_counted_once_in_an_epoch_and_labels_are_shared_out(small_graph: Graph) -> None:
    batches = Batches(small_graph, new_method(small_graph, "paper"), Recipe(batch_size=35, fanout=2))
    first, second = ([batch.node_ids[batch.batch_nodes] for batch in batches] for _ in range(2))
    assert torch.cat(first).sort().values.tolist() == list(range(120))
    assert max(map(len, first)) <= 35
    labels = [int(torch.isin(nodes, small_graph.train).sum()) for nodes in first]
    assert max(labels) - min(labels) <= 1
    assert [nodes.tolist() for nodes in first] != [nodes.tolist() for nodes in second]


@pytest.mark.parametrize("optimiser", ["adam", "sgd"])
def test_a_step_changes_only_the_rows_of_its_sample(small_graph: Graph, optimiser: str) -> None:
    method = new_method(small_graph, "paper", lambda_const=0.1)
    loop = batch_loop(small_graph, method, batch_size=5, fanout=2, optimiser=optimiser)
    batch = next(iter(loop.batches))
    before = {name: value.clone() for name, value in method.state_dict().items()}
    loop.compute_gradients(batch)
    gradients = {name: method.get_parameter(name).grad for name in method.per_node}
    loop.train_step(batch)
    outside = torch.ones(120, dtype=torch.bool).index_fill_(0, batch.node_ids, False)
    assert bool(outside.any())
    for name in method.per_node:
        table, gradient = method.get_parameter(name), gradients[name]
        assert gradient.is_sparse
        assert gradient._values().shape == (batch.num_nodes, table.shape[1])
        assert torch.equal(table.detach()[outside], before[name][outside])
        assert not torch.equal(table.detach()[~outside], before[name][~outside])


def test_a_diverged_step_restores_the_tables(small_graph: Graph) -> None:
    method = new_method(small_graph, "paper")
    loop = batch_loop(small_graph, method, batch_size=30)
    with torch.no_grad():
        method.layers[0].weight.fill_(float("nan"))
    with pytest.raises(DivergedError, match="epoch 1"):
        loop.run_epoch()
    assert method.get_parameter(method.per_node[0]) is loop.parameters[method.per_node[0]]


@pytest.mark.parametrize("preset", PRESETS)
def test_a_resumed_training_has_the_same_bits(small_graph: Graph, preset: str) -> None:
    def new_loop() -> TrainingLoop:
        method = make_method(small_graph, resolve("confgcn", preset, "cora_ml", {"dropout": 0.5}))
        return TrainingLoop(method, small_graph, Recipe(epochs=6, batch_size=30, fanout=3, clip_norm=5.0))

    with seeded(5):
        uninterrupted = new_loop()
        uninterrupted.fit()
    with seeded(5):
        broken = new_loop()
        for _ in range(2):
            broken.run_epoch()
        tensors, record = state_of(broken)
        tensors = {name: value.clone() for name, value in tensors.items()}
    with seeded(99):
        resumed = new_loop()
        restore(resumed, tensors, record)
        resumed.fit()
    assert resumed.history == uninterrupted.history
    assert len(uninterrupted.history) == 6
    assert torch.equal(resumed.predict().logits, uninterrupted.predict().logits)


def test_clipping_counts_the_rows_of_sparse_gradients(small_graph: Graph) -> None:
    method = new_method(small_graph, "paper")
    loop = batch_loop(small_graph, method, batch_size=30, clip_norm=0.01, optimiser="sgd", learning_rate=1e-9)
    loop.compute_gradients(next(iter(loop.batches)))
    norms = [weight.grad.to_dense().norm() for weight in method.parameters() if weight.grad is not None]
    assert float(torch.stack(norms).norm()) == pytest.approx(0.01, rel=1e-3)


def test_it_learns(small_graph: Graph) -> None:
    with seeded(0):
        settings = resolve("confgcn", "consensus", "", {"batch_size": 30, "fanout": 4, "epochs": 20})
        loop = TrainingLoop(make_method(small_graph, settings), small_graph, settings.recipe)
        loop.fit()
    losses = [record["loss"] for record in loop.history]
    assert losses[-1] < 0.7 * losses[0]


def test_a_method_that_does_not_support_samples_is_refused_by_name(small_graph: Graph) -> None:
    with pytest.raises(UsageError, match=r"batch_size = 10: GCN can only be trained on the whole graph"):
        resolve("gcn", "default", "cora", {"batch_size": 10})


def test_several_workers_are_refused(small_graph: Graph) -> None:
    class Two(SingleProcess):
        size = 2

    with pytest.raises(UsageError, match=r"batch_size = 10: several workers"):
        TrainingLoop(PaperConfGCN(Shape.of(small_graph)), small_graph, Recipe(batch_size=10), group=Two())
