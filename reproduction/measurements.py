"""The measurements of a run: accuracies and influences for the paper, calibration and decisions for the confidences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor

from confgcn.confidence.calibrators import CalibrationInputs, Temperature
from confgcn.confidence.decisions import decide
from confgcn.confidence.label_errors import find_label_errors
from confgcn.confidence.prediction_sets import Score, coverage_report
from confgcn.evaluation.edges import summarise_influence
from confgcn.evaluation.groups import neighbour_label_entropy, quartile_means
from confgcn.evaluation.metrics import accuracy
from confgcn.evaluation.scorecard import Scorecard, score, score_groups
from confgcn.graph import Graph
from confgcn.models.base import Prediction, require
from confgcn.runs.evaluate import SCORES, on_test_nodes, scores
from confgcn.runs.run import Run, finite_prediction
from confgcn.runs.saved import load_run

Groups = tuple[float, ...]  # one value per quartile group, from lowest to highest

NO_LABEL = "no_label_in_component"  # nodes whose component has no training label, isolated nodes included
SET_SCORES: tuple[Score, ...] = ("threshold", "aps", "raps", "diffused")
COVERAGES = (90, 95)
SET_NAMES = tuple(
    f"{quantity}_{kind}_{level}"
    for kind, level, quantity in product(SET_SCORES, COVERAGES, ("coverage", "size", "worst_by_degree"))
)
NO_LABEL_COLUMNS = {
    "no_label_nodes": "count",
    "no_label_confidence": "confidence",
    "no_label_accuracy": "accuracy",
    "no_label_ece": "ece",
    "no_label_floor": "ece_floor",
}
SCALED = ("ece", "ece_floor", "nll", "brier", "auroc_correct")
ERRORS = (5, 10)
DECISIONS = tuple(f"{quantity}_{percent}" for percent, quantity in product(ERRORS, ("accepted", "error")))
CONFIDENCE_NAMES = (
    *("test_accuracy", "validation_accuracy", "epochs", "processor_seconds"),
    *SCORES,
    *(f"scaled_{name}" for name in SCALED),
    *NO_LABEL_COLUMNS,
    "lowest_other_confidence",
    *DECISIONS,
    "flips_found",
    *SET_NAMES,
)


@dataclass(frozen=True)
class Measurements:
    """Numbers of one run; None where the method has no such quantity.

    Attributes:
        processor_seconds: of reading, training and predicting, with one thread; None for a resumed run.
        accuracy_by_entropy, accuracy_by_degree: in each quartile group of the test nodes.
        mean_probability, accuracy_by_probability: in each quartile group of the test nodes by probability.
        auroc_probability, auroc_precision: for correct against wrong predictions; 0.5 = random.
        mu_accuracy: of the argmax of mu as the prediction.
        changed_by_uniform: predictions of all nodes that change when the trained model's influences are made uniform.
        accuracy_made_uniform: test accuracy of the trained model with uniform influences.
        neighbours, effective_neighbours, influence_deviation, auroc_influence, influence_by_precision: see
            ``confgcn.evaluation.edges``.
    """

    test_accuracy: float | None = None
    validation_accuracy: float | None = None
    best_epoch: float | None = None
    epochs: float | None = None
    processor_seconds: float | None = None
    accuracy_by_entropy: Groups | None = None
    accuracy_by_degree: Groups | None = None
    mean_probability: Groups | None = None
    accuracy_by_probability: Groups | None = None
    auroc_probability: float | None = None
    auroc_precision: float | None = None
    mu_accuracy: float | None = None
    changed_by_uniform: float | None = None
    accuracy_made_uniform: float | None = None
    neighbours: float | None = None
    effective_neighbours: float | None = None
    influence_deviation: float | None = None
    auroc_influence: float | None = None
    influence_by_precision: Groups | None = None

    def get(self, name: str) -> Any:
        """The measurement of that name."""
        return getattr(self, name)

    def cells(self) -> list[Any]:
        """In the order of ``NAMES``."""
        return list(asdict(self).values())


NAMES = tuple(column.name for column in fields(Measurements))


@dataclass(frozen=True)
class NamedMeasurements:
    """Numbers of one run by name; None where there is no such quantity. ``names`` are all names, in order."""

    names: ClassVar[tuple[str, ...]]
    numbers: Mapping[str, float | None] = field(default_factory=dict)

    def get(self, name: str) -> float | None:
        """The measurement of that name."""
        return self.numbers.get(name)

    def cells(self) -> list[float | None]:
        """In the order of ``names``."""
        return [self.numbers.get(name) for name in self.names]


Measured = Measurements | NamedMeasurements


class ConfidenceMeasurements(NamedMeasurements):
    """Measurements of the confidences of one run.

    ``SCORES`` are those of ``confgcn evaluate``; ``scaled_*`` the same after temperature scaling alone, the usual
    comparison in the literature. ``no_label_*``: of the calibrated probabilities of test nodes in components without
    a training label; ``lowest_other_confidence``: the lowest mean confidence of any other group of nodes.
    ``flips_found``: among as many of the most suspicious training labels as were flipped, the share that was flipped.
    ``accepted_5`` and ``error_5``: share of the test nodes accepted at 5 % error, and the share of wrong ones among
    them. For prediction sets, by score and target: mean coverage and size over draws, and the coverage of the degree
    group furthest from the target when every group has its own quantile.
    """

    names = CONFIDENCE_NAMES


def measure(run: Path, graph: Graph, metrics: dict[str, Any], processor_seconds: float | None) -> Measurements:
    """The measurements of a finished run for the paper's tables and figures."""
    saved = load_run(run, graph=graph)
    prediction = saved.prediction
    correct = (prediction.logits.argmax(-1) == graph.labels)[graph.test].double()
    confidence = metrics["raw"]
    values: dict[str, Any] = {
        name: metrics[name] for name in ("test_accuracy", "validation_accuracy", "best_epoch", "epochs")
    }
    values |= {
        "processor_seconds": processor_seconds,
        "accuracy_by_entropy": tuple(quartile_means(correct, neighbour_label_entropy(graph)[graph.test])),
        "accuracy_by_degree": tuple(quartile_means(correct, graph.degrees[graph.test])),
        "mean_probability": tuple(group["mean_probability"] for group in confidence["groups"]),
        "accuracy_by_probability": tuple(group["accuracy"] for group in confidence["groups"]),
        "auroc_probability": confidence["auroc_probability"],
        "auroc_precision": confidence["auroc_precision"],
    }
    if prediction.mu is not None:
        values["mu_accuracy"] = accuracy(prediction.mu[graph.test], graph.labels[graph.test])
    return Measurements(**values, **_influence(saved, graph, prediction))


def _influence(saved: Run, graph: Graph, prediction: Prediction) -> dict[str, Any]:
    control = saved.method.with_uniform_influence()
    if control is None:
        return {}
    influence, precision = require(prediction.influence), require(prediction.precision)
    summary = asdict(summarise_influence(graph, influence, precision))
    uniform = finite_prediction(control, saved.prepared).logits
    return {
        "changed_by_uniform": int((uniform.argmax(-1) != prediction.logits.argmax(-1)).sum()),
        "accuracy_made_uniform": accuracy(uniform[graph.test], graph.labels[graph.test]),
        "neighbours": summary["neighbours"],
        "effective_neighbours": summary["effective_neighbours"],
        "influence_deviation": summary["deviation"],
        "auroc_influence": summary["auroc_same_label"],
        "influence_by_precision": tuple(summary["by_precision"]),
    }


def measure_confidences(
    run: Path, graph: Graph, metrics: dict[str, Any], processor_seconds: float | None
) -> ConfidenceMeasurements:
    """The measurements of the confidences of a finished run."""
    saved = load_run(run, graph=graph)
    prepared, prediction, probabilities = saved.prepared, saved.prediction, saved.probabilities
    return ConfidenceMeasurements(
        {
            **{name: metrics[name] for name in ("test_accuracy", "validation_accuracy", "epochs")},
            "processor_seconds": processor_seconds,
            **scores(saved.method, on_test_nodes(saved)),
            **_scaled(prepared, prediction),
            **_no_label(prepared, probabilities),
            **_decisions(prepared, probabilities, saved.certifying_nodes),
            **_flips(graph, prepared, probabilities),
            **_sets(graph, prepared, probabilities),
        }
    )


def _scaled(graph: Graph, prediction: Prediction) -> Scorecard:
    held_out = graph.validation
    if not len(held_out):
        return {}
    inputs = CalibrationInputs(prediction.logits)
    temperature = Temperature().fit(inputs.at(held_out), graph.labels[held_out])
    card = score(graph, graph.test, temperature.log_probabilities(inputs).exp())
    return {f"scaled_{name}": card[name] for name in SCALED}


def _no_label(graph: Graph, probabilities: Tensor) -> Scorecard:
    groups = score_groups(graph, graph.test, probabilities)
    others = [
        value
        for name, value in groups.items()
        if name.endswith("_confidence") and not name.startswith((NO_LABEL, "isolated")) and value is not None
    ]
    values: Scorecard = {column: groups.get(f"{NO_LABEL}_{name}") for column, name in NO_LABEL_COLUMNS.items()}
    return {**values, "lowest_other_confidence": min(others, default=None)}


def _decisions(graph: Graph, probabilities: Tensor, certifying: Tensor) -> Scorecard:
    """Decisions certified on the labels that are kept for it, else on the validation nodes."""
    confidence, predicted = probabilities.max(-1)
    correct = predicted == graph.labels
    held_out, nodes = certifying if len(certifying) else graph.validation, graph.test
    values: Scorecard = {}
    for percent in ERRORS:
        decision = decide(confidence[held_out], correct[held_out], confidence[nodes], max_error=percent / 100)
        accepted = decision.accepted
        wrong = float((~correct[nodes][accepted]).double().mean()) if accepted.any() else None
        values |= {f"accepted_{percent}": float(accepted.double().mean()), f"error_{percent}": wrong}
    return values


def _flips(graph: Graph, prepared: Graph, probabilities: Tensor) -> Scorecard:
    num_flipped = int((graph.labels[graph.train] != prepared.labels[graph.train]).sum())
    if not num_flipped:
        return {}
    first = find_label_errors(prepared.training_view(), probabilities).nodes[:num_flipped]
    return {"flips_found": float((graph.labels[first] != prepared.labels[first]).double().mean())}


def _sets(graph: Graph, prepared: Graph, probabilities: Tensor) -> Scorecard:
    """Coverage and size of prediction sets; only for runs that held validation nodes back."""
    if len(prepared.validation) == len(graph.validation):
        return {}
    used = torch.isin(graph.validation, prepared.validation)
    pool = torch.cat([graph.validation[~used], graph.test]).sort().values  # used for neither training nor selection
    values: Scorecard = {}
    for kind, level in product(SET_SCORES, COVERAGES):
        target = level / 100
        marginal = coverage_report(graph, probabilities, pool, coverage=target, score=kind)
        grouped = coverage_report(graph, probabilities, pool, coverage=target, score=kind, by_degree=True)
        by_degree = [value for value in grouped.coverage_by_degree if value is not None]
        values |= {
            f"coverage_{kind}_{level}": marginal.coverage,
            f"size_{kind}_{level}": marginal.size,
            f"worst_by_degree_{kind}_{level}": max(by_degree, key=lambda value: abs(value - target)),
        }
    return values
