"""A handful of labels and none to spare: each is held out once, and then all are trained on."""

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
RECORDS = 50  # looks at the held-out labels during the longest training


@dataclass(frozen=True, eq=False)
class CrossFit:
    """What was said of each training node by a training that had not seen its label.

    Attributes:
        prediction: of all nodes; only the rows of training nodes mean anything, and each is from its own fold.
        recipe: for the training on all labels: as long as the held-out labels speak for.
    """

    prediction: Prediction
    recipe: Recipe


@dataclass(frozen=True, eq=False)
class Said:
    """What was said of held-out ``nodes`` (n,): ``logits`` and ``precision`` (n, C) or None; and their ``labels``."""

    nodes: Tensor
    logits: Tensor
    precision: Tensor | None
    labels: Tensor


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
            f"in turn; at least {FEWEST_LABELS} are needed, or --set select=last --set stop=never"
        )
    if int((torch.bincount(graph.train_labels) > 1).sum()) < 2:
        raise DataError(
            f"{graph.name}: no validation nodes, and fewer than two classes have two labels, so that none can be held "
            f"out; use --set select=last --set stop=never{''.join(f'. {text}' for text in graph.reader_notices)}"
        )


def cross_fit(graph: Graph, settings: RunSettings, callbacks: Sequence[Callback] = (), *, seed: int) -> CrossFit:
    """Train once for each fold of the training nodes, which is then the validation set; the graph is a prepared one.

    Classes are spread evenly over the folds. A class of a single label is missing from one training in its fold.
    """
    fold = stratified_folds(graph.train_labels, FOLDS, seed=seed)
    records = []
    for number in range(FOLDS):
        part = replace(graph, train=graph.train[fold != number], validation=graph.train[fold == number])
        record = HeldOutRecord(settings.recipe.epochs)
        with seeded(seed):
            watching = [*callbacks, record]
            title = f"fold {number + 1} of {FOLDS}"
            TrainingLoop(
                make_method(part, settings), part, settings.recipe, watching, title=title, device=settings.device
            ).fit()
        records.append(record)
    epochs = _length(graph, records)
    parts = [record.at(epochs) for record in records]
    return CrossFit(_joined(graph, parts), _without_validation(settings.recipe, epochs))


def _length(graph: Graph, records: Sequence[HeldOutRecord]) -> int:
    """How long to train on all labels; as long as any fold where labels are too few to be asked.

    Of a class of two labels the one that is held out is missed so much that it speaks against any training.
    """
    if len(graph.train) < FOLDS * len(graph.train_labels.unique()):
        return max(epoch for record in records for epoch in record.said)
    return latest_not_clearly_worse([record.losses for record in records])


class HeldOutRecord(Callback):
    """What a training says of its validation nodes, every so many epochs."""

    def __init__(self, epochs: int) -> None:
        self.interval = max(1, epochs // RECORDS)
        self.said: dict[int, Said] = {}

    def on_epoch(self, loop: TrainingLoop) -> None:
        if len(loop.history) % self.interval == 0:
            self._look(loop)

    def on_end(self, loop: TrainingLoop) -> None:
        if not self.said:  # nothing to train, or less than an interval
            self._look(loop)

    def _look(self, loop: TrainingLoop) -> None:
        nodes, prediction = loop.graph.validation, loop.predict()
        precision = None if prediction.precision is None else prediction.precision[nodes]
        self.said[max(len(loop.history), 1)] = Said(nodes, prediction.logits[nodes], precision, loop.validation_labels)

    @property
    def losses(self) -> dict[int, Tensor]:
        """The log loss of every held-out label, by epoch."""
        return {epoch: cross_entropy(said.logits, said.labels, reduction="none") for epoch, said in self.said.items()}

    def at(self, epochs: int) -> Said:
        """What was said after so many epochs, or by the last look before."""
        return self.said[max((epoch for epoch in self.said if epoch <= epochs), default=min(self.said))]


def latest_not_clearly_worse(folds: Sequence[Mapping[int, Tensor]]) -> int:
    """The last epoch at which the held-out labels of all folds are not clearly worse off than at their best.

    Clearly: by more than one standard error of the mean difference over labels. Where few are held out hardly anything
    is clear, and the training is a long one. A fold that stopped early has its last losses from there on.
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


def _joined(graph: Graph, parts: Sequence[Said]) -> Prediction:
    """Of each training node what was said by the training that held it out; zero for the others."""
    rows = [torch.cat([getattr(said, name) for said in parts]) for name in ("nodes", "logits")]
    logits = rows[1].new_zeros(graph.num_nodes, rows[1].shape[1]).index_copy(0, *rows)
    precisions = [said.precision for said in parts if said.precision is not None]
    if not precisions:
        return Prediction(logits)
    return Prediction(logits, precision=torch.ones_like(logits).index_copy(0, rows[0], torch.cat(precisions)))
