"""One record of a run: the same in memory and read again, lazily, and shown in a few words."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from confgcn.data.raw import raw_from_graph
from confgcn.exceptions import UsageError
from confgcn.graph import Graph
from confgcn.graph.subgraph import induced_subgraph
from confgcn.runs.directory import RunDirectory
from confgcn.runs.request import RunRequest, run_config
from confgcn.runs.run import Run
from confgcn.runs.saved import load_run, save_run
from confgcn.runs.train import fit_in_memory


@pytest.fixture
def run(small_graph: Graph) -> Run:
    request = RunRequest(small_graph, preset="consensus", overrides={"epochs": 20})
    return fit_in_memory(small_graph, request.settings(), run_config(request), notify=lambda _: None)


def test_a_run_that_is_read_again_is_the_run_that_was_saved(run: Run, tmp_path: Path) -> None:
    save_run(RunDirectory(tmp_path / "run"), run)
    again = load_run(tmp_path / "run")
    assert again.settings == run.settings
    assert again.graph.fingerprint == run.graph.fingerprint
    assert (again.history, again.metrics) == (run.history, run.metrics)
    assert torch.equal(again.prediction.logits, run.prediction.logits)
    assert torch.equal(again.probabilities, run.probabilities)
    assert torch.equal(again.assessment.sets, run.assessment.sets)


def test_only_what_is_used_is_read_and_computed(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_run(RunDirectory(tmp_path / "run"), run)
    calls: list[str] = []
    forward = type(run.method).forward
    monkeypatch.setattr(type(run.method), "forward", lambda *a: calls.append("forward") or forward(*a))
    again = load_run(tmp_path / "run")
    assert "test_accuracy" in repr(again)
    assert calls == []
    _ = again.probabilities, again.assessment, again.raw_probabilities, again.with_targets(coverage=0.5).assessment
    assert calls == ["forward"]


def test_probabilities_are_calibrated_and_raw_ones_are_called_raw(run: Run) -> None:
    assert torch.equal(run.probabilities, run.assessment.probabilities)
    torch.testing.assert_close(run.raw_probabilities, run.prediction.logits.softmax(-1))
    assert not torch.allclose(run.probabilities.float(), run.raw_probabilities, atol=1e-3)


def test_other_targets_change_only_what_depends_on_them(run: Run) -> None:
    other = run.with_targets(coverage=0.5)
    assert other.settings.targets.coverage == other.config["targets"]["coverage"] == 0.5
    assert other.assessment.sets.sum() < run.assessment.sets.sum()
    assert other.assessment.decision is run.assessment.decision
    assert other.probabilities is run.probabilities
    assert run.with_targets(max_error=0.3).assessment.sets is run.assessment.sets
    assert run.with_targets(coverage=None, max_error=0.05) is run
    with pytest.raises(UsageError, match="max_error = 0"):
        run.with_targets(max_error=0.0)


def test_targets_of_the_settings_are_those_of_a_later_change(run: Run, small_graph: Graph) -> None:
    overrides = {"epochs": 20, "coverage": 0.6, "max_error": 0.2, "delta": 0.3}
    request = RunRequest(small_graph, preset="consensus", overrides=overrides)
    trained = fit_in_memory(small_graph, request.settings(), run_config(request), notify=lambda _: None)
    changed = run.with_targets(coverage=0.6, max_error=0.2, delta=0.3)
    assert torch.equal(trained.assessment.sets, changed.assessment.sets)
    assert trained.assessment.decision.as_record() == changed.assessment.decision.as_record()


def test_new_nodes_are_a_run_of_the_extended_graph(small_graph: Graph) -> None:
    kept = torch.arange(120)[~torch.isin(torch.arange(120), small_graph.test[:5])]
    old = raw_from_graph(induced_subgraph(small_graph, kept)).build()
    request = RunRequest(old, overrides={"epochs": 20})
    run = fit_in_memory(old, request.settings(), run_config(request), notify=lambda _: None)
    found = run.predict(raw_from_graph(small_graph))
    assert found.graph.num_nodes == 120
    known = found.extended.extension.known
    assert torch.equal(found.probabilities[known], run.probabilities)
    changed = found.with_targets(coverage=0.5)
    assert torch.equal(changed.assessment.sets[known], run.with_targets(coverage=0.5).assessment.sets)
    assert "new_nodes=5" in repr(found)


def test_a_run_is_shown_with_its_accuracy_and_calibration_and_names_are_escaped(run: Run) -> None:
    run.config["dataset"] = "<b>mine"
    assert repr(run).startswith("Run(dataset='<b>mine', method='confgcn', preset='consensus', seed=0, nodes=120")
    for name in ("test_accuracy", "mean_confidence", "calibration"):
        assert f"{name}=" in repr(run)
    shown = run._repr_html_()
    assert "&lt;b&gt;mine" in shown
    assert "<b>mine" not in shown
