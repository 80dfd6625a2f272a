"""One search, evaluated with learned influence, with uniform influence, and with the choice between them."""

from __future__ import annotations

import time
from typing import get_args

from confgcn.graph import Graph
from confgcn.runs.run import finite_prediction
from confgcn.runs.search import Influence, Search, SearchResult, TrainedCandidates, calibrated, combined, log_loss
from confgcn.runs.settings import RunSettings
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
    candidates with learned influence where the search chooses; ``processor_seconds`` are those of the whole search.
    """

    names = (*(f"{result}_{score}" for result in RESULTS for score in SCORES), "learned_share", "processor_seconds")


def measure_influences(graph: Graph, settings: RunSettings, *, seed: int) -> InfluenceMeasurements:
    """Search for settings on a graph, as loaded, and evaluate all results of the search."""
    started = time.process_time()
    prepared = settings.data.prepare(graph, seed=seed)
    search = Search(prepared, settings, seed=seed)
    candidates = search.train_candidates()
    results: dict[str, SearchResult] = {name: search.combine(candidates, name) for name in INFLUENCES}
    results[SINGLE] = best_alone(prepared, candidates)
    numbers: Numbers = {
        "learned_share": results["chosen"].record["influence"]["learned_share"],
        "processor_seconds": time.process_time() - started,
    }
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
