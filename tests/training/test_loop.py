"""The loop with scripted methods whose every epoch is known in advance."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from confgcn.exceptions import CorruptFileError, DataError, DivergedError
from confgcn.graph import Graph
from confgcn.models.base import AbstractMethod, LossTerm, Prediction, Shape
from confgcn.models.confgcn.paper import PaperConfGCN
from confgcn.models.confgcn.released import ReleasedConfGCN
from confgcn.training.callbacks import Callback
from confgcn.training.loop import TrainingLoop, check_trainable
from confgcn.training.recipe import Recipe
from confgcn.training.saved_state import restore, state_of
from confgcn.training.seed import seeded


class Scripted(AbstractMethod):
    """Predicts the true label of the first ``script[epoch]`` validation nodes; counts its epochs in a buffer."""

    def __init__(self, graph: Graph, script: list[int], poison: int | None = None) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(()))
        self.register_buffer("epoch", torch.zeros((), dtype=torch.long))
        self.truth, self.nodes, self.script, self.poison = graph.labels, graph.validation, script, poison
        self.seen_labels: Tensor | None = None

    def forward(self, graph: Graph, nodes: Tensor | None = None) -> Prediction:
        if self.training:
            self.epoch += 1
        self.seen_labels = graph.labels
        logits = torch.zeros(graph.num_nodes, graph.num_classes)
        right = self.nodes[: self.script[int(self.epoch) - 1]] if self.epoch else self.nodes[:0]
        wrong = (self.truth + 1) % graph.num_classes
        logits[torch.arange(graph.num_nodes), wrong] = 1.0
        logits[right, wrong[right]] = 0.0
        logits[right, self.truth[right]] = 1.0
        return Prediction(logits + 0 * self.weight)

    def loss_terms(self, graph: Graph, prediction: Prediction) -> dict[str, LossTerm]:
        bad = self.poison is not None and int(self.epoch) == self.poison
        return {"scripted": LossTerm(self.weight * (float("nan") if bad else 1.0))}


@pytest.fixture
def graph() -> Graph:
    return Graph.build(
        [(i, i + 1) for i in range(9)],
        np.eye(10),
        [0, 1] * 5,
        train=[0, 1],
        validation=[2, 3, 4, 5],
        test=[6, 7, 8, 9],
    )


@pytest.mark.parametrize(
    ("select", "epoch"), [("best_validation_accuracy", 2), ("best_validation_loss", 2), ("last", 5)]
)
def test_the_selected_epoch_is_restored_and_of_equals_the_first(graph: Graph, select: str, epoch: int) -> None:
    loop = TrainingLoop(Scripted(graph, [1, 3, 2, 3, 0]), graph, Recipe(epochs=5, select=select))
    loop.fit()
    assert [record["validation_accuracy"] for record in loop.history] == [0.25, 0.75, 0.5, 0.75, 0.0]
    assert loop.best is not None
    assert loop.best["epoch"] == epoch
    assert int(loop.method.epoch) == epoch


def test_early_stopping_ends_the_epochs(graph: Graph) -> None:
    recipe = Recipe(epochs=100, stop="no_improvement", patience=3)
    loop = TrainingLoop(Scripted(graph, [1, 2, 1, 1, 1, 1, 1]), graph, recipe)
    loop.fit()
    assert len(loop.history) == 5


def test_the_method_sees_training_labels_only(graph: Graph) -> None:
    loop = TrainingLoop(Scripted(graph, [1]), graph, Recipe(epochs=1))
    loop.fit()
    assert loop.method.seen_labels.tolist() == [0, 1] + [-1] * 8


def test_history_names_every_term_and_never_the_test_set(graph: Graph) -> None:
    loop = TrainingLoop(PaperConfGCN(Shape.of(graph)), graph, Recipe(epochs=1))
    loop.fit()
    terms = {f"loss_{name}" for name in ("cross", "smooth", "label", "const", "reg")}
    assert set(loop.history[0]) == {"epoch", "loss", "validation_accuracy", "validation_loss"} | terms
    assert loop.history[0]["loss"] == pytest.approx(sum(loop.history[0][term] for term in terms), rel=1e-5)


@pytest.mark.parametrize("make", [PaperConfGCN, partial(ReleasedConfGCN, doubled_l2=0.3)], ids=["paper", "released"])
def test_the_loss_of_every_epoch_is_the_sum_of_its_terms(
    small_graph: Graph, make: Callable[..., AbstractMethod]
) -> None:
    method = make(Shape.of(small_graph), lambda_smooth=0.5)
    loop = TrainingLoop(method, small_graph, Recipe(epochs=5))
    at_first = method.loss_terms(small_graph, method(small_graph))
    expected = {f"loss_{name}": term.value().item() for name, term in at_first.items()}
    loop.fit()
    for record in loop.history:
        assert record["loss"] == pytest.approx(sum(record[name] for name in expected), rel=1e-12)
    assert {name: loop.history[0][name] for name in expected} == pytest.approx(expected, rel=1e-5)


def test_a_step_goes_down_the_gradient_of_the_sum(small_graph: Graph) -> None:
    method = ReleasedConfGCN(Shape.of(small_graph), lambda_smooth=0.5, doubled_l2=0.3)
    objective = sum(term.value() for term in method.loss_terms(small_graph, method(small_graph)).values())
    expected = torch.autograd.grad(objective, list(method.parameters()))
    TrainingLoop(method, small_graph, Recipe(epochs=1)).compute_gradients()
    torch.testing.assert_close([parameter.grad for parameter in method.parameters()], list(expected))


def test_a_number_that_is_not_finite_stops_training_by_name(graph: Graph) -> None:
    loop = TrainingLoop(Scripted(graph, [1, 1, 1], poison=3), graph, Recipe(epochs=3))
    with pytest.raises(DivergedError, match=r"epoch 3: scripted is not finite"):
        loop.fit()
    assert len(loop.history) == 2


def test_a_gradient_that_is_not_finite_stops_training(graph: Graph) -> None:
    class RootOfZero(Scripted):
        def loss_terms(self, graph: Graph, prediction: Prediction) -> dict[str, LossTerm]:
            return {"root": LossTerm(self.weight.sqrt())}

    with pytest.raises(DivergedError, match="gradient of weight"):
        TrainingLoop(RootOfZero(graph, [1]), graph, Recipe(epochs=1)).fit()


def test_a_method_without_parameters_works_in_setup(graph: Graph) -> None:
    class Majority(AbstractMethod):
        def setup(self, graph: Graph) -> None:
            self.register_buffer("prior", torch.bincount(graph.labels[graph.train], minlength=2).float())

        def forward(self, graph: Graph, nodes: Tensor | None = None) -> Prediction:
            return Prediction(self.prior.log().expand(graph.num_nodes, -1))

    loop = TrainingLoop(Majority(), graph, Recipe())
    loop.fit()
    assert loop.history == []
    assert loop.predict().raw_probabilities[9].tolist() == [0.5, 0.5]


@pytest.mark.parametrize("stopped_after", [1, 7])
def test_training_continues_from_a_saved_state_with_the_same_bits(small_graph: Graph, stopped_after: int) -> None:
    class StopAfter(Callback):
        def on_epoch(self, loop: TrainingLoop) -> None:
            if len(loop.history) == stopped_after:
                raise KeyboardInterrupt

    def new_loop(callbacks: list[Callback]) -> TrainingLoop:
        return TrainingLoop(PaperConfGCN(Shape.of(small_graph), dropout=0.5), small_graph, Recipe(epochs=12), callbacks)

    with seeded(5):
        uninterrupted = new_loop([])
        uninterrupted.fit()
    with seeded(5):
        broken = new_loop([StopAfter()])
        with pytest.raises(KeyboardInterrupt):
            broken.fit()
        tensors, record = state_of(broken)
        tensors = {name: value.clone() for name, value in tensors.items()}
    with seeded(99):
        resumed = new_loop([])
        restore(resumed, tensors, record)
        resumed.fit()
    assert resumed.history == uninterrupted.history
    assert torch.equal(resumed.predict().logits, uninterrupted.predict().logits)


def test_a_parameter_without_gradient_does_not_stand_in_the_way_of_resuming(small_graph: Graph) -> None:
    without_terms = {f"lambda_{term}": 0.0 for term in ("smooth", "label", "const", "reg")}

    def new_loop() -> TrainingLoop:
        method = PaperConfGCN(Shape.of(small_graph), influence="uniform", **without_terms)
        return TrainingLoop(method, small_graph, Recipe(epochs=2))

    first, second = new_loop(), new_loop()
    first.run_epoch()
    restore(second, *state_of(first))
    second.run_epoch()
    assert len(second.history) == 2


def test_a_training_leaves_the_callers_random_state_alone(small_graph: Graph) -> None:
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    with seeded(7):
        TrainingLoop(PaperConfGCN(Shape.of(small_graph)), small_graph, Recipe(epochs=1)).fit()
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.parametrize(
    ("splits", "message"),
    [
        ({}, "no node has a training label"),
        ({"train": [0, 2]}, "at least two"),
        ({"train": [0, 1]}, "validation set is empty"),
    ],
)
def test_a_graph_that_cannot_be_trained_on_is_refused(splits: dict[str, list[int]], message: str) -> None:
    graph = Graph.build([(0, 1)], np.eye(3), [0, 1, 0], **splits)
    with pytest.raises(DataError, match=message):
        check_trainable(graph, Recipe())


def test_no_validation_set_is_needed_when_no_rule_uses_it() -> None:
    graph = Graph.build([(0, 1)], np.eye(3), [0, 1, 0], train=[0, 1])
    loop = TrainingLoop(PaperConfGCN(Shape.of(graph)), graph, Recipe(epochs=2, select="last"))
    loop.fit()
    assert loop.best is not None
    assert loop.best["epoch"] == 2


@pytest.mark.parametrize("name", ["optimiser/0/mean", "method/layers.0.weight"])
def test_a_state_of_another_shape_is_refused_before_anything_is_changed(small_graph: Graph, name: str) -> None:
    loop = TrainingLoop(PaperConfGCN(Shape.of(small_graph)), small_graph, Recipe(epochs=2))
    loop.run_epoch()
    tensors, record = state_of(loop)
    weights = {name: value.clone() for name, value in loop.method.state_dict().items()}
    with pytest.raises(CorruptFileError, match=name):
        restore(loop, {**tensors, name: torch.zeros(1)}, record)
    assert all(torch.equal(value, weights[name]) for name, value in loop.method.state_dict().items())


def test_validation_is_checked_every_so_many_epochs_and_after_the_last(graph: Graph) -> None:
    loop = TrainingLoop(Scripted(graph, [4, 1, 4, 2, 4, 4, 3]), graph, Recipe(epochs=7, evaluate_every=2))
    loop.fit()
    assert [record["epoch"] for record in loop.history if "validation_accuracy" in record] == [2, 4, 6, 7]
    assert loop.best is not None
    assert loop.best["epoch"] == 6


def test_patience_counts_validation_checks(graph: Graph) -> None:
    recipe = Recipe(epochs=100, stop="no_improvement", patience=2, evaluate_every=3)
    loop = TrainingLoop(Scripted(graph, [2] * 100), graph, recipe)
    loop.fit()
    assert len(loop.history) == 9


@pytest.mark.parametrize("stop", ["never", "no_improvement", "neither_improves", "rising_loss"])
@pytest.mark.parametrize("select", ["best_validation_accuracy", "best_validation_loss", "best_of_both", "last"])
def test_the_rules_of_a_resumed_loop_are_rebuilt_from_its_history(graph: Graph, select: str, stop: str) -> None:
    script = [1, 2, 2, 4, 3, 3, 2, 2, 1, 1, 0, 0]
    recipe = Recipe(epochs=12, evaluate_every=2, select=select, stop=stop, patience=2)
    uninterrupted = TrainingLoop(Scripted(graph, script), graph, recipe)
    uninterrupted.fit()
    for epochs in range(1, len(uninterrupted.history) + 1):
        first, resumed = (TrainingLoop(Scripted(graph, script), graph, recipe) for _ in range(2))
        for _ in range(epochs):
            first.run_epoch()
        restore(resumed, *state_of(first))
        assert (resumed.best, resumed.finished) == (first.best, first.finished)
        resumed.fit()
        assert (resumed.history, resumed.best) == (uninterrupted.history, uninterrupted.best)


@pytest.mark.parametrize("clip_norm", [0.01, 1e6])
def test_gradients_are_clipped_over_all_parameters(small_graph: Graph, clip_norm: float) -> None:
    method = PaperConfGCN(Shape.of(small_graph))
    loop = TrainingLoop(method, small_graph, Recipe(epochs=1, optimiser="sgd", clip_norm=clip_norm, learning_rate=1e-9))
    loop.compute_gradients()
    norm = torch.stack([p.grad.norm() for p in method.parameters() if p.grad is not None]).norm()
    assert (norm == pytest.approx(0.01, rel=1e-3)) is (clip_norm == 0.01)


def test_plain_descent_takes_the_step_of_its_rate(small_graph: Graph) -> None:
    method = PaperConfGCN(Shape.of(small_graph))
    before = {name: value.clone() for name, value in method.state_dict().items()}
    loop = TrainingLoop(method, small_graph, Recipe(epochs=1, optimiser="sgd", learning_rate=0.01))
    loop.compute_gradients()
    gradients = {name: parameter.grad for name, parameter in method.named_parameters()}
    loop.train_step()
    for name, parameter in method.named_parameters():
        torch.testing.assert_close(parameter.detach(), before[name] - 0.01 * gradients[name])
        assert parameter.grad is None


def test_what_only_training_needs_is_released(six_nodes: Graph) -> None:
    loop = TrainingLoop(PaperConfGCN(Shape.of(six_nodes)), six_nodes, Recipe(epochs=2))
    loop.fit()
    before, history = loop.predict().logits, list(loop.history)
    loop.release()
    assert all(parameter.grad is None for parameter in loop.method.parameters())
    assert (loop.optimiser, loop.best_weights, loop.finished) == (None, {}, True)
    assert torch.equal(loop.predict().logits, before)
    assert (loop.history, loop.best) == (history, history[loop.best["epoch"] - 1] if loop.best else None)
