"""The search for settings: train the candidates of a preset, and combine those that predict held-out labels best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from confgcn.evaluation.metrics import best_inverse_temperature, total_log_loss
from confgcn.exceptions import DivergedError
from confgcn.graph import Graph
from confgcn.models.base import AbstractMethod, Prediction
from confgcn.models.confgcn.ensemble import PropagatedEnsemble
from confgcn.models.confgcn.learned_influence import LearnedInfluence
from confgcn.models.confgcn.propagated import PropagatedConfGCN
from confgcn.runs.cross_validation import CrossFit, cross_fit, needs_cross_fitting
from confgcn.runs.settings import Candidate, RunSettings, make_method
from confgcn.training.callbacks import Callback
from confgcn.training.loop import TrainingLoop
from confgcn.training.seed import seeded
from confgcn.training.selection import Record

MOST_MEMBERS = 5  # picks of the greedy selection, which may repeat a member
SMALLEST_GAIN = 1e-3  # of the log loss, for which another member is added

Train = Callable[["Trial"], "Trained"]


@dataclass(frozen=True)
class Trial:
    """A candidate with the influence it is trained with."""

    number: int
    candidate: Candidate
    influence: str

    @property
    def name(self) -> str:
        """For people and records."""
        return self.candidate.name if self.influence == "uniform" else f"{self.candidate.name}, learned influence"


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained candidate.

    Attributes:
        options: of the model.
        logits: of the held-out labels, (n, C); from trainings without the label where labels are held out in turn.
        crossed: where labels were held out in turn.
    """

    trial: Trial
    options: dict[str, Any]
    method: PropagatedConfGCN
    history: list[Record]
    best: Record | None
    logits: Tensor
    crossed: CrossFit | None = None


@dataclass(frozen=True, eq=False)
class SearchResult:
    """What a search ends with.

    Attributes:
        method: the consensus of the chosen candidates.
        members: the options of each.
        history, best: of the candidate with the largest share.
        held_out: predictions of training nodes without their labels, where labels were held out in turn.
        record: for metrics.json: every candidate with its held-out log loss and its share.
    """

    method: PropagatedEnsemble
    members: list[dict[str, Any]]
    history: list[Record]
    best: Record | None
    held_out: Prediction | None
    record: list[dict[str, Any]]


class Search:
    """Train candidates with uniform influence, then the chosen ones with the influence that they teach.

    ``seed`` seeds every training: a candidate's result does not depend on those before it, so that a resumed search
    ends with the same bits.
    """

    def __init__(self, graph: Graph, settings: RunSettings, callbacks: Sequence[Callback] = (), *, seed: int) -> None:
        self.graph, self.settings, self.callbacks, self.seed = graph, settings, callbacks, seed
        self.is_crossed = needs_cross_fitting(graph, settings)
        self.nodes = graph.train if self.is_crossed else graph.validation
        self.labels = graph.labels[self.nodes]

    def run(self, train: Train | None = None) -> SearchResult:
        """Train and choose; ``train`` may return a candidate that an interrupted search has trained already."""
        train = train or self.train
        influence = self.settings.model["influence"]
        uniform = [train(Trial(i, candidate, "uniform")) for i, candidate in enumerate(self.settings.candidates)]
        shares = self.choose(uniform)
        trained = uniform
        if influence != "uniform":
            teachers = [uniform[i] for i in shares]
            self.teacher = LearnedInfluence([teacher.method for teacher in teachers])
            learned = [
                train(Trial(len(uniform) + i, uniform[i].trial.candidate, "learned"))
                for i in shares
                if uniform[i].method.channels != "own"
            ]
            trained = [*uniform, *learned]
            shares = self.choose(trained, range(len(uniform), len(trained)) if influence == "learned" else None)
            kept = {i: 0.0 for i, result in enumerate(uniform) if result in teachers}
            shares = {**(kept if any(i >= len(uniform) for i in shares) else {}), **shares}
        return self.combined(trained, shares)

    def train(self, trial: Trial) -> Trained:
        """Train one candidate."""
        settings = self.settings_of(trial)
        with seeded(self.seed):
            loop = self._loop(trial, settings, self.graph)
            loop.fit()
        logits = loop.predict(self.nodes).logits_of(self.nodes)
        assert isinstance(loop.method, PropagatedConfGCN)
        return Trained(trial, settings.model, loop.method, loop.history, loop.best, logits)

    def settings_of(self, trial: Trial) -> RunSettings:
        """The settings of a candidate: those of the run, where the user has not set them."""
        settings = trial.candidate.applied_to(self.settings)
        return replace(settings, model={**settings.model, "influence": trial.influence})

    def _loop(self, trial: Trial, settings: RunSettings, graph: Graph) -> TrainingLoop:
        method = make_method(graph, settings)
        assert isinstance(method, PropagatedConfGCN)
        if trial.influence == "learned":
            method.learn_influence_from(self.teacher)
        title = f"candidate {trial.number + 1}: {trial.name}"
        return TrainingLoop(method, graph, settings.recipe, self.callbacks, title=title, device=settings.device)

    def choose(self, trained: Sequence[Trained], among: Sequence[int] | None = None) -> dict[int, float]:
        """The shares of the chosen candidates by number: see :func:`greedy_shares`."""
        probabilities = [calibrated(result.logits, self.labels) for result in trained]
        return greedy_shares(probabilities, self.labels, range(len(trained)) if among is None else among)

    def combined(self, trained: Sequence[Trained], shares: dict[int, float]) -> SearchResult:
        """The consensus of the chosen candidates."""
        members = [trained[i] for i in shares]
        temperatures = [1.0 / best_inverse_temperature(member.logits, self.labels) for member in members]
        ensemble = PropagatedEnsemble.of([member.method for member in members], list(shares.values()), temperatures)
        main = trained[max(shares, key=lambda i: shares[i])]
        record = [
            {
                "candidate": result.trial.name,
                "influence": result.trial.influence,
                "log_loss": log_loss(calibrated(result.logits, self.labels), self.labels),
                "share": shares.get(number, 0.0),
            }
            for number, result in enumerate(trained)
        ]
        return SearchResult(ensemble, [m.options for m in members], main.history, main.best, None, record)


def calibrated(logits: Tensor, labels: Tensor) -> Tensor:
    """Probabilities at the temperature that suits these labels best, (n, C)."""
    return (logits.double() * best_inverse_temperature(logits, labels)).softmax(-1)


def log_loss(probabilities: Tensor, labels: Tensor) -> float:
    """The mean log loss of probabilities (n, C)."""
    smallest = torch.finfo(probabilities.dtype).tiny
    return total_log_loss(probabilities.clamp(min=smallest).log(), labels) / len(labels)


def greedy_shares(probabilities: Sequence[Tensor], labels: Tensor, among: Sequence[int]) -> dict[int, float]:
    """The shares of a consensus with a low log loss: add the member that lowers it most, until none does.

    A member can be added again (Caruana and others: Ensemble selection from libraries of models, ICML 2004).
    """
    picks: list[int] = []
    total, best = torch.zeros_like(probabilities[0]), float("inf")
    while len(picks) < MOST_MEMBERS:
        losses = {i: log_loss((total + probabilities[i]) / (len(picks) + 1), labels) for i in among}
        lowest = min(losses, key=lambda i: losses[i])
        if losses[lowest] > best - SMALLEST_GAIN:
            break
        best, total = losses[lowest], total + probabilities[lowest]
        picks.append(lowest)
    return {i: picks.count(i) / len(picks) for i in sorted(set(picks))}
