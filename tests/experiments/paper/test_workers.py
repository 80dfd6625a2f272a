"""Real processes: one that fails or is killed costs its own task alone, and a stop loses nothing."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from multiprocessing import active_children
from pathlib import Path

from confgcn.experiments.paper.jobs import Job, Variant
from confgcn.experiments.paper.measurements import Measurements
from confgcn.experiments.paper.tasks import Failure, Outcome, Task, perform
from confgcn.experiments.paper.workers import perform_all
from confgcn.training.signals import StopRequest

QUICK = Variant("Feat", "feat").changed("Feat", epochs=2)
ENDLESS = Variant("Kipf-GCN", "gcn").changed("Kipf-GCN", epochs=100_000, stop="never")
LONG = Variant("Kipf-GCN", "gcn").changed("Kipf-GCN", epochs=1000, stop="never")
UNKNOWN = Variant("Feat", "feat", "tunned")


def tasks_of(folder: Path, *variants: Variant) -> list[Task]:
    return [Task(Job("demo", variant, 0), str(number), folder, None) for number, variant in enumerate(variants)]


def outcomes(tasks: list[Task], stop: StopRequest | None = None) -> dict[str, Outcome]:
    return {task.key: outcome for task, outcome in perform_all(tasks, processes=1, stop=stop or StopRequest())}


def once_training(task: Task, then: Callable[[], None]) -> threading.Thread:
    """Do something as soon as the task's training has begun."""

    def watch() -> None:
        deadline = time.monotonic() + 60
        while not (task.run_directory / "environment.json").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        then()

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


def test_a_task_that_fails_and_a_process_that_is_killed_leave_the_others_alone(tmp_path: Path) -> None:
    tasks = tasks_of(tmp_path, UNKNOWN, ENDLESS, QUICK)
    killer = once_training(tasks[1], lambda: os.kill(active_children()[0].pid, signal.SIGKILL))
    failed, killed, done = outcomes(tasks).values()
    killer.join()
    assert isinstance(failed, Failure)
    assert "did you mean 'tuned'" in failed.reason
    assert isinstance(killed, Failure)
    assert str(-signal.SIGKILL) in killed.reason
    assert isinstance(done, Measurements)
    assert active_children() == []


def test_a_process_that_somebody_else_ends_is_a_failure_and_loses_nothing(tmp_path: Path) -> None:
    tasks = tasks_of(tmp_path, LONG)
    ender = once_training(tasks[0], lambda: os.kill(active_children()[0].pid, signal.SIGTERM))
    (ended,) = outcomes(tasks).values()
    ender.join()
    assert isinstance(ended, Failure)
    assert "somebody else" in ended.reason
    assert list((tasks[0].run_directory / "checkpoints").glob("epoch-*.json"))


def test_a_stop_saves_what_is_under_way_and_begins_nothing_new(tmp_path: Path) -> None:
    tasks = tasks_of(tmp_path, LONG, QUICK)
    stop = StopRequest()
    stopper = once_training(tasks[0], lambda: stop.handle(signal.SIGTERM, None))
    assert outcomes(tasks, stop) == {}
    stopper.join()
    assert active_children() == []
    assert len(list((tasks[0].run_directory / "checkpoints").glob("epoch-*.json"))) == 1
    assert not tasks[1].run_directory.exists()
    resumed = perform(tasks[0])  # as the next worker would; here without the time it takes to start
    assert isinstance(resumed, Measurements)
    assert (resumed.epochs, resumed.processor_seconds) == (1000, None)


def test_a_stop_that_was_asked_for_before_does_nothing(tmp_path: Path) -> None:
    assert outcomes(tasks_of(tmp_path, QUICK), StopRequest(signal.SIGINT)) == {}
    assert list(tmp_path.iterdir()) == []


def test_without_tasks_no_process_is_started(tmp_path: Path) -> None:
    assert outcomes([]) == {}
    assert active_children() == []
