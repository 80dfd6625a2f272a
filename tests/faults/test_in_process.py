"""The library inside another program: it leaves signal handlers as they were, never exits, and works in
threads, in children of any kind and in a notebook."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import io
import multiprocessing
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import confgcn
from confgcn import ConfGCNClassifier, RunRequest, train
from confgcn.data.synthetic import block_model
from confgcn.exceptions import DataError, StoppedError, UsageError
from confgcn.training.callbacks import Callback
from confgcn.training.loop import TrainingLoop

pytestmark = pytest.mark.fault("P25")

GRAPH = block_model(80, seed=1)
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PACKAGE = Path(confgcn.__file__).parent


class Raise(Callback):
    """Sends signals to its own process after the first epoch."""

    def __init__(self, *numbers: signal.Signals) -> None:
        self.numbers = numbers

    def on_epoch(self, loop: TrainingLoop) -> None:
        if len(loop.history) == 1:
            for number in self.numbers:
                signal.raise_signal(number)


def trained(out: Path, *callbacks: Callback, epochs: int = 3) -> dict[str, Any]:
    request = RunRequest(GRAPH, overrides={"epochs": epochs}, out=out)
    return train(request, notify=lambda _: None, callbacks=callbacks)


def handlers() -> list[Any]:
    return [signal.getsignal(number) for number in SIGNALS]


@pytest.fixture(autouse=True)
def callers_handlers() -> Iterator[list[Any]]:
    """Handlers of the program around, one of them its own and one that ignores."""
    before = handlers()
    for number, handler in zip(SIGNALS, (lambda *_: None, signal.SIG_DFL, signal.SIG_IGN), strict=True):
        signal.signal(number, handler)
    yield handlers()
    for number, handler in zip(SIGNALS, before, strict=True):
        signal.signal(number, handler)


def test_handlers_are_restored_after_a_training(tmp_path: Path, callers_handlers: list[Any]) -> None:
    during: list[Any] = []

    class Look(Callback):
        def on_epoch(self, loop: TrainingLoop) -> None:
            during.append(handlers())

    trained(tmp_path / "run", Look())
    assert handlers() == callers_handlers
    assert during[0][:2] != callers_handlers[:2]
    assert during[0][2] is signal.SIG_IGN


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_signal_is_an_error_that_can_be_caught(
    tmp_path: Path, callers_handlers: list[Any], number: signal.Signals, times: int
) -> None:
    with pytest.raises(StoppedError, match=f"{number.name}.*--resume") as raised:
        trained(tmp_path / "run", Raise(*[number] * times))
    assert raised.value.signal_number == number
    assert handlers() == callers_handlers


@pytest.mark.parametrize(
    ("mistake", "error"),
    [
        (lambda out: trained(out, epochs=-1), UsageError),
        (lambda out: train(RunRequest("no such graph", out=out), notify=print), UsageError),
        (
            lambda _: ConfGCNClassifier(settings={"epochs": 2}).fit(np.eye(2), np.eye(2), ["a", "a"]),
            DataError,
        ),
        (lambda out: (trained(out), trained(out)), UsageError),
        (lambda out: trained(out, Stumble()), ZeroDivisionError),
    ],
    ids=["settings", "name", "labels", "taken", "a callback"],
)
def test_handlers_are_restored_after_an_error_and_nothing_exits(
    tmp_path: Path, callers_handlers: list[Any], mistake: Callable[[Path], object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        mistake(tmp_path / "run")
    assert handlers() == callers_handlers


class Stumble(Callback):
    def on_epoch(self, loop: TrainingLoop) -> None:
        raise ZeroDivisionError


def test_a_handler_that_python_cannot_restore_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.getsignal
    foreign = lambda number: None if number == signal.SIGTERM else before(number)  # noqa: E731
    monkeypatch.setattr(signal, "getsignal", foreign)
    during: list[Any] = []

    class Look(Callback):
        def on_epoch(self, loop: TrainingLoop) -> None:
            during.append(before(signal.SIGTERM))

    trained(tmp_path / "run", Look())
    assert len(during) > 3  # epochs of one candidate
    assert during == [signal.SIG_DFL] * len(during)


def test_nothing_but_the_command_line_ends_a_process() -> None:
    """A worker of ``confgcn reproduce`` leaves with the process that started it, one of a job with those it lost."""
    ends = {"sys.exit", "os._exit", "exit", "quit", "os.abort", "SystemExit"}
    found = {
        str(file.relative_to(PACKAGE))
        for file in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute | ast.Name) and ast.unparse(node) in ends
    }
    workers = {"distributed/heartbeat.py"}
    assert {name for name in found if not name.startswith(("cli/", "__main__"))} <= workers


def test_a_training_in_a_thread_leaves_the_handlers_alone_and_gives_the_same_result(
    tmp_path: Path, callers_handlers: list[Any], differences: Callable[[Path, Path], list[str]]
) -> None:
    during: list[Any] = []

    class Look(Callback):
        def on_epoch(self, loop: TrainingLoop) -> None:
            during.append(handlers())

    trained(tmp_path / "here" / "run")
    thread = threading.Thread(target=trained, args=(tmp_path / "thread" / "run", Look()))
    thread.start()
    thread.join(1200)
    assert len(during) > 3  # epochs of one candidate
    assert during == [callers_handlers] * len(during)
    assert differences(tmp_path / "here" / "run", tmp_path / "thread" / "run") == []


# What a child runs: everything, imports included, in a thread that is not its first.
IN_A_THREAD = """
import pathlib, signal, threading
found = []
def work():
    from confgcn import RunRequest, train
    from confgcn.data.synthetic import block_model
    request = RunRequest(block_model(80, seed=1), overrides={{"epochs": 3}}, out=pathlib.Path({out!r}))
    found.append(train(request, notify=lambda _: None))
thread = threading.Thread(target=work)
thread.start()
thread.join()
assert found and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
"""
IN_THE_FIRST = IN_A_THREAD.replace("thread.start()\nthread.join()", "work()")


@pytest.mark.parametrize(
    ("kind", "work"),
    [("fork", IN_THE_FIRST), ("fork", IN_A_THREAD), ("spawn", IN_A_THREAD)],
    ids=["fork", "fork, in a thread", "spawn, in a thread"],
)
def test_forked_and_spawned_processes_give_the_same_result(
    tmp_path: Path, kind: str, work: str, differences: Callable[[Path, Path], list[str]]
) -> None:
    trained(tmp_path / "here" / "run")
    context: Any = multiprocessing.get_context(kind)
    child = context.Process(target=exec, args=(work.format(out=str(tmp_path / "child" / "run")), {}))
    child.start()
    child.join(1200)
    assert child.exitcode == 0
    assert differences(tmp_path / "here" / "run", tmp_path / "child" / "run") == []


def test_it_works_in_a_notebook_with_an_event_loop_and_its_own_streams(
    tmp_path: Path, callers_handlers: list[Any]
) -> None:
    async def cell() -> dict[str, Any]:
        return trained(tmp_path / "run")

    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as errors:
        assert asyncio.run(cell())["seeds"] == 1
    assert (out.getvalue(), errors.getvalue()) == ("", "")
    assert handlers() == callers_handlers
