"""One search, evaluated with learned influence, with uniform influence, and with the choice between them."""

from __future__ import annotations

from typing import get_args

from confgcn.evaluation.metrics import log_loss
from confgcn.graph import Graph
from confgcn.runs.run import finite_prediction
from confgcn.runs.search import (
    Influence,
    Search,
    SearchResult,
    Train,
    Trained,
    TrainedCandidates,
    Trial,
    calibrated,
    combined,
)
from confgcn.runs.settings import RunSettings
from confgcn.training.callbacks import Callback
from confgcn.training.loop import TrainingLoop
from reproduction.measurements import NamedMeasurements
from reproduction.robustness_measurements import Numbers, on_test_nodes, on_validation_nodes, temperature_scaled

INFLUENCES: tuple[Influence, ...] = get_args(Influence)
SINGLE = "single"  # the candidate with the lowest held-out log loss alone, uniform influence
RESULTS = (*INFLUENCES, SINGLE)
SCORES = (
    *("validation_accuracy", "validation_roc_auc", "validation_log_loss"),
    *("test_accuracy", "test_roc_auc", "nll"),
)


class InfluenceMeasurements(NamedMeasurements):
    """``SCORES`` of each of ``RESULTS``, of candidates that are trained once.

    ``nll`` is of probabilities after temperature scaling on the validation nodes; ``learned_share`` is the share of
    candidates with learned influence where the search chooses.
    """

    names = (*(f"{result}_{score}" for result in RESULTS for score in SCORES), "learned_share")


class CandidateKeeper(Callback):
    """Keeps the trained candidates of a search, so that further results can be made of them."""

    def __init__(self) -> None:
        self.loops: dict[str, TrainingLoop] = {}

    def on_end(self, loop: TrainingLoop) -> None:
        """Keep a candidate by its title."""
        self.loops[loop.title] = loop

    def training(self, search: Search) -> Train:
        """What returns a kept candidate of the search, or trains it where it was not kept."""

        def kept_or_trained(trial: Trial) -> Trained:
            loop = self.loops.get(trial.title)
            return search.train(trial) if loop is None else search.trained(trial, loop)

        return kept_or_trained


def measure_influences(
    graph: Graph, settings: RunSettings, *, seed: int, keeper: CandidateKeeper
) -> InfluenceMeasurements:
    """Evaluate all results of a search on a graph, as loaded; candidates that were not kept are trained."""
    prepared = settings.data.prepare(graph, seed=seed)
    search = Search(prepared, settings, seed=seed)
    candidates = search.train_candidates(keeper.training(search))
    results: dict[str, SearchResult] = {name: search.combine(candidates, name) for name in INFLUENCES}
    results[SINGLE] = best_alone(prepared, candidates)
    numbers: Numbers = {"learned_share": results["chosen"].record["influence"]["learned_share"]}
    for name, result in results.items():
        numbers |= {f"{name}_{score}": value for score, value in _scores(prepared, result).items()}
    return InfluenceMeasurements(numbers)


def best_alone(graph: Graph, candidates: TrainedCandidates) -> SearchResult:
    """The candidate with uniform influence and the lowest held-out log loss."""
    labels = graph.labels[graph.validation]
    losses = [log_loss(calibrated(each.logits, labels), labels) for each in candidates.uniform]
    return combined(graph, candidates.uniform, {losses.index(min(losses)): 1.0}, labels)


def _scores(graph: Graph, result: SearchResult) -> Numbers:
    logits = finite_prediction(result.method, graph).logits
    numbers = {**on_validation_nodes(graph, logits), **on_test_nodes(graph, temperature_scaled(graph, logits))}
    return {name: numbers[name] for name in SCORES}
