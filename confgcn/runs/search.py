"""The search for settings: train the candidates of a preset, and combine those that predict held-out labels best."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import torch
from torch import Tensor

from confgcn.evaluation.logit_scaling import fit_logit_scaling
from confgcn.evaluation.metrics import log_loss
from confgcn.exceptions import DivergedError
from confgcn.graph import Graph
from confgcn.models.base import Prediction
from confgcn.models.confgcn.ensemble import PropagatedEnsemble
from confgcn.models.confgcn.learned_influence import LearnedInfluence
from confgcn.models.confgcn.propagated import PropagatedConfGCN
from confgcn.runs.result_notices import label_losses, mean_and_error
from confgcn.runs.search_record import candidate_records, consensus, edges_record, influence_record
from confgcn.runs.settings import Candidate, RunSettings, make_method
from confgcn.training.callbacks import Callback
from confgcn.training.loop import TrainingLoop
from confgcn.training.seed import seeded
from confgcn.training.selection import Record

MOST_MEMBERS = 5  # picks of the greedy selection, which may repeat a member
SMALLEST_GAIN = 1e-3  # of the log loss, for which another member is added


@dataclass(frozen=True)
class Trial:
    """A candidate with the influence it is trained with: training ``number`` of ``total`` that are known so far."""

    number: int
    total: int
    candidate: Candidate
    influence: Literal["uniform", "learned"] = "uniform"

    @property
    def name(self) -> str:
        """For people and records."""
        return self.candidate.name if self.influence == "uniform" else f"{self.candidate.name}, learned influence"

    @property
    def title(self) -> str:
        """For the display of progress."""
        return f"candidate {self.number + 1} of {self.total}: {self.name}"


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained candidate.

    Attributes:
        options: of the model.
        best: the record of the selected epoch.
        logits: of the labels that choose, (n, C), predicted without them.
    """

    trial: Trial
    options: dict[str, Any]
    method: PropagatedConfGCN
    history: list[Record]
    best: Record | None
    logits: Tensor


Train = Callable[[Trial], Trained]
Influence = Literal["uniform", "learned", "chosen"]


@dataclass(frozen=True, eq=False)
class TrainedCandidates:
    """All candidates with uniform influence, the shares of the chosen ones by number, and these with learned influence.

    ``learned`` is empty where learned influence was not requested, or where no chosen candidate uses it.
    """

    uniform: list[Trained]
    shares: dict[int, float]
    learned: list[Trained] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class SearchResult:
    """What a search ends with.

    Attributes:
        method: the consensus of the chosen candidates.
        history, best: of the candidate with the largest share.
        held_out: predictions of training nodes without their labels, where labels were held out in turn.
        record: for metrics.json: see ``search_record``.
    """

    method: PropagatedEnsemble
    history: list[Record]
    best: Record | None
    held_out: Prediction | None
    record: dict[str, Any]


class Search:
    """Train candidates with uniform influence, then the chosen ones with the influence that these teach.

    Validation labels choose. Every training is seeded by ``seed``, so that a candidate's result does not depend on
    those before it, and a resumed search ends with the same bits. A candidate that diverges is left out.
    """

    def __init__(self, graph: Graph, settings: RunSettings, callbacks: Sequence[Callback] = (), *, seed: int) -> None:
        self.graph, self.settings, self.callbacks, self.seed = graph, settings, callbacks, seed
        self.teacher: LearnedInfluence | None = None

    def run(self, train: Train | None = None) -> SearchResult:
        """Train and choose; ``train`` may return a candidate that an interrupted search has trained already."""
        influence: Influence = self.settings.model["influence"]
        return self.combine(self.train_candidates(train, with_learned=influence != "uniform"), influence)

    def train_candidates(self, train: Train | None = None, *, with_learned: bool = True) -> TrainedCandidates:
        """Train all candidates with uniform influence and, on request, the chosen ones with learned influence."""
        train = train or self.train
        uniform = train_all(train, self.trials())
        shares = chosen_shares(uniform, self.graph.labels[self.graph.validation])
        if not with_learned:
            return TrainedCandidates(uniform, shares)
        teachers = [uniform[i] for i in shares]
        self.teacher = LearnedInfluence([teacher.method for teacher in teachers])
        first = len(self.settings.candidates)
        retrained = [teacher.trial.candidate for teacher in teachers if teacher.method.uses_influence]
        total = first + len(retrained)
        trials = [Trial(first + i, total, each, "learned") for i, each in enumerate(retrained)]
        learned = those_that_converge(train, trials)[0]
        return TrainedCandidates(uniform, shares, learned)

    def combine(self, candidates: TrainedCandidates, influence: Influence) -> SearchResult:
        """The consensus of trained candidates with this influence; nothing is trained.

        ``chosen``: of both kinds where that predicts the labels that choose clearly better than uniform influence, by
        more than the standard error of the difference; else of uniform influence.
        """
        uniform, shares, labels = candidates.uniform, candidates.shares, self.graph.labels[self.graph.validation]
        if influence == "uniform":
            return combined(self.graph, uniform, shares, labels)
        trained = [*uniform, *candidates.learned]
        taught = range(len(uniform), len(trained))
        # A model that did not teach stays out: in the consensus it would change the influences that were learned from.
        final = chosen_shares(trained, labels, taught if influence == "learned" and taught else [*shares, *taught])
        if influence == "chosen" and not _is_clearly_better(trained, final, shares, labels):
            final = shares
        if any(i >= len(uniform) for i in final):
            final = {**dict.fromkeys(shares, 0.0), **final}  # the teachers are part of the model
        return combined(self.graph, trained, final, labels, uniform_shares=shares)

    def trials(self) -> list[Trial]:
        """The candidates with uniform influence."""
        candidates = self.settings.candidates
        return [Trial(number, len(candidates), each) for number, each in enumerate(candidates)]

    def train(self, trial: Trial) -> Trained:
        """Train one candidate."""
        return self.trained(trial, self.trained_loop(trial, self.settings_of(trial), self.graph))

    def trained(self, trial: Trial, loop: TrainingLoop) -> Trained:
        """The candidate that a loop has trained."""
        logits, options = loop.predict(self.graph.validation).logits, self.settings_of(trial).model
        return Trained(trial, options, trained_method(loop), loop.history, loop.best, logits)

    def settings_of(self, trial: Trial) -> RunSettings:
        """The settings of a candidate."""
        settings = trial.candidate.applied_to(self.settings)
        return replace(settings, model={**settings.model, "influence": trial.influence})

    def new_method(self, trial: Trial, settings: RunSettings) -> PropagatedConfGCN:
        """A candidate before its training."""
        method = make_method(self.graph, settings)
        assert isinstance(method, PropagatedConfGCN)
        if trial.influence == "learned":
            assert self.teacher is not None
            method.learn_influence_from(self.teacher)
        return method

    def trained_loop(self, trial: Trial, settings: RunSettings, graph: Graph) -> TrainingLoop:
        """The loop that has trained a candidate on this graph."""
        with seeded(self.seed):
            method = self.new_method(trial, settings)
            loop = TrainingLoop(
                method, graph, settings.recipe, self.callbacks, title=trial.title, device=settings.device
            )
            loop.fit()
        loop.release()
        return loop


def train_all(train: Train, trials: Sequence[Trial]) -> list[Trained]:
    """Those that do not diverge; the last error where all do."""
    trained, error = those_that_converge(train, trials)
    if error is not None and not trained:
        raise error
    return trained


def those_that_converge(train: Train, trials: Sequence[Trial]) -> tuple[list[Trained], DivergedError | None]:
    """Those that do not diverge, and the last error."""
    trained, last = [], None
    for trial in trials:
        try:
            trained.append(train(trial))
        except DivergedError as error:
            last = error
    return trained, last


def trained_method(loop: TrainingLoop) -> PropagatedConfGCN:
    """The model that a loop has trained, without what it has kept of the graph."""
    assert isinstance(loop.method, PropagatedConfGCN)
    loop.method.forget_inputs()
    return loop.method


def combined(
    graph: Graph,
    trained: Sequence[Trained],
    shares: Mapping[int, float],
    labels: Tensor,
    *,
    uniform_shares: Mapping[int, float] | None = None,
) -> SearchResult:
    """The consensus of the chosen candidates; ``uniform_shares`` are those without learned influence, to compare."""
    members = [trained[i] for i in shares]
    scalings = [fit_logit_scaling(member.logits, labels) for member in members]
    method = PropagatedEnsemble.of(
        [member.method for member in members],
        [member.options for member in members],
        list(shares.values()),
        [scaling.inverse_temperature for scaling in scalings],
        [scaling.offsets for scaling in scalings],
    )
    probabilities = [calibrated(result.logits, labels) for result in trained]
    record = {
        "search": candidate_records(trained, probabilities, shares, labels),
        "edges": edges_record(graph, trained, probabilities, labels),
        "influence": influence_record(trained, probabilities, shares, uniform_shares or shares, labels),
    }
    main = trained[max(shares, key=lambda i: shares[i])]
    return SearchResult(method, main.history, main.best, None, record)


def _is_clearly_better(
    trained: Sequence[Trained], shares: Mapping[int, float], others: Mapping[int, float], labels: Tensor
) -> bool:
    """Does the consensus of these shares predict the labels better than that of the others by a standard error?"""
    if len(labels) < 2:  # no standard error
        return False
    probabilities = [calibrated(result.logits, labels) for result in trained]
    losses, other = (label_losses(consensus(probabilities, each), labels) for each in (shares, others))
    gain, error = mean_and_error(other - losses)
    return gain > error


def chosen_shares(trained: Sequence[Trained], labels: Tensor, among: Iterable[int] | None = None) -> dict[int, float]:
    """The shares of the chosen candidates by number: see :func:`greedy_shares`."""
    probabilities = [calibrated(result.logits, labels) for result in trained]
    return greedy_shares(probabilities, labels, list(range(len(trained)) if among is None else among))


def calibrated(logits: Tensor, labels: Tensor) -> Tensor:
    """Probabilities with the temperature and the offsets that suit these labels best, (n, C)."""
    return fit_logit_scaling(logits, labels).log_probabilities(logits).exp()


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
