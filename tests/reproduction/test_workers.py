"""Worker processes: one that fails or is killed fails its own task only, and a stop loses nothing."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from multiprocessing import active_children
from pathlib import Path
from typing import Any, cast

import pytest
import torch

from confgcn.io.signals import StopRequest
from reproduction import workers
from reproduction.jobs import Job, Variant
from reproduction.measurements import Measurements
from reproduction.tasks import Failure, Outcome, Task, perform
from reproduction.workers import perform_all

QUICK = Variant("Feat", "feat").changed("Feat", epochs=2)
ENDLESS = Variant("Kipf-GCN", "gcn").changed("Kipf-GCN", epochs=100_000, stop="never")
LONG = Variant("Kipf-GCN", "gcn").changed("Kipf-GCN", epochs=1000, stop="never")
UNKNOWN = Variant("Feat", "feat", "tunned")


def tasks_of(folder: Path, *variants: Variant) -> list[Task]:
    return [Task((Job("demo", variant, 0),), str(number), folder, None) for number, variant in enumerate(variants)]


def outcomes(tasks: list[Task], stop: StopRequest | None = None) -> dict[str, Outcome]:
    return {task.key: outcome for task, outcome in perform_all(tasks, processes=1, stop=stop or StopRequest())}


def once_training(task: Task, then: Callable[[], None], *, sign: str = "environment.json") -> threading.Thread:
    """Do something as soon as the task's training has begun, or has written another file."""

    def watch() -> None:
        deadline = time.monotonic() + 1200
        while not any(task.run_directory.glob(sign)) and time.monotonic() < deadline:
            time.sleep(0.01)
        then()

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


@pytest.mark.slow
def test_a_task_that_fails_and_a_process_that_is_killed_leave_the_others_alone(tmp_path: Path) -> None:
    tasks = tasks_of(tmp_path, UNKNOWN, ENDLESS, QUICK)
    killer = once_training(tasks[1], lambda: os.kill(active_children()[0].pid, signal.SIGKILL))
    failed, killed, done = outcomes(tasks).values()
    killer.join()
    assert isinstance(failed, Failure)
    assert "did you mean 'tuned'" in failed.reason
    assert killed == Failure("its process was ended by signal 9", 4)
    assert isinstance(done, dict)
    assert isinstance(done["paper"], Measurements)
    assert active_children() == []


@pytest.mark.slow
def test_a_process_that_receives_a_stop_signal_fails_with_its_state_saved(tmp_path: Path) -> None:
    tasks, saved = tasks_of(tmp_path, ENDLESS), "checkpoints/epoch-*.json"
    ender = once_training(tasks[0], lambda: os.kill(active_children()[0].pid, signal.SIGTERM), sign=saved)
    (ended,) = outcomes(tasks).values()
    ender.join()
    assert ended == Failure("its process received a stop signal and saved its state", 4)
    assert len(list(tasks[0].run_directory.glob(saved))) == 2


def test_a_suspended_process_is_killed_after_a_while_and_a_continued_one_is_not(
    monkeypatch: pytest.MonkeyPatch, wait_until: Callable[..., None]
) -> None:
    monkeypatch.setattr(workers, "SECONDS_SUSPENDED", 3.0)
    worker = workers._Worker()
    number, worker.task = cast(int, worker.process.pid), cast(Any, "a task")
    try:
        for sent, seconds in ((signal.SIGSTOP, 2.0), (signal.SIGCONT, 9.0), (signal.SIGSTOP, 2.0)):
            os.kill(number, sent)
            wait_until(lambda sent=sent: workers._is_suspended(worker.process) is (sent == signal.SIGSTOP))
            worker.kill_if_suspended(seconds)
        assert worker.process.is_alive()
        worker.kill_if_suspended(1.0)
        reason = f"its process, {number}, was suspended by SIGSTOP for 3 s and killed"
        assert worker.receive() == ("a task", Failure(reason, 4))
    finally:
        worker.close()


class Deadly:
    """In place of a task: the process that unpacks it ends with code three."""

    def __reduce__(self) -> tuple[Callable[[int], Any], tuple[int]]:
        return os._exit, (3,)


def test_a_process_that_exits_is_reported_with_its_code() -> None:
    task: Any = Deadly()
    assert list(perform_all([task], processes=1, stop=StopRequest())) == [
        (task, Failure("its process ended with code 3", 1))
    ]


def test_a_process_that_does_not_exit_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "SECONDS_TO_EXIT", 0.1)
    worker = workers._Worker()
    assert worker.process.pid is not None
    os.kill(worker.process.pid, signal.SIGSTOP)
    try:
        worker.close()
        assert worker.process.exitcode == -signal.SIGKILL
    finally:
        worker.process.kill()


class Errands:
    """The pipe of a process that is given one task."""

    def __init__(self) -> None:
        self.tasks, self.answers = ["task"], []

    def recv(self) -> str:
        if not self.tasks:
            raise EOFError
        return self.tasks.pop()

    def send(self, answer: Any) -> None:
        self.answers.append(answer)


def test_a_process_computes_with_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "setsid", lambda: None)
    monkeypatch.setattr(workers, "_exit_with_parent", lambda _: None)  # this process is to stay
    monkeypatch.setattr(workers, "perform", lambda task: (task, torch.get_num_threads()))
    errands: Any = Errands()
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        workers._serve(errands, errands)
    finally:
        torch.set_num_threads(before)
    assert errands.answers == [("task", 1)]


@pytest.mark.slow
def test_a_stop_saves_running_tasks_and_starts_no_others(tmp_path: Path) -> None:
    tasks = tasks_of(tmp_path, LONG, QUICK)
    stop = StopRequest()
    stopper = once_training(tasks[0], lambda: stop.handle(signal.SIGTERM, None))
    assert outcomes(tasks, stop) == {}
    stopper.join()
    assert active_children() == []
    assert len(list((tasks[0].run_directory / "checkpoints").glob("epoch-*.json"))) == 1
    assert not tasks[1].run_directory.exists()
    outcome = perform(tasks[0])  # as the next worker would; here without the time it takes to start
    assert isinstance(outcome, dict)
    resumed = outcome["paper"]
    assert isinstance(resumed, Measurements)
    assert (resumed.epochs, resumed.processor_seconds) == (1000, None)


def test_a_stop_before_the_start_runs_nothing(tmp_path: Path) -> None:
    assert outcomes(tasks_of(tmp_path, QUICK), StopRequest(signal.SIGINT)) == {}
    assert list(tmp_path.iterdir()) == []


def test_without_tasks_no_process_is_started(tmp_path: Path) -> None:
    assert outcomes([]) == {}
    assert active_children() == []
