"""One budget of held-out labels: half choose and calibrate, half certify, and nothing else sees the second half."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from confgcn.data.held_out import divide
from confgcn.data.raw import raw_from_graph
from confgcn.data.synthetic import block_model
from confgcn.evaluation.metrics import accuracy, log_loss
from confgcn.exceptions import StoppedError
from confgcn.graph import Graph
from confgcn.graph.subgraph import induced_subgraph
from confgcn.runs import settings
from confgcn.runs.directory import RunDirectory
from confgcn.runs.evaluate import evaluate, evaluated_nodes
from confgcn.runs.held_out import held_out_record
from confgcn.runs.new_nodes import predict_new_nodes
from confgcn.runs.predictions import prediction_table
from confgcn.runs.report import collect
from confgcn.runs.request import RunRequest, run_config
from confgcn.runs.run import Run
from confgcn.runs.saved import load_run
from confgcn.runs.train import fit_in_memory, train
from confgcn.runs.tune import validation_accuracy
from confgcn.training.callbacks import Callback
from confgcn.training.loop import TrainingLoop

GRAPH = block_model(280, seed=3)  # 70 validation nodes
HALVES = divide(GRAPH.validation, GRAPH.labels[GRAPH.validation])
NO_NODES = GRAPH.validation[:0]


def request(graph: Graph = GRAPH, method: str = "gcn", **overrides: Any) -> RunRequest:
    return RunRequest(graph, method, overrides={"epochs": 12, "held_out": "divided", **overrides})


def fitted(graph: Graph = GRAPH, method: str = "gcn", notices: list[str] | None = None, **overrides: Any) -> Run:
    given = request(graph, method, **overrides)
    notify = (lambda _: None) if notices is None else notices.append
    return fit_in_memory(graph, given.settings(), run_config(given), notify=notify)


@pytest.fixture(scope="module")
def run() -> Run:
    return fitted()


@pytest.mark.parametrize(
    ("graph", "overrides", "expected"),
    [
        (GRAPH, {}, ("divided", 35, 35, True)),
        (GRAPH, {"held_out": "whole"}, ("whole", 70, 0, False)),
        (replace(GRAPH, validation=GRAPH.validation[:59]), {}, ("too_few", 59, 0, False)),
        (replace(GRAPH, validation=NO_NODES), {}, ("cross_fitted", 40, 0, False)),
        (replace(GRAPH, validation=NO_NODES), {"select": "last", "stop": "never"}, ("none", 0, 0, False)),
    ],
    ids=["divided", "whole", "too few", "cross-fitted", "none"],
)
def test_the_run_records_which_case_holds(
    graph: Graph, overrides: dict[str, Any], expected: tuple[str, int, int, bool]
) -> None:
    notices: list[str] = []
    metrics = fitted(graph, notices=notices, **overrides).metrics
    assert tuple(metrics["held_out"][name] for name in ("case", "choosing", "certifying", "certified")) == expected
    assert metrics["graph_size"]["validation"] == len(graph.validation)
    assert (metrics["certify_accuracy"] is None) == (expected[2] == 0)
    for record in metrics["decisions"]:
        assert record["approximate"] == (not expected[3])
        assert record["held_out_labels"] == (expected[2] or expected[1])
    assert any("fewer than 60" in notice for notice in notices) == (expected[0] == "too_few")


def test_labels_are_used_whole_unless_the_settings_divide_them() -> None:
    assert RunRequest(GRAPH, "gcn").settings().data.held_out == "whole"


def test_one_half_selects_and_calibrates_and_the_other_is_measured_on(run: Run) -> None:
    assert torch.equal(run.prepared.validation, HALVES.choosing)
    assert torch.equal(run.choosing_nodes, HALVES.choosing)
    assert torch.equal(run.certifying_nodes, HALVES.certifying)
    labels, logits = GRAPH.labels, run.prediction.logits
    assert run.metrics["validation_accuracy"] == accuracy(logits[HALVES.choosing], labels[HALVES.choosing])
    assert run.metrics["certify_accuracy"] == accuracy(logits[HALVES.certifying], labels[HALVES.certifying])
    expected = log_loss(run.probabilities[HALVES.certifying], labels[HALVES.certifying])
    assert run.metrics["certify_log_loss"] == expected


@pytest.mark.parametrize("method", ["gcn", "confgcn"])
def test_certifying_labels_change_sets_and_decisions_but_nothing_before_them(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        settings, "divide", lambda *_: HALVES
    )  # which nodes certify depends on the labels of both halves
    before, after = fitted(GRAPH, method), fitted(with_other_labels(HALVES.certifying), method)
    for name, weights in before.method.state_dict().items():
        assert torch.equal(weights, after.method.state_dict()[name])
    assert before.history == after.history
    assert before.calibration == after.calibration
    for name in ("best_epoch", "epochs", "validation_accuracy"):
        assert before.metrics[name] == after.metrics[name]
    assert torch.equal(before.prediction.logits, after.prediction.logits)
    assert torch.equal(before.probabilities, after.probabilities)
    assert not torch.equal(before.assessment.sets, after.assessment.sets)
    assert before.metrics["decisions"] != after.metrics["decisions"]
    assert before.metrics["certify_accuracy"] != after.metrics["certify_accuracy"]


def test_choosing_labels_do_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the test above compares something."""
    monkeypatch.setattr(settings, "divide", lambda *_: HALVES)
    before, after = fitted(), fitted(with_other_labels(HALVES.choosing))
    assert before.history != after.history
    assert before.calibration != after.calibration


def with_other_labels(nodes: torch.Tensor) -> Graph:
    changed = GRAPH.labels.clone()
    changed[nodes] = (changed[nodes] + 1) % GRAPH.num_classes
    return replace(GRAPH, labels=changed)


def test_settings_are_searched_by_the_choosing_half_whatever_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another division for another seed would let labels that certify one run choose the settings of all."""
    monkeypatch.setattr(settings, "divide", lambda *_: HALVES)
    found = [
        validation_accuracy(replace(request(graph), seed=1, seeds=2))
        for graph in (GRAPH, with_other_labels(HALVES.certifying))
    ]
    assert found[0] == found[1]
    monkeypatch.undo()
    for seed in (0, 1):
        assert torch.equal(request().settings().data.prepare(GRAPH, seed=seed).validation, HALVES.choosing)


def test_labels_that_are_held_back_neither_choose_nor_certify() -> None:
    data = request(held_back_validation=0.1).settings().data
    choosing = data.prepare(GRAPH, seed=5).validation
    certifying = data.certifying_nodes(GRAPH, seed=5)
    assert (len(choosing), len(certifying)) == (32, 31)
    assert not set(choosing.tolist()) & set(certifying.tolist())


def test_both_halves_are_validation_nodes_in_the_table(run: Run) -> None:
    table = prediction_table(run, torch.arange(GRAPH.num_nodes))
    of_validation = [place for place, split in enumerate(table["split"]) if split == "validation"]
    assert of_validation == GRAPH.validation.tolist()


def test_a_run_that_is_read_again_has_the_same_division_and_targets_can_change(tmp_path: Path) -> None:
    train(replace(request(), out=tmp_path / "run"), notify=lambda _: None)
    again = load_run(tmp_path / "run")
    assert torch.equal(again.certifying_nodes, HALVES.certifying)
    assert held_out_record(again) == again.metrics["held_out"]
    assert again.assessment.decision.as_record() == again.metrics["decisions"][0]
    changed = again.with_targets(max_error=0.3, coverage=0.5).assessment
    assert changed.decision.held_out_labels == 35
    assert not changed.decision.is_approximate
    assert collect(again, RunDirectory(tmp_path / "run"))["about"]["held_out"] == again.metrics["held_out"]


class StopAfter(Callback):
    """Request a stop as a signal does."""

    def on_epoch(self, loop: TrainingLoop) -> None:
        if len(loop.history) == 5:
            loop.callbacks[-1].request.received = 2


def test_a_stopped_run_resumes_with_the_same_division(tmp_path: Path) -> None:
    whole, stopped = (replace(request(), out=tmp_path / name) for name in ("whole", "stopped"))
    train(whole, notify=lambda _: None)
    with pytest.raises(StoppedError):
        train(stopped, notify=lambda _: None, callbacks=[StopAfter()])
    train(replace(stopped, if_exists="resume"), notify=lambda _: None)
    for name in ("config.json", "model.safetensors", "model.json", "predictions.csv", "history.jsonl"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "stopped" / name).read_bytes()


def test_each_seed_of_several_has_the_same_division(tmp_path: Path) -> None:
    summary = train(replace(request(), seeds=2, out=tmp_path / "runs"), notify=lambda _: None)
    assert [run["held_out"]["certifying"] for run in summary["runs"]] == [35, 35]
    accuracies = [run["certify_accuracy"] for run in summary["runs"]]
    assert summary["certify_accuracy"] == pytest.approx(sum(accuracies) / 2)
    nodes = [load_run(tmp_path / "runs" / f"seed-{seed}").certifying_nodes for seed in (0, 1)]
    assert torch.equal(*nodes)


def test_new_nodes_are_certified_by_the_labels_of_the_training() -> None:
    kept = torch.ones(GRAPH.num_nodes, dtype=torch.bool)
    kept[GRAPH.test[:12]] = False
    old = raw_from_graph(induced_subgraph(GRAPH, kept.nonzero().squeeze(1))).build()
    run = fitted(old)
    found = predict_new_nodes(run, raw_from_graph(GRAPH))
    names = [[r.prepared.node_names[node] for node in r.certifying_nodes.tolist()] for r in (run, found)]
    assert names[0] == names[1]
    assert held_out_record(found) == held_out_record(run)
    assert found.assessment.decision.threshold == run.assessment.decision.threshold
    assert not found.with_targets(max_error=0.3).assessment.decision.is_approximate
    splits = prediction_table(found, torch.arange(GRAPH.num_nodes))["split"]
    assert splits.count("validation") == len(old.validation)


def test_without_test_nodes_a_run_is_evaluated_on_the_certifying_labels() -> None:
    run = fitted(replace(GRAPH, test=NO_NODES))
    on = evaluated_nodes(run)
    assert on.evaluated_on == "certifying nodes"
    assert torch.equal(on.nodes, HALVES.certifying)
    numbers = evaluate(run, on)
    assert numbers["accuracy"] == run.metrics["certify_accuracy"]
    assert (numbers["certified"], numbers["certifying_labels"]) == (True, 35)
    json.dumps(numbers)
