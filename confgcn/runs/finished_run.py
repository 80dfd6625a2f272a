"""A finished training with everything that was found, in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from confgcn.confidence.assessment import Assessment
from confgcn.graph import Graph
from confgcn.models.base import AbstractMethod, Prediction
from confgcn.training.loop import TrainingLoop
from confgcn.training.selection import Record


@dataclass(frozen=True, eq=False)
class Trained:
    """What a training has come to: the method with its selected weights, and what it says of the ``graph`` it saw.

    With ``feature_probabilities`` (train, C), see ``find_label_errors``, the graph needs no features any more.
    """

    graph: Graph
    method: AbstractMethod
    prediction: Prediction
    history: list[Record]
    best: Record | None
    validation_accuracy: float | None
    feature_probabilities: Tensor | None = None

    @classmethod
    def by(cls, loop: TrainingLoop) -> Trained:
        """In the loop's own process, which then lets go of what only training needs: most of the memory."""
        loop.release()
        accuracy = (loop.best or loop.validate()).get("validation_accuracy")
        return cls(loop.graph, loop.method, loop.predict(), loop.history, loop.best, accuracy)


@dataclass(frozen=True, eq=False)
class FinishedRun:
    """What a run directory holds.

    Attributes:
        graph, prepared: as it was loaded, and as the method saw it, but with all labels.
        held_out: what was said of each training node without its label, where labels were too few to hold any back.
    """

    graph: Graph
    prepared: Graph
    method: AbstractMethod
    config: dict[str, Any]
    prediction: Prediction
    held_out: Prediction | None
    assessment: Assessment
    history: list[Record]
    metrics: dict[str, Any]
