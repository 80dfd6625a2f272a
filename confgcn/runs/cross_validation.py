"""Cross-fitting for graphs without validation nodes: every label is held out once, then all are trained on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from confgcn.confidence.calibration import stratified_folds
from confgcn.exceptions import DataError
from confgcn.graph import Graph
from confgcn.models.base import Prediction
from confgcn.runs.settings import RunSettings, make_method
from confgcn.training.callbacks import Callback
from confgcn.training.loop import TrainingLoop, check_trainable
from confgcn.training.recipe import Recipe
from confgcn.training.seed import seeded
from confgcn.training.selection import needs_validation

FOLDS = 5
FEWEST_LABELS = 2 * FOLDS
MAX_RECORDS = 50  # predictions of the held-out nodes during the longest training


@dataclass(frozen=True, eq=False)
class CrossFit:
    """The prediction of each training node by a training without its label.

    Attributes:
        prediction: of all nodes; only the rows of training nodes are meaningful, each from its own fold.
        recipe: for the training on all labels, with the number of epochs that the held-out labels suggest.
    """

    prediction: Prediction
    recipe: Recipe


@dataclass(frozen=True, eq=False)
class HeldOutPrediction:
    """Of held-out ``nodes`` (n,): ``logits`` (n, C), ``precision`` (n, C) or None, and their ``labels`` (n,)."""

    nodes: Tensor
    logits: Tensor
    precision: Tensor | None
    labels: Tensor


def needs_cross_fitting(graph: Graph, settings: RunSettings) -> bool:
    """Does a rule of the recipe need validation nodes where there are none?"""
    return not len(graph.validation) and needs_validation(settings.recipe.select, settings.recipe.stop)


def check_fittable(graph: Graph, settings: RunSettings) -> None:
    """Refuse a graph that can be trained on neither with validation nodes nor by cross-fitting."""
    if not needs_cross_fitting(graph, settings):
        check_trainable(graph, settings.recipe)
        return
    check_trainable(graph, _without_validation(settings.recipe, settings.recipe.epochs))
    if len(graph.train) < FEWEST_LABELS:
        raise DataError(
            f"{graph.name}: no validation nodes, and {len(graph.train)} labels are too few to hold out a fifth of them "
            f"in turn; at least {FEWEST_LABELS} are needed, or --set select=last --set stop=never"
        )
    if int((torch.bincount(graph.train_labels) > 1).sum()) < 2:
        raise DataError(
            f"{graph.name}: no validation nodes, and fewer than two classes have two labels, so that none can be held "
            f"out; use --set select=last --set stop=never{''.join(f'. {text}' for text in graph.reader_notices)}"
        )


def cross_fit(
    graph: Graph, settings: RunSettings, callbacks: Sequence[Callback] = (), *, seed: int, title: str = ""
) -> CrossFit:
    """Train on the prepared graph once for each fold of the training nodes, which is then the validation set.

    Classes are spread evenly over the folds. A class with a single label is missing from the training of its fold.
    ``title`` names what is cross-fitted to the callbacks.
    """
    fold = stratified_folds(graph.train_labels, FOLDS, seed=seed)
    records = []
    for number in range(FOLDS):
        split = replace(graph, train=graph.train[fold != number], validation=graph.train[fold == number])
        record = HeldOutRecord(settings.recipe.epochs)
        with seeded(seed):
            watching = [*callbacks, record]
            name = ", ".join(filter(None, [title, f"fold {number + 1} of {FOLDS}"]))
            TrainingLoop(
                make_method(split, settings), split, settings.recipe, watching, title=name, device=settings.device
            ).fit()
        records.append(record)
    epochs = _num_epochs(graph, records)
    held_out = [record.at(epochs) for record in records]
    return CrossFit(_joined(graph, held_out), _without_validation(settings.recipe, epochs))


def _num_epochs(graph: Graph, records: Sequence[HeldOutRecord]) -> int:
    """How long to train on all labels; as long as the longest fold where labels are too few to choose.

    With two labels in a class, training lacks half of the class when one is held out: its loss rises from the start.
    """
    if len(graph.train) < FOLDS * len(graph.train_labels.unique()):
        return max(epoch for record in records for epoch in record.predictions)
    return latest_not_clearly_worse([record.losses for record in records])


class HeldOutRecord(Callback):
    """The predictions of the validation nodes during a training, at regular intervals."""

    def __init__(self, epochs: int) -> None:
        self.interval = max(1, epochs // MAX_RECORDS)
        self.predictions: dict[int, HeldOutPrediction] = {}

    def on_epoch(self, loop: TrainingLoop) -> None:
        if len(loop.history) % self.interval == 0:
            self._record(loop)

    def on_end(self, loop: TrainingLoop) -> None:
        if not self.predictions:  # nothing to train, or less than an interval
            self._record(loop)

    def _record(self, loop: TrainingLoop) -> None:
        nodes, prediction = loop.graph.validation, loop.predict()
        precision = None if prediction.precision is None else prediction.precision[nodes]
        held_out = HeldOutPrediction(nodes, prediction.logits[nodes], precision, loop.validation_labels)
        self.predictions[max(len(loop.history), 1)] = held_out

    @property
    def losses(self) -> dict[int, Tensor]:
        """The log loss of every held-out label, by epoch."""
        return {epoch: cross_entropy(p.logits, p.labels, reduction="none") for epoch, p in self.predictions.items()}

    def at(self, epochs: int) -> HeldOutPrediction:
        """The last prediction up to so many epochs."""
        earlier = [epoch for epoch in self.predictions if epoch <= epochs]
        return self.predictions[max(earlier, default=min(self.predictions))]


def latest_not_clearly_worse(folds: Sequence[Mapping[int, Tensor]]) -> int:
    """The last epoch whose mean held-out loss, over all folds, is not clearly above the lowest.

    Clearly: by more than one standard error of the mean difference over labels. With few labels hardly any difference
    is clear, and the training is long. A fold that stopped early keeps its last losses.
    """
    epochs = sorted({epoch for fold in folds for epoch in fold})
    pooled = torch.stack([torch.cat([_last_until(fold, epoch) for fold in folds]) for epoch in epochs]).double()
    excess = pooled - pooled[pooled.mean(1).argmin()]
    error = excess.std(1) / math.sqrt(excess.shape[1])
    return epochs[int((excess.mean(1) <= error).nonzero().max())]


def _last_until(losses: Mapping[int, Tensor], epoch: int) -> Tensor:
    return losses[max((known for known in losses if known <= epoch), default=min(losses))]


def _without_validation(recipe: Recipe, epochs: int) -> Recipe:
    return recipe.model_copy(update={"epochs": epochs, "select": "last", "stop": "never"})


def _joined(graph: Graph, folds: Sequence[HeldOutPrediction]) -> Prediction:
    """The prediction of each training node by the training that held it out; zero for the others."""
    rows = [torch.cat([getattr(held_out, name) for held_out in folds]) for name in ("nodes", "logits")]
    logits = rows[1].new_zeros(graph.num_nodes, rows[1].shape[1]).index_copy(0, *rows)
    precisions = [held_out.precision for held_out in folds if held_out.precision is not None]
    if not precisions:
        return Prediction(logits)
    return Prediction(logits, precision=torch.ones_like(logits).index_copy(0, rows[0], torch.cat(precisions)))
