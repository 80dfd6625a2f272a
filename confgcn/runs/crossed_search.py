"""The search for settings where no labels are held out: every training label is held out in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from confgcn.confidence.calibration import stratified_folds
from confgcn.evaluation.metrics import best_inverse_temperature
from confgcn.graph import Graph
from confgcn.models.base import Prediction
from confgcn.runs.cross_validation import FOLDS, CrossFit, cross_fit
from confgcn.runs.search import (
    Search,
    SearchResult,
    Trained,
    Trial,
    calibrated,
    chosen_shares,
    combined,
    log_loss,
    propagated,
    train_all,
)
from confgcn.runs.settings import RunSettings
from confgcn.training.callbacks import Callback

SHORTLIST = 4  # candidates that are cross-fitted


def crossed_search(
    graph: Graph, settings: RunSettings, callbacks: Sequence[Callback] = (), *, seed: int
) -> SearchResult:
    """One fold of the training labels chooses a few candidates. These are cross-fitted, which chooses among them, and
    trained again on all labels.

    The influence is uniform: the models that teach an influence would know the labels that are held out.
    """
    search = Search(graph, settings, callbacks, seed=seed)
    trials = shortlist(search)
    crossed = [cross_fit(graph, search.settings_of(trial), callbacks, seed=seed) for trial in trials]
    trained = [_trained(search, trial, each) for trial, each in zip(trials, crossed, strict=True)]
    labels = graph.train_labels
    shares = chosen_shares(trained, labels)
    result = combined(trained, shares, labels)
    held_out = _consensus(graph, [trained[i].logits for i in shares], list(shares.values()))
    return replace(result, held_out=held_out)


def shortlist(search: Search) -> list[Trial]:
    """The candidates that predict one fold of the training labels best."""
    graph = search.graph
    is_held_out = stratified_folds(graph.train_labels, FOLDS, seed=search.seed) == 0
    split = replace(graph, train=graph.train[~is_held_out], validation=graph.train[is_held_out])
    labels = graph.labels[split.validation]
    first = Search(split, search.settings, search.callbacks, seed=search.seed)
    trials = [Trial(i, each, "uniform") for i, each in enumerate(search.settings.candidates)]
    trained = train_all(first.train, trials)
    trained.sort(key=lambda result: log_loss(calibrated(result.logits, labels), labels))
    return [result.trial for result in trained[:SHORTLIST]]


def _trained(search: Search, trial: Trial, crossed: CrossFit) -> Trained:
    settings = replace(search.settings_of(trial), recipe=crossed.recipe)
    loop = search.trained_loop(trial, settings, search.graph)
    logits = crossed.prediction.logits[search.graph.train]
    return Trained(trial, settings.model, propagated(loop), loop.history, loop.best, logits)


def _consensus(graph: Graph, logits: Sequence[Tensor], shares: Sequence[float]) -> Prediction:
    """The consensus of the predictions of training nodes; zero for other nodes."""
    labels = graph.train_labels
    inverse = [best_inverse_temperature(each, labels) for each in logits]
    mu = sum(share * (a * each).softmax(-1) for share, a, each in zip(shares, inverse, logits, strict=True))
    assert isinstance(mu, Tensor)
    consensus = mu.clamp(min=torch.finfo(mu.dtype).tiny).log()
    return Prediction(consensus.new_zeros(graph.num_nodes, graph.num_classes).index_copy(0, graph.train, consensus))
