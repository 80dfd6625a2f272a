"""The search for settings where no labels are held out: every training label is held out in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from confgcn.confidence.calibration import stratified_folds
from confgcn.evaluation.metrics import log_loss
from confgcn.graph import Graph
from confgcn.models.base import Prediction
from confgcn.runs.cross_validation import FOLDS, cross_fit
from confgcn.runs.search import (
    Search,
    SearchResult,
    Train,
    Trained,
    Trial,
    calibrated,
    chosen_shares,
    combined,
    train_all,
    trained_method,
)
from confgcn.runs.search_files import SavedCandidates
from confgcn.runs.search_record import edges_record
from confgcn.runs.settings import RunSettings
from confgcn.training.callbacks import Callback

SHORTLIST = 4  # candidates that are cross-fitted


def crossed_search(
    graph: Graph,
    settings: RunSettings,
    callbacks: Sequence[Callback] = (),
    *,
    seed: int,
    saved: SavedCandidates | None = None,
) -> SearchResult:
    """One fold of the training labels chooses a few candidates. These are cross-fitted, which chooses among them, and
    trained again on all labels.

    The influence is uniform: the models that teach an influence would know the labels that are held out. Candidates
    are kept in ``saved``, where given, and read from there when the search is resumed.
    """
    search = Search(graph, settings, callbacks, seed=seed)
    fold = _first_fold(search)
    first = train_all(_kept(saved, fold, fold.train), fold.trials())
    trials = shortlist(first, fold.graph)
    trained = train_all(_kept(saved, search, partial(_cross_fitted, search)), trials)
    labels = graph.train_labels
    shares = chosen_shares(trained, labels)
    result = combined(graph, trained, shares, labels)
    if result.record["edges"] is None:  # the shortlist may hold no candidate without edges
        result.record["edges"] = _edges_in_fold(first, fold.graph)
    held_out = _consensus(graph, [trained[i].logits for i in shares], list(shares.values()))
    return replace(result, held_out=held_out)


def _kept(saved: SavedCandidates | None, search: Search, train: Train) -> Train:
    return train if saved is None else saved.training(search, train)


def _first_fold(search: Search) -> Search:
    """The same search with one fold of the training labels as validation labels."""
    graph = search.graph
    is_held_out = stratified_folds(graph.train_labels, FOLDS, seed=search.seed) == 0
    split = replace(graph, train=graph.train[~is_held_out], validation=graph.train[is_held_out])
    return Search(split, search.settings, search.callbacks, seed=search.seed)


def shortlist(trained: Sequence[Trained], graph: Graph) -> list[Trial]:
    """The candidates that predict the validation labels best, as trainings that follow the first ones."""
    labels = graph.labels[graph.validation]
    order = sorted(trained, key=lambda result: log_loss(calibrated(result.logits, labels), labels))[:SHORTLIST]
    first = order[0].trial.total
    return [replace(result.trial, number=first + place, total=first + len(order)) for place, result in enumerate(order)]


def _edges_in_fold(trained: Sequence[Trained], graph: Graph) -> dict[str, Any] | None:
    labels = graph.labels[graph.validation]
    return edges_record(graph, trained, [calibrated(result.logits, labels) for result in trained], labels)


def _cross_fitted(search: Search, trial: Trial) -> Trained:
    """A candidate that is trained on all labels, with the logits of each label by a training without it."""
    settings = search.settings_of(trial)
    crossed = cross_fit(search.graph, settings, search.callbacks, seed=search.seed, title=trial.title)
    settings = replace(settings, recipe=crossed.recipe)
    loop = search.trained_loop(trial, settings, search.graph)
    logits = crossed.prediction.logits[search.graph.train]
    return Trained(trial, settings.model, trained_method(loop), loop.history, loop.best, logits)


def _consensus(graph: Graph, logits: Sequence[Tensor], shares: Sequence[float]) -> Prediction:
    """The consensus of the predictions of training nodes; zero for other nodes."""
    labels = graph.train_labels
    mu = sum(share * calibrated(each, labels) for share, each in zip(shares, logits, strict=True))
    assert isinstance(mu, Tensor)
    mu = mu.to(logits[0].dtype)
    consensus = mu.clamp(min=torch.finfo(mu.dtype).tiny).log()
    return Prediction(consensus.new_zeros(graph.num_nodes, graph.num_classes).index_copy(0, graph.train, consensus))
