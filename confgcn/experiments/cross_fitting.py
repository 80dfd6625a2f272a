"""A handful of labels and none to spare: each is held out once, and then all are trained on."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from confgcn.confidence.calibration import stratified_folds
from confgcn.exceptions import DataError
from confgcn.experiments.presets import RunSettings, make_method
from confgcn.graph import Graph
from confgcn.method import Prediction
from confgcn.training.callbacks import Callback
from confgcn.training.loop import TrainingLoop, check_trainable
from confgcn.training.recipe import Recipe
from confgcn.training.rules import needs_validation
from confgcn.training.seed import seeded

FOLDS = 5
FEWEST_LABELS = 2 * FOLDS


@dataclass(frozen=True, eq=False)
class CrossFit:
    """What was said of each training node by a training that had not seen its label.

    Attributes:
        prediction: of all nodes; only the rows of training nodes mean anything, and each is from its own fold.
        recipe: for the training on all labels: as long as the folds took, at their median.
    """

    prediction: Prediction
    recipe: Recipe


def is_needed(graph: Graph, settings: RunSettings) -> bool:
    """Does a rule of the recipe look at validation nodes where there are none?"""
    return not len(graph.validation) and needs_validation(settings.recipe.select, settings.recipe.stop)


def check_fittable(graph: Graph, settings: RunSettings) -> None:
    """Can the prepared graph be trained on, with validation nodes or by cross-fitting?"""
    if not is_needed(graph, settings):
        check_trainable(graph, settings.recipe)
        return
    check_trainable(graph, _without_validation(settings.recipe, settings.recipe.epochs))
    if len(graph.train) < FEWEST_LABELS:
        raise DataError(
            f"{graph.name}: no validation nodes, and {len(graph.train)} labels are too few to hold out a fifth of them "
            f"in turn; at least {FEWEST_LABELS} are needed, or select = 'last' and stop = 'never'"
        )
    if int((torch.bincount(graph.train_labels) > 1).sum()) < 2:
        raise DataError(
            f"{graph.name}: no validation nodes, and fewer than two classes have two labels, so that none can be held "
            "out; use select = 'last' and stop = 'never'"
        )


def cross_fit(graph: Graph, settings: RunSettings, callbacks: Sequence[Callback] = (), *, seed: int) -> CrossFit:
    """Train once for each fold of the training nodes, which is then the validation set; the graph is a prepared one.

    Classes are spread evenly over the folds. A class of a single label is missing from one training in its fold.
    """
    fold = stratified_folds(graph.train_labels, FOLDS, seed=seed)
    parts, epochs = [], []
    for number in range(FOLDS):
        held_out = graph.train[fold == number]
        part = replace(graph, train=graph.train[fold != number], validation=held_out)
        with seeded(seed):
            title = f"fold {number + 1} of {FOLDS}"
            loop = TrainingLoop(make_method(part, settings), part, settings.recipe, callbacks, title=title)
            loop.fit()
        parts.append((held_out, loop.predict()))
        epochs.append(loop.best["epoch"] if loop.best else 1)
    return CrossFit(_joined(parts), _without_validation(settings.recipe, round(statistics.median(epochs))))


def _without_validation(recipe: Recipe, epochs: int) -> Recipe:
    return recipe.model_copy(update={"epochs": epochs, "select": "last", "stop": "never"})


def _joined(parts: list[tuple[Tensor, Prediction]]) -> Prediction:
    """Of each node the rows of the training that held it out; of the others those of the first."""
    _, first = parts[0]
    logits = first.logits.clone()
    precision = None if first.precision is None else first.precision.clone()
    with torch.no_grad():
        for nodes, prediction in parts:
            logits[nodes] = prediction.logits[nodes]
            if precision is not None and prediction.precision is not None:
                precision[nodes] = prediction.precision[nodes]
    return Prediction(logits, precision=precision)
