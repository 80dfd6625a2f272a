"""A finished training with everything that was found, in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from confgcn.confidence.assessment import Assessment
from confgcn.graph import Graph
from confgcn.method import AbstractMethod, Prediction
from confgcn.training.rules import Record


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
