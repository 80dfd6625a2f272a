"""Measurements of a trained model, compared with its predictions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from confgcn.confidence.label_errors import find_label_errors
from confgcn.data.demo import load_demo
from confgcn.graph import Graph
from confgcn.models.base import Prediction, Shape
from confgcn.models.confgcn.paper import PaperConfGCN
from confgcn.models.prior import reached_by_labels
from confgcn.runs.evaluate import CALIBRATED, LEARNED
from confgcn.runs.request import RunRequest
from confgcn.runs.run import Run
from confgcn.runs.saved import load_run
from confgcn.runs.train import train
from reproduction.measurements import (
    CONFIDENCE_NAMES,
    COVERAGES,
    DECISIONS,
    NAMES,
    NO_LABEL_COLUMNS,
    SCALED,
    SET_NAMES,
    SET_SCORES,
    ConfidenceMeasurements,
    Measurements,
    measure,
    measure_confidences,
)


def measured(out: Path, method: str, preset: str = "default", **overrides: object) -> Measurements:
    request = RunRequest(graph="demo", method=method, preset=preset, out=out, overrides={"epochs": 3, **overrides})
    return measure(out, load_demo(), train(request, notify=lambda _: None)["runs"][0], 1.5)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Measurements]:
    """A short run of ConfGCN with influences that differ, and what was measured of it."""
    out = tmp_path_factory.mktemp("measured") / "run"
    return out, measured(out, "confgcn", "paper", learning_rate=0.5, distance_offset=0.01)


def test_everything_is_measured_of_confgcn(run: tuple[Path, Measurements]) -> None:
    found = run[1]
    assert [name for name in NAMES if getattr(found, name) is None] == []
    assert (found.processor_seconds, found.epochs) == (1.5, 3)


def test_the_mean_over_quartile_groups_is_the_test_accuracy(run: tuple[Path, Measurements]) -> None:
    found = run[1]
    for groups in (found.accuracy_by_entropy, found.accuracy_by_degree, found.accuracy_by_probability):
        assert groups is not None
        assert len(groups) == 4
        assert sum(groups) / 4 == pytest.approx(found.test_accuracy)
    assert found.accuracy_by_entropy != found.accuracy_by_degree


def test_the_control_is_the_trained_model_with_uniform_influences(run: tuple[Path, Measurements]) -> None:
    out, found = run
    graph, saved = load_demo(), load_run(out)
    uniform = PaperConfGCN(Shape.of(graph), **{**saved.config["model"], "influence": "uniform"})
    uniform.load_state_dict(saved.method.state_dict())
    own, control = (method.predict(saved.prepared.training_view()) for method in (saved.method, uniform))
    labels = [prediction.logits.argmax(1) for prediction in (own, control)]
    assert found.changed_by_uniform == int((labels[0] != labels[1]).sum())
    assert found.changed_by_uniform > 0
    is_right = (labels[1] == graph.labels)[graph.test]
    assert found.accuracy_made_uniform == pytest.approx(float(is_right.double().mean()))
    assert own.mu is not None
    mu_right = (own.mu.argmax(1) == graph.labels)[graph.test]
    assert found.mu_accuracy == pytest.approx(float(mu_right.double().mean()))


def test_a_method_without_confidences_has_none(tmp_path: Path) -> None:
    found = measured(tmp_path / "run", "feat")
    missing = {name for name in NAMES if getattr(found, name) is None}
    assert missing == {
        "auroc_precision",
        "mu_accuracy",
        "changed_by_uniform",
        "accuracy_made_uniform",
        "neighbours",
        "effective_neighbours",
        "influence_deviation",
        "auroc_influence",
        "influence_by_precision",
    }


QUICK = {"epochs": 8, "select": "last", "stop": "never"}


@dataclass
class Measured:
    """A run, and what was found."""

    metrics: dict[str, Any]
    found: ConfidenceMeasurements
    saved: Run
    graph: Graph  # as it was trained on
    prediction: Prediction

    @classmethod
    def of(cls, out: Path, method: str = "confgcn", preset: str = "consensus", **overrides: Any) -> Measured:
        request = RunRequest(graph="demo", method=method, preset=preset, out=out, overrides={**QUICK, **overrides})
        metrics = train(request, notify=lambda _: None)["runs"][0]
        found, saved = measure_confidences(out, load_demo(), metrics, 1.5), load_run(out)
        graph = saved.prepared
        return cls(metrics, found, saved, graph, saved.method.predict(graph.training_view()))

    @property
    def probabilities(self) -> torch.Tensor:
        return self.saved.probabilities


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    return Measured.of(tmp_path_factory.mktemp("plain") / "run")


@pytest.fixture(scope="module")
def perturbed(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """With wrong labels, new edges, and half of the validation nodes held back."""
    changes = {"flipped_labels": 0.1, "held_back_validation": 0.5, "edges_between_classes": 0.1}
    return Measured.of(tmp_path_factory.mktemp("perturbed") / "run", **changes)


def missing_of(found: ConfidenceMeasurements) -> set[str]:
    return {name for name, value in zip(CONFIDENCE_NAMES, found.cells(), strict=True) if value is None}


def test_every_measurement_has_a_column(plain: Measured, perturbed: Measured) -> None:
    assert len(CONFIDENCE_NAMES) == len(set(CONFIDENCE_NAMES))
    for measured in (plain, perturbed):
        assert set(measured.found.numbers) <= set(CONFIDENCE_NAMES)


def test_a_run_on_the_original_graph_has_all_measurements_but_flips_and_sets(plain: Measured) -> None:
    errors = {name for name in DECISIONS if name.startswith("error")}  # of those accepted, if any are
    assert missing_of(plain.found) - errors == {"flips_found", *SET_NAMES}


def test_a_run_on_a_modified_graph_has_all_measurements(perturbed: Measured) -> None:
    assert missing_of(perturbed.found) <= {name for name in DECISIONS if name.startswith("error")}


def test_the_metrics_of_the_run_are_included(plain: Measured) -> None:
    for name in ("test_accuracy", "validation_accuracy", "epochs"):
        assert plain.found.get(name) == plain.metrics[name]
    assert plain.found.get("processor_seconds") == 1.5
    assert plain.found.get("accuracy") == pytest.approx(plain.metrics["test_accuracy"])


def test_scores_are_of_the_test_nodes(plain: Measured) -> None:
    nodes, labels = plain.graph.test, plain.graph.labels[plain.graph.test]
    raw, calibrated = plain.prediction.raw_probabilities.double()[nodes], plain.probabilities.double()[nodes]
    for prefix, probabilities in (("", raw), (CALIBRATED, calibrated)):
        log_loss = -probabilities[torch.arange(len(nodes)), labels].log().mean()
        assert plain.found.get(f"{prefix}nll") == pytest.approx(float(log_loss), rel=1e-5)
    mu_right = (plain.prediction.mu.argmax(1) == plain.graph.labels)[nodes].double().mean()
    assert plain.found.get("mu_accuracy") == pytest.approx(float(mu_right))
    control = plain.saved.method.with_uniform_influence().predict(plain.graph.training_view()).logits
    uniform_right = (control.argmax(1) == plain.graph.labels)[nodes].double().mean()
    assert plain.found.get("uniform_accuracy") == pytest.approx(float(uniform_right))


def test_scaled_scores_use_a_single_temperature(plain: Measured) -> None:
    held_out, labels, nodes = plain.graph.validation, plain.graph.labels, plain.graph.test
    logits = plain.prediction.logits.double()
    temperatures = torch.linspace(-8, 1, 900).exp()
    losses = [float(torch.nn.functional.cross_entropy(logits[held_out] / t, labels[held_out])) for t in temperatures]
    best = temperatures[losses.index(min(losses))]
    expected = float(torch.nn.functional.cross_entropy(logits[nodes] / best, labels[nodes]))
    assert plain.found.get("scaled_nll") == pytest.approx(expected, abs=0.01)
    assert plain.found.get("scaled_nll") < plain.found.get("nll")
    assert {f"scaled_{name}" for name in SCALED} <= set(plain.found.numbers)


def test_no_label_measurements_are_of_nodes_without_a_label_in_their_component(plain: Measured) -> None:
    silent = plain.graph.test[~reached_by_labels(plain.graph)[plain.graph.test]]
    confidence, predicted = plain.probabilities[silent].max(1)
    assert plain.found.get("no_label_nodes") == len(silent) > 50
    assert plain.found.get("no_label_confidence") == pytest.approx(float(confidence.mean()))
    right = (predicted == plain.graph.labels[silent]).double().mean()
    assert plain.found.get("no_label_accuracy") == pytest.approx(float(right))
    assert set(NO_LABEL_COLUMNS) <= set(plain.found.numbers)


def test_decisions_are_checked_on_the_test_nodes(plain: Measured) -> None:
    confidence, predicted = plain.probabilities[plain.graph.test].max(1)
    correct = predicted == plain.graph.labels[plain.graph.test]
    for percent in (5, 10):
        accepted, error = plain.found.get(f"accepted_{percent}"), plain.found.get(f"error_{percent}")
        count = round(accepted * len(confidence))
        assert (error is None) is (count == 0)
        if count:
            surest = confidence >= confidence.sort(descending=True).values[count - 1]
            assert error == pytest.approx(float((~correct[surest]).double().mean()))
    assert plain.found.get("accepted_5") <= plain.found.get("accepted_10")


def test_flips_found_is_the_share_of_flips_among_as_many_suspicious_labels(perturbed: Measured) -> None:
    true, seen = load_demo().labels, perturbed.graph.labels
    flipped = (true != seen).nonzero().flatten().tolist()
    assert len(flipped) == 14
    suspects = find_label_errors(perturbed.graph.training_view(), perturbed.probabilities).nodes[:14].tolist()
    assert perturbed.found.get("flips_found") == pytest.approx(len(set(flipped) & set(suspects)) / 14)
    assert perturbed.found.get("flips_found") > 0.3


@pytest.mark.parametrize("kind", SET_SCORES)
@pytest.mark.parametrize("level", COVERAGES)
def test_sets_reach_their_coverage_when_validation_nodes_were_held_back(
    perturbed: Measured, kind: str, level: int
) -> None:
    assert len(perturbed.graph.validation) == 250
    assert perturbed.found.get(f"coverage_{kind}_{level}") == pytest.approx(level / 100, abs=0.02)
    assert 1 <= perturbed.found.get(f"size_{kind}_{level}") <= 7
    assert perturbed.found.get(f"worst_by_degree_{kind}_{level}") == pytest.approx(level / 100, abs=0.1)


def test_a_method_without_learned_confidences_has_no_such_measurements(tmp_path: Path) -> None:
    found = Measured.of(tmp_path / "run", "feat", "default").found
    assert missing_of(found) - set(DECISIONS) == {"flips_found", *SET_NAMES, *LEARNED}
