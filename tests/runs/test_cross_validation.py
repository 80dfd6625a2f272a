"""Every label is held out once, by a training that did not see it; then all are trained on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from confgcn.confidence.calibration import stratified_folds
from confgcn.data.load import load_graph
from confgcn.data.synthetic import block_model
from confgcn.exceptions import DataError
from confgcn.graph import Graph
from confgcn.runs.cross_validation import (
    FEWEST_LABELS,
    check_fittable,
    cross_fit,
    latest_not_clearly_worse,
    needs_cross_fitting,
)
from confgcn.runs.request import RunRequest, run_config
from confgcn.runs.saved import load_run
from confgcn.runs.settings import make_method, resolve
from confgcn.runs.train import fit_in_memory, train
from confgcn.training.callbacks import Callback
from confgcn.training.loop import TrainingLoop
from confgcn.training.seed import seeded

SETTINGS = resolve("gcn", "default", "demo", {"epochs": 4})
NOTHING = torch.empty(0, dtype=torch.long)


@pytest.fixture
def unsplit() -> Graph:
    return replace(block_model(60, num_features=8, mean_degree=3.0, seed=0, per_class=5), validation=NOTHING)


class Watcher(Callback):
    """Keeps the parts of every training."""

    def __init__(self) -> None:
        self.parts: list[tuple[list[int], list[int]]] = []

    def on_setup(self, loop: TrainingLoop) -> None:
        self.parts.append((loop.graph.train.tolist(), loop.graph.validation.tolist()))


def test_it_is_needed_only_where_a_rule_wants_validation_nodes(unsplit: Graph) -> None:
    assert needs_cross_fitting(unsplit, SETTINGS)
    assert not needs_cross_fitting(unsplit, resolve("gcn", "default", "demo", {"select": "last", "stop": "never"}))
    assert not needs_cross_fitting(replace(unsplit, validation=unsplit.test), SETTINGS)


def test_every_label_is_held_out_exactly_once(unsplit: Graph) -> None:
    watcher = Watcher()
    cross_fit(unsplit, SETTINGS, [watcher], seed=0)
    assert sorted(node for _, held_out in watcher.parts for node in held_out) == unsplit.train.tolist()
    for train_nodes, held_out in watcher.parts:
        assert sorted(train_nodes + held_out) == unsplit.train.tolist()


def test_a_prediction_of_a_label_does_not_depend_on_it(unsplit: Graph) -> None:
    node = int(unsplit.train[0])
    other = unsplit.labels.clone()
    other[node] = (other[node] + 1) % unsplit.num_classes
    folds = resolve("feat", "default", "demo", {"epochs": 4, "select": "best_validation_loss"})
    watcher = Watcher()
    before = cross_fit(unsplit, folds, [watcher], seed=0).prediction.logits[node]
    after = cross_fit(replace(unsplit, labels=other), folds, [watcher], seed=0).prediction.logits[node]
    same_fold = [held_out for _, held_out in watcher.parts if node in held_out]
    assert len(same_fold) == 2
    if same_fold[0] == same_fold[1]:  # another label can move the folds
        torch.testing.assert_close(before, after)


def test_all_labels_are_trained_on_for_as_long_as_the_folds_took(unsplit: Graph) -> None:
    found = cross_fit(unsplit, SETTINGS, seed=0)
    assert (found.recipe.select, found.recipe.stop) == ("last", "never")
    assert 1 <= found.recipe.epochs <= SETTINGS.recipe.epochs


def test_too_few_labels_are_refused_by_number(unsplit: Graph) -> None:
    few = replace(unsplit, train=unsplit.train[: FEWEST_LABELS - 1])
    with pytest.raises(DataError, match=f"{FEWEST_LABELS - 1} labels are too few"):
        check_fittable(few, SETTINGS)
    check_fittable(unsplit, SETTINGS)


def test_a_run_without_validation_nodes_is_marked_and_calibrated(tmp_path: Path) -> None:
    notices: list[str] = []
    request = RunRequest("demo", "gcn", overrides={"epochs": 8, "held_back_validation": 1.0}, out=tmp_path / "run")
    metrics = train(request, notify=notices.append)["runs"][0]
    assert metrics["cross_fitted"]
    assert metrics["validation_accuracy"] is None
    assert any("approximate" in notice for notice in notices)
    run, graph = load_run(tmp_path / "run"), load_graph("demo")
    assert run.calibration.num_labels == len(graph.train)
    rows = (tmp_path / "run" / "predictions.csv").read_text().splitlines()
    assert rows[0].startswith("node,label,probability,raw_probability,set,accepted")
    assert all(row.split(",")[4] for row in rows[1:])


def test_training_is_as_long_as_is_not_clearly_worse() -> None:
    def losses(*means: float, spread: float = 0.01) -> dict[int, torch.Tensor]:
        each = torch.tensor([-spread, spread])
        return {10 * (place + 1): mean + each * (place + 1) for place, mean in enumerate(means)}

    rising = [losses(1.0, 0.5, 0.8), losses(1.0, 0.5, 0.8)]
    assert latest_not_clearly_worse(rising) == 20
    unclear = [losses(1.0, 0.5, 0.51, spread=1.0), losses(1.0, 0.5, 0.51, spread=1.0)]
    assert latest_not_clearly_worse(unclear) == 30
    stopped = [losses(1.0, 0.5), losses(1.0, 0.5, 0.2)]  # the first keeps its last losses
    assert latest_not_clearly_worse(stopped) == 30
    assert latest_not_clearly_worse([{1: torch.tensor([0.3, 0.4])}]) == 1


def test_what_is_said_of_a_label_is_from_the_epoch_that_all_are_trained_for(unsplit: Graph) -> None:
    found = cross_fit(unsplit, SETTINGS, seed=0)
    fold = stratified_folds(unsplit.train_labels, 5, seed=0)
    part = replace(unsplit, train=unsplit.train[fold != 0], validation=unsplit.train[fold == 0])
    recipe = SETTINGS.recipe.model_copy(update={"epochs": found.recipe.epochs, "select": "last", "stop": "never"})
    with seeded(0):
        loop = TrainingLoop(make_method(part, SETTINGS), part, recipe)
        loop.fit()
    held_out = part.validation
    torch.testing.assert_close(found.prediction.logits[held_out], loop.predict().logits[held_out])


def test_two_labels_a_class_are_trained_on_long_enough_to_be_of_use() -> None:
    graph = replace(block_model(200, num_classes=5, seed=1, per_class=2, feature_noise=0.5), validation=NOTHING)
    request = RunRequest(graph, overrides={"epochs": 100})
    run = fit_in_memory(graph, request.settings(), run_config(request), notify=lambda _: None)
    assert run.metrics["test_accuracy"] > 0.6
