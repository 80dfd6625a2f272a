"""The measurements of runs that compare the default model with other models, with and without the test nodes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from torch import Tensor

from confgcn.confidence.calibrators import CalibrationInputs, Temperature
from confgcn.evaluation.metrics import accuracy, auroc, balanced_accuracy, brier_score, log_loss, roc_auc
from confgcn.evaluation.selective import aurc
from confgcn.graph import Graph
from confgcn.runs.run import Run
from confgcn.runs.saved import load_run
from reproduction.measurements import NamedMeasurements
from reproduction.peers import FeatureClassifier

Numbers = dict[str, float | None]

VALIDATION_NAMES = (
    *("validation_accuracy", "validation_roc_auc", "validation_log_loss"),
    *("epochs", "processor_seconds"),
)
TEST_NAMES = ("test_accuracy", "test_roc_auc", "balanced_accuracy", "nll", "brier", "auroc_correct", "aurc")


class ValidationMeasurements(NamedMeasurements):
    """On the validation nodes; ROC AUC for graphs with two classes only. No measurement uses a test label."""

    names = VALIDATION_NAMES


class RobustnessMeasurements(NamedMeasurements):
    """The same, and measurements on the test nodes.

    ``nll``, ``brier``, ``auroc_correct`` (of the largest probability, for correct against wrong predictions) and
    ``aurc`` are of calibrated probabilities: those of the run for ConfGCN, else after temperature scaling on the
    validation nodes.
    """

    names = (*VALIDATION_NAMES, *TEST_NAMES)


def measure_validation(
    run: Path, graph: Graph, metrics: dict[str, Any], processor_seconds: float | None
) -> ValidationMeasurements:
    """The measurements of a finished run on its validation nodes."""
    return ValidationMeasurements(_of_run(load_run(run, graph=graph), graph, metrics, processor_seconds))


def measure_robustness(
    run: Path, graph: Graph, metrics: dict[str, Any], processor_seconds: float | None
) -> RobustnessMeasurements:
    """The measurements of a finished run on validation and test nodes."""
    saved = load_run(run, graph=graph)
    is_default = saved.settings.method == "confgcn"
    probabilities = saved.probabilities if is_default else temperature_scaled(graph, saved.prediction.logits)
    numbers = _of_run(saved, graph, metrics, processor_seconds)
    return RobustnessMeasurements({**numbers, **on_test_nodes(graph, probabilities)})


def measure_classifier(
    classifier: FeatureClassifier, graph: Graph, *, seed: int, with_test: bool
) -> ValidationMeasurements | RobustnessMeasurements:
    """Fit a classifier of scikit-learn and measure it."""
    started = time.process_time()
    logits = classifier.fit(graph, seed=seed)
    numbers = {**on_validation_nodes(graph, logits), "processor_seconds": time.process_time() - started}
    if not with_test:
        return ValidationMeasurements(numbers)
    return RobustnessMeasurements({**numbers, **on_test_nodes(graph, temperature_scaled(graph, logits))})


def temperature_scaled(graph: Graph, logits: Tensor) -> Tensor:
    """Probabilities (N, C) after temperature scaling on the validation nodes."""
    inputs, held_out = CalibrationInputs(logits), graph.validation
    temperature = Temperature().fit(inputs.at(held_out), graph.labels[held_out])
    return temperature.log_probabilities(inputs).exp()


def on_validation_nodes(graph: Graph, logits: Tensor) -> Numbers:
    """Accuracy, ROC AUC and log loss of uncalibrated logits (N, C) on the validation nodes."""
    probabilities, labels = logits[graph.validation].double().softmax(-1), graph.labels[graph.validation]
    return {
        "validation_accuracy": accuracy(probabilities, labels),
        "validation_roc_auc": roc_auc(probabilities, labels),
        "validation_log_loss": log_loss(probabilities, labels),
    }


def on_test_nodes(graph: Graph, probabilities: Tensor) -> Numbers:
    """All measurements of calibrated probabilities (N, C) on the test nodes."""
    rows, labels = probabilities[graph.test].double(), graph.labels[graph.test]
    confidence, predicted = rows.max(-1)
    correct = predicted == labels
    return {
        "test_accuracy": accuracy(rows, labels),
        "test_roc_auc": roc_auc(rows, labels),
        "balanced_accuracy": balanced_accuracy(rows, labels),
        "nll": log_loss(rows, labels),
        "brier": brier_score(rows, labels),
        "auroc_correct": auroc(confidence, correct),
        "aurc": aurc(confidence, correct),
    }


def _of_run(saved: Run, graph: Graph, metrics: dict[str, Any], processor_seconds: float | None) -> Numbers:
    numbers = on_validation_nodes(graph, saved.prediction.logits)
    return {**numbers, "epochs": metrics.get("epochs"), "processor_seconds": processor_seconds}
