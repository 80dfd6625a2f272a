"""The outcome of one job in this process: results, divergence, failures, restarts."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from confgcn.exceptions import CorruptFileError, StoppedError
from confgcn.io.locks import locked_folder
from confgcn.training.loop import TrainingLoop
from reproduction import tasks
from reproduction.jobs import Job, Variant
from reproduction.measurements import ConfidenceMeasurements, Measurements
from reproduction.tasks import Diverged, Failure, Task, perform

QUICK = Variant("Feat", "feat").changed("Feat", epochs=3)
DIVERGES = Variant("Kipf-GCN", "gcn").changed("Kipf-GCN", learning_rate=1e6, num_layers=8)


@pytest.fixture
def task(tmp_path: Path) -> Task:
    return task_of(tmp_path, QUICK)


def task_of(folder: Path, variant: Variant, dataset: str = "demo", data_dir: Path | None = None) -> Task:
    return Task((Job(dataset, variant, 0),), "key", folder / "runs", data_dir)


def measured(task: Task) -> Measurements:
    """What a task of the kind "paper" gives."""
    outcome = perform(task)
    assert isinstance(outcome, dict)
    found = outcome["paper"]
    assert isinstance(found, Measurements)
    return found


def stop_after_one_epoch(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    run_epoch = TrainingLoop.run_epoch

    def interrupted(loop: TrainingLoop) -> None:
        run_epoch(loop)
        signal.raise_signal(signal.SIGTERM)

    with monkeypatch.context() as patch:
        patch.setattr(TrainingLoop, "run_epoch", interrupted)
        with pytest.raises(StoppedError):
            perform(task)


def test_a_job_is_trained_and_measured(task: Task) -> None:
    outcome = measured(task)
    assert outcome.epochs == 3
    assert 0 < outcome.processor_seconds < 60
    assert task.run_directory == task.folder / "key-default"
    assert (task.run_directory / "metrics.json").is_file()


def test_jobs_of_several_kinds_are_measured_of_one_training(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    trainings = []
    train = tasks.train
    monkeypatch.setattr(tasks, "train", lambda *given, **named: trainings.append(given) or train(*given, **named))
    outcome = perform(replace(task, jobs=(task.job, replace(task.job, kind="confidence"))))
    assert isinstance(outcome, dict)
    assert list(outcome) == ["paper", "confidence"]
    assert len(trainings) == 1
    paper, confidence = outcome["paper"], outcome["confidence"]
    assert isinstance(paper, Measurements)
    assert isinstance(confidence, ConfidenceMeasurements)
    assert confidence.get("epochs") == paper.epochs == 3
    assert 0 < confidence.get("processor_seconds") == paper.processor_seconds < 60
    assert 0 < confidence.get("ece") < 1


def test_a_stopped_job_is_resumed_without_a_time(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    stop_after_one_epoch(task, monkeypatch)
    assert list((task.run_directory / "checkpoints").glob("epoch-0000001.*"))
    outcome = measured(task)
    assert (outcome.epochs, outcome.processor_seconds) == (3, None)


def test_divergence_is_an_outcome_and_not_a_failure(tmp_path: Path) -> None:
    assert perform(task_of(tmp_path, DIVERGES)) == Diverged()


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("config.json", lambda content: content[: len(content) // 2]),
        ("metrics.json", lambda _: b"{}"),
        ("model.safetensors", lambda content: content[:-1]),
        ("model.json", lambda content: content.replace(b"feat", b"taef")),
    ],
    ids=["settings", "metrics", "weights", "what the weights are of"],
)
def test_a_corrupt_run_is_restarted(task: Task, name: str, damage: Callable[[bytes], bytes]) -> None:
    first = measured(task)
    damaged = task.run_directory / name
    damaged.write_bytes(damage(damaged.read_bytes()))
    (task.run_directory / "left").touch()
    again = measured(task)
    assert again.processor_seconds is not None  # the run was not resumed
    assert replace(again, processor_seconds=None) == replace(first, processor_seconds=None)
    assert not (task.run_directory / "left").exists()


def test_a_run_with_only_corrupt_checkpoints_is_restarted(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    stop_after_one_epoch(task, monkeypatch)
    for checkpoint in (task.run_directory / "checkpoints").iterdir():
        checkpoint.write_bytes(b"")
    outcome = measured(task)
    assert (outcome.epochs, outcome.processor_seconds is None) == (3, False)


def test_a_corrupt_run_is_restarted_only_once(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = []

    def measure(*arguments: Any) -> Measurements:
        requests.append(arguments)
        raise CorruptFileError("model.json: corrupt")

    monkeypatch.setitem(tasks.MEASURES, "paper", measure)
    assert perform(task) == Failure("model.json: corrupt", 3)
    assert len(requests) == 2


@pytest.mark.parametrize(
    ("change", "reason", "code"),
    [
        ({"variant": QUICK.changed("x", dropuot=0.1)}, "unknown setting 'dropuot'", 2),
        ({"variant": QUICK.changed("x", learning_rate=-1.0)}, "learning_rate = -1.0", 2),
        ({"variant": Variant("x", "feat", "tunned")}, "did you mean 'tuned'", 2),
        ({"variant": QUICK, "dataset": "cora", "data_dir": Path("/nowhere")}, "/nowhere", 4),
    ],
    ids=["setting", "value", "preset", "data"],
)
def test_a_failure_names_its_reason(tmp_path: Path, change: dict[str, Any], reason: str, code: int) -> None:
    outcome = perform(task_of(tmp_path, **change))
    assert isinstance(outcome, Failure)
    assert reason in outcome.reason
    assert outcome.exit_code == code


def test_a_job_locked_by_another_process_fails(task: Task) -> None:
    with locked_folder(task.run_directory):
        outcome = perform(task)
    assert isinstance(outcome, Failure)
    assert ("in use by process" in outcome.reason, outcome.exit_code) == (True, 7)
    assert measured(task).epochs == 3


def test_an_unexpected_error_becomes_a_failure(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(*arguments: Any) -> Measurements:
        raise KeyError("quarters")

    monkeypatch.setitem(tasks.MEASURES, "paper", measure)
    assert perform(task) == Failure("KeyError: 'quarters'", 1)
