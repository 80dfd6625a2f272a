"""A trained method, by one training or by a search for settings, with what a run records of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from confgcn.evaluation.metrics import accuracy
from confgcn.exceptions import UsageError
from confgcn.graph import Graph
from confgcn.io.memory import check_memory
from confgcn.models.base import AbstractMethod, Prediction
from confgcn.runs.cross_validation import CrossFit, needs_cross_fitting
from confgcn.runs.crossed_search import crossed_search
from confgcn.runs.run import finite_prediction
from confgcn.runs.search import MOST_MEMBERS, Search
from confgcn.runs.search_files import SavedCandidates
from confgcn.runs.settings import RunSettings, make_method
from confgcn.training.callbacks import Callback
from confgcn.training.loop import TrainingLoop
from confgcn.training.selection import Record

Notify = Callable[[str], None]

WITHOUT_VALIDATION = (
    "no validation nodes: every label is held out once to choose the number of epochs and to calibrate, then all are "
    "trained on; guarantees are approximate, nothing is certified"
)


@dataclass(frozen=True, eq=False)
class Fitted:
    """A trained method: by one training, or by a search, whose ``record`` is then not None (``search_record``)."""

    method: AbstractMethod
    prediction: Prediction
    history: list[Record]
    best: Record | None
    held_out: Prediction | None = None
    record: dict[str, Any] | None = None

    @classmethod
    def of(cls, loop: TrainingLoop, crossed: CrossFit | None) -> Fitted:
        """Of a training that has ended."""
        loop.release()  # before the prediction: what only training needs is most of the memory
        held_out = crossed.prediction if crossed else None
        return cls(loop.method, loop.predict(), loop.history, loop.best, held_out)


def searches(graph: Graph, settings: RunSettings) -> bool:
    """Are there candidates, and labels to choose among them by: held out, or held out in turn?

    Otherwise the model of the preset is trained as it is.
    """
    return settings.searches and (len(graph.validation) > 0 or needs_cross_fitting(graph, settings))


def fit_by_search(
    graph: Graph,
    settings: RunSettings,
    callbacks: Sequence[Callback],
    *,
    seed: int,
    notify: Notify,
    saved: SavedCandidates | None = None,
) -> Fitted:
    """Search for settings; candidates that an interrupted search has trained are read from ``saved``."""
    if needs_cross_fitting(graph, settings):
        notify(WITHOUT_VALIDATION)
        result = crossed_search(graph, settings, callbacks, seed=seed, saved=saved)
    else:
        search = Search(graph, settings, callbacks, seed=seed)
        result = search.run(None if saved is None else saved.training(search, search.train))
    prediction = finite_prediction(result.method, graph)
    best = result.best
    if best is not None and len(graph.validation):
        logits = prediction.logits[graph.validation]
        best = {**best, "validation_accuracy": accuracy(logits, graph.labels[graph.validation])}
    return Fitted(result.method, prediction, result.history, best, result.held_out, result.record)


def check_influence(settings: RunSettings, *, searching: bool) -> None:
    """Refuse learned influence where no search trains the models to learn it from, before anything is written."""
    if settings.model.get("influence") == "learned" and not searching:
        raise UsageError(
            "influence = 'learned': it is learned from the models of a search, and here one model is trained; search "
            "with held-out labels to choose by (search = true), or use influence = 'uniform'"
        )


def check_memory_of_methods(graph: Graph, settings: RunSettings) -> None:
    """Refuse settings whose weights cannot be trained here; a search keeps all trained candidates until it chooses.

    This also checks the settings of every candidate before anything is written.
    """
    with torch.device("meta"):
        if not settings.searches:
            check_memory(make_method(graph, settings))
            return
        methods = [make_method(graph, candidate.applied_to(settings)) for candidate in settings.candidates]
    methods.sort(key=lambda method: sum(weight.numel() for weight in method.parameters()), reverse=True)
    check_memory(methods[0], kept=[*methods, *methods[:MOST_MEMBERS]])  # the chosen ones are trained twice
