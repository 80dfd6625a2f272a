"""What is measured of a trained model, against its own predictions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from confgcn.data.demo import load_demo
from confgcn.models.confgcn.network import ConfGCN
from confgcn.runs.request import RunRequest
from confgcn.runs.saved import load_run
from confgcn.runs.train import train
from reproduction.measurements import NAMES, Measurements, measure


def measured(out: Path, method: str, preset: str = "default", **overrides: object) -> Measurements:
    request = RunRequest(graph="demo", method=method, preset=preset, out=out, overrides={"epochs": 3, **overrides})
    return measure(out, load_demo(), train(request, notify=lambda _: None)["runs"][0], 1.5)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Measurements]:
    """A short run of ConfGCN with influences that differ, and what was measured of it."""
    out = tmp_path_factory.mktemp("measured") / "run"
    return out, measured(out, "confgcn", "released", learning_rate=0.5, distance_offset=0.01, normalisation="none")


def test_everything_is_measured_of_confgcn(run: tuple[Path, Measurements]) -> None:
    found = run[1]
    assert [name for name in NAMES if getattr(found, name) is None] == []
    assert (found.processor_seconds, found.epochs) == (1.5, 3)


def test_quarters_of_the_test_nodes_have_its_accuracy(run: tuple[Path, Measurements]) -> None:
    found = run[1]
    for quarters in (found.accuracy_by_entropy, found.accuracy_by_degree, found.accuracy_by_probability):
        assert quarters is not None
        assert len(quarters) == 4
        assert sum(quarters) / 4 == pytest.approx(found.test_accuracy)
    assert found.accuracy_by_entropy != found.accuracy_by_degree


def test_the_control_is_the_trained_model_with_uniform_influences(run: tuple[Path, Measurements]) -> None:
    out, found = run
    graph, saved = load_demo(), load_run(out)
    uniform = ConfGCN(saved.shape, **{**saved.config["model"], "influence": "uniform"})
    uniform.load_state_dict(saved.method.state_dict())
    own, control = (replace(saved, method=m).predict(graph) for m in (saved.method, uniform))
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
