"""Measurements of one run: metrics by hand, calibration, and no test label in those of validation nodes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from confgcn.confidence.calibrators import CalibrationInputs, Temperature
from confgcn.evaluation.metrics import log_loss
from confgcn.graph import Graph
from confgcn.runs.saved import load_run
from reproduction.development import load_development_graph
from reproduction.jobs import Job, Kind, Variant
from reproduction.measurements import Measured
from reproduction.peers import FeatureClassifier
from reproduction.robustness_measurements import (
    TEST_NAMES,
    VALIDATION_NAMES,
    RobustnessMeasurements,
    ValidationMeasurements,
    measure_classifier,
    on_test_nodes,
    on_validation_nodes,
    temperature_scaled,
)
from reproduction.tasks import Task, perform

MLP = Variant("MLP", "mlp").changed("MLP", epochs=5)
DEFAULT = Variant("default", "confgcn").changed("default", epochs=5)
LOGISTIC = FeatureClassifier("logistic regression", "logistic_regression")


def four_nodes() -> tuple[Graph, torch.Tensor]:
    """Nodes 2 and 3 are tested, 2 is predicted correctly; nodes 0 and 1 are validation nodes."""
    graph = Graph.build([], np.eye(5), [0, 1, 0, 1, 0], train=[4], validation=[0, 1], test=[2, 3])
    return graph, torch.tensor([[0.5, 0.5], [0.25, 0.75], [0.75, 0.25], [0.6, 0.4], [1.0, 0.0]])


def task_of(variant: Variant, kind: Kind, development: Path) -> Task:
    job = Job("halves", variant, 2, kind, development / "halves")
    return Task((job,), "key", development.parent / "runs", None)


def measured(task: Task) -> Measured:
    """What a task of one job gives."""
    outcome = perform(task)
    assert isinstance(outcome, dict)
    (found,) = outcome.values()
    return found


def test_measurements_of_test_nodes_by_hand() -> None:
    graph, probabilities = four_nodes()
    found = on_test_nodes(graph, probabilities)
    assert found == {
        "test_accuracy": 0.5,
        "test_roc_auc": 1.0,
        "balanced_accuracy": 0.5,
        "nll": pytest.approx(-(np.log(0.75) + np.log(0.4)) / 2),
        "brier": pytest.approx((2 * 0.25**2 + 2 * 0.6**2) / 2),
        "auroc_correct": 1.0,
        "aurc": pytest.approx((0 + 1 / 2) / 2),
    }


def test_measurements_of_validation_nodes_by_hand() -> None:
    graph, probabilities = four_nodes()
    assert on_validation_nodes(graph, probabilities.log()) == {
        "validation_accuracy": 1.0,
        "validation_roc_auc": 1.0,
        "validation_log_loss": pytest.approx(-(np.log(0.5) + np.log(0.75)) / 2),
    }


def test_only_two_classes_have_an_roc_curve(small_graph: Graph) -> None:
    logits = torch.randn(120, 4)
    assert on_validation_nodes(small_graph, logits)["validation_roc_auc"] is None
    assert on_test_nodes(small_graph, logits.softmax(1))["test_roc_auc"] is None


def test_scaling_by_temperature_lowers_the_validation_log_loss_and_keeps_labels(small_graph: Graph) -> None:
    logits = 8 * torch.randn(120, 4, generator=torch.Generator().manual_seed(0))
    scaled, nodes = temperature_scaled(small_graph, logits), small_graph.validation
    assert torch.equal(scaled.argmax(1), logits.argmax(1))
    losses = [log_loss(p[nodes], small_graph.labels[nodes]) for p in (scaled, logits.softmax(1))]
    assert losses[0] < losses[1]


def test_a_run_is_measured_on_validation_nodes_or_on_both(development: Path) -> None:
    both = measured(task_of(MLP, "robustness", development))
    validation = measured(task_of(MLP, "validation", development))
    assert isinstance(both, RobustnessMeasurements)
    assert isinstance(validation, ValidationMeasurements)
    assert validation.numbers.keys() == set(VALIDATION_NAMES)
    assert both.numbers.keys() == {*VALIDATION_NAMES, *TEST_NAMES}
    for name in ("validation_accuracy", "validation_roc_auc", "validation_log_loss"):
        assert validation.get(name) == both.get(name)
    assert both.get("epochs") == 5
    assert None not in both.cells()


def test_a_peer_is_calibrated_by_temperature_and_the_default_by_its_run(development: Path) -> None:
    graph = load_development_graph(development / "halves", 2)
    for variant in (MLP, DEFAULT):
        task = replace(task_of(variant, "robustness", development), key=variant.method)
        found = measured(task)
        assert isinstance(found, RobustnessMeasurements)
        run = load_run(task.run_directory)
        inputs = CalibrationInputs(run.prediction.logits)
        temperature = Temperature().fit(inputs.at(graph.validation), graph.labels[graph.validation])
        scaled = temperature.log_probabilities(inputs).exp()
        probabilities = scaled if variant is MLP else run.probabilities
        assert found.get("nll") == pytest.approx(log_loss(probabilities[graph.test], graph.labels[graph.test]))


def test_validation_measurements_do_not_depend_on_test_labels(development: Path) -> None:
    folder = development / "halves"
    before = [measured(task_of(variant, "validation", development)) for variant in (MLP, LOGISTIC)]
    graph = load_development_graph(folder, 2)
    labels = np.load(folder / "labels.npy")
    labels[graph.test.numpy()] = 1 - labels[graph.test.numpy()]
    altered = development.parent / "altered"
    altered.mkdir()
    folder.rename(altered / "halves")
    np.save(altered / "halves" / "labels.npy", labels)
    for variant, expected in zip((MLP, LOGISTIC), before, strict=True):
        task = task_of(variant, "validation", altered)
        found = measured(replace(task, folder=development.parent / "other"))
        assert isinstance(found, ValidationMeasurements)
        assert isinstance(expected, ValidationMeasurements)
        for name in ("validation_accuracy", "validation_roc_auc", "validation_log_loss", "epochs"):
            assert found.get(name) == expected.get(name)


def test_a_classifier_of_scikit_learn_is_measured_alike(small_graph: Graph) -> None:
    both = measure_classifier(LOGISTIC, small_graph, seed=0, with_test=True)
    validation = measure_classifier(LOGISTIC, small_graph, seed=0, with_test=False)
    assert isinstance(both, RobustnessMeasurements)
    assert isinstance(validation, ValidationMeasurements)
    assert both.get("validation_log_loss") == validation.get("validation_log_loss")
    assert both.get("test_accuracy") is not None
    assert both.get("processor_seconds") > 0
    assert "test_accuracy" not in validation.numbers
