"""What is kept of a run whose confidences are looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from confgcn.confidence.conformity import Score
from confgcn.confidence.coverage import coverage_report
from confgcn.confidence.decisions import decide
from confgcn.confidence.suspicion import suspicious_labels
from confgcn.confidence.temperature import fit_temperature
from confgcn.evaluation.scorecard import Scorecard, score, score_groups
from confgcn.graph import Graph
from confgcn.models.base import Prediction
from confgcn.runs.evaluate import SCORES, scores
from confgcn.runs.saved import load_run

SILENT = "no_label_in_component"  # and with it the isolated nodes
SETS: tuple[Score, ...] = ("threshold", "aps", "raps", "diffused")
COVERAGES = (90, 95)
SET_NAMES = tuple(
    f"{quantity}_{kind}_{level}"
    for kind, level, quantity in product(SETS, COVERAGES, ("coverage", "size", "worst_by_degree"))
)
STRATA = ("silent_nodes", "silent_confidence", "silent_accuracy", "silent_ece", "silent_floor", "next_confidence")
SCALED = ("ece", "ece_floor", "nll", "brier", "auroc_correct")
ERRORS = (5, 10)
DECISIONS = tuple(f"{quantity}_{percent}" for percent, quantity in product(ERRORS, ("accepted", "error")))
NAMES = (
    *("test_accuracy", "validation_accuracy", "epochs", "processor_seconds"),
    *SCORES,
    *(f"scaled_{name}" for name in SCALED),
    *STRATA,
    *DECISIONS,
    "found_flips",
    *SET_NAMES,
)


@dataclass(frozen=True)
class Confidences:
    """Numbers of one run by name, those of ``NAMES``; None where there is no such quantity.

    ``SCORES`` are those of ``confgcn evaluate``; ``scaled_*`` the same by one temperature and nothing else, which is
    what the literature compares with. ``silent_*``: of the calibrated probabilities of test nodes in
    components without a label; ``next_confidence``: the lowest mean confidence of any other slice. ``found_flips``:
    share of flipped training labels among as many of the most suspicious ones as were flipped. ``accepted_5`` and
    ``error_5``: share of the test nodes that a decision at 5 % error accepts, and how many of those are wrong. Of
    prediction sets, by score and target: mean coverage and size over draws, and the coverage of the degree group
    furthest from the target where every group has its own quantile.
    """

    numbers: Mapping[str, float | None] = field(default_factory=dict)

    def get(self, name: str) -> float | None:
        """The number of that name."""
        return self.numbers.get(name)

    def cells(self) -> list[float | None]:
        """In the order of ``NAMES``."""
        return [self.numbers.get(name) for name in NAMES]


def measure_confidences(
    run: Path, graph: Graph, metrics: dict[str, Any], processor_seconds: float | None
) -> Confidences:
    """Everything about the confidences of a finished run."""
    saved = load_run(run)
    judged = saved.judge(graph)
    prepared, prediction, probabilities = judged.graph, judged.prediction, judged.probabilities
    return Confidences(
        {
            **{name: metrics[name] for name in ("test_accuracy", "validation_accuracy", "epochs")},
            "processor_seconds": processor_seconds,
            **scores(saved.method, judged),
            **_scaled(prepared, prediction),
            **_strata(prepared, probabilities),
            **_decisions(prepared, probabilities),
            **_flips(graph, prepared, probabilities),
            **_sets(graph, prepared, probabilities),
        }
    )


def _scaled(graph: Graph, prediction: Prediction) -> Scorecard:
    held_out = graph.validation
    if not len(held_out):
        return {}
    temperature = fit_temperature(prediction.logits[held_out], graph.labels[held_out], {})
    card = score(graph, graph.test, temperature.apply(prediction.logits, {}).exp())
    return {f"scaled_{name}": card[name] for name in SCALED}


def _decisions(graph: Graph, probabilities: Tensor) -> Scorecard:
    confidence, predicted = probabilities.max(-1)
    correct = predicted == graph.labels
    found: Scorecard = {}
    for percent in ERRORS:
        held_out, nodes = graph.validation, graph.test
        decision = decide(confidence[held_out], correct[held_out], confidence[nodes], max_error=percent / 100)
        accepted = decision.accepted
        wrong = float((~correct[nodes][accepted]).double().mean()) if accepted.any() else None
        found |= {f"accepted_{percent}": float(accepted.double().mean()), f"error_{percent}": wrong}
    return found


def _strata(graph: Graph, probabilities: Tensor) -> Scorecard:
    slices = score_groups(graph, graph.test, probabilities)
    own = {"silent_nodes": "count", "silent_floor": "ece_floor"} | {
        f"silent_{name}": name for name in ("confidence", "accuracy", "ece")
    }
    others = [
        value
        for name, value in slices.items()
        if name.endswith("_confidence") and not name.startswith((SILENT, "isolated")) and value is not None
    ]
    found: Scorecard = {name: slices.get(f"{SILENT}_{key}") for name, key in own.items()}
    return {**found, "next_confidence": min(others, default=None)}


def _flips(graph: Graph, prepared: Graph, probabilities: Tensor) -> Scorecard:
    flipped = graph.labels[graph.train] != prepared.labels[graph.train]
    count = int(flipped.sum())
    if not count:
        return {}
    first = suspicious_labels(prepared.training_view(), probabilities).nodes[:count]
    return {"found_flips": float((graph.labels[first] != prepared.labels[first]).double().mean())}


def _sets(graph: Graph, prepared: Graph, probabilities: Tensor) -> Scorecard:
    """By the protocol that holds validation nodes back; not where none were."""
    if len(prepared.validation) == len(graph.validation):
        return {}
    used = torch.isin(graph.validation, prepared.validation)
    pool = torch.cat([graph.validation[~used], graph.test]).sort().values  # neither trained on nor chosen by
    found: Scorecard = {}
    for kind, level in product(SETS, COVERAGES):
        target = level / 100
        plain = coverage_report(graph, probabilities, pool, coverage=target, score=kind)
        grouped = coverage_report(graph, probabilities, pool, coverage=target, score=kind, by_degree=True)
        by_degree = [value for value in grouped.coverage_by_degree if value is not None]
        found |= {
            f"coverage_{kind}_{level}": plain.coverage,
            f"size_{kind}_{level}": plain.size,
            f"worst_by_degree_{kind}_{level}": max(by_degree, key=lambda value: abs(value - target)),
        }
    return found
