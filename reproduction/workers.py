"""Do tasks in several processes of one thread each, none of which can take the others down."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import cast

from confgcn.exceptions import ResourceError, StoppedError
from confgcn.io.signals import StopRequest
from confgcn.io.threads import computing_with
from reproduction.tasks import Failure, Outcome, Task, perform

SECONDS_TO_LEAVE = 5.0
SECONDS_BETWEEN_LOOKS = 0.2  # at whether a stop was asked for, and whether a process is frozen
SECONDS_FROZEN = 20.0  # after which a process that SIGSTOP has frozen is not waited for any longer


def perform_all(tasks: Sequence[Task], *, processes: int, stop: StopRequest) -> Iterator[tuple[Task, Outcome]]:
    """The outcome of each task, as they come. When a stop is asked for, runs save their state and no more come."""
    waiting = list(reversed(tasks))
    workers = [_Worker() for _ in range(min(processes, len(tasks)))]
    try:
        while True:
            if stop.received is None:
                _share_out(waiting, workers)
            else:
                for worker in workers:
                    worker.ask_to_stop()
            busy = {worker.pipe: worker for worker in workers if worker.task is not None}
            if not busy:
                return
            for pipe in _ready(busy):
                task, answer = busy[pipe].take()
                if not isinstance(answer, _Stopped):
                    yield task, answer
    finally:
        for worker in workers:
            worker.dismiss()


def _share_out(waiting: list[Task], workers: list[_Worker]) -> None:
    for place, worker in enumerate(workers):
        if worker.task is None and waiting:
            if worker.is_dead:
                workers[place] = _Worker()
            workers[place].give(waiting.pop())


def _ready(busy: dict[Connection, _Worker]) -> list[Connection]:
    """The pipes of those that have answered or died; waits for one, but not long."""
    began = time.monotonic()
    pipes = cast(list[Connection], wait(list(busy), timeout=SECONDS_BETWEEN_LOOKS))
    seconds = min(time.monotonic() - began, SECONDS_BETWEEN_LOOKS)  # if it was more, this process was frozen itself
    for worker in busy.values():
        worker.end_if_frozen(seconds)
    return pipes


class _Stopped:
    """In place of an outcome: the run has saved its state."""


class _Worker:
    """A process that does one task after another. It leaves at once when this process is gone."""

    def __init__(self) -> None:
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        their_lifeline, self.lifeline = context.Pipe(duplex=False)
        self.process = context.Process(target=_serve, args=(theirs, their_lifeline), daemon=True)
        self.process.start()
        theirs.close()
        their_lifeline.close()
        self.task: Task | None = None
        self.is_dead = False
        self._is_stopping = False
        self._frozen_for = 0.0

    def give(self, task: Task) -> None:
        self.task = task
        with suppress(BrokenPipeError):  # a process that died while it waited is found out by take()
            self.pipe.send(task)

    def take(self) -> tuple[Task, Outcome | _Stopped]:
        assert self.task is not None
        task, self.task = self.task, None
        try:
            answer: Outcome | _Stopped = self.pipe.recv()
        except (EOFError, OSError):  # also in the middle of a message
            self.process.join()
            self.is_dead = True
            answer = _Stopped()
        if isinstance(answer, _Stopped) and not self._is_stopping:
            return task, self._why()
        return task, answer

    def _why(self) -> Failure:
        code = self.process.exitcode
        if code is None:
            return Failure(
                "its process was asked to stop by somebody else, and saved its state", ResourceError.exit_code
            )
        if self._was_frozen:
            reason = f"its process, {self.process.pid}, was frozen by SIGSTOP for {SECONDS_FROZEN:g} s and was ended"
            return Failure(reason, ResourceError.exit_code)
        if code < 0:
            return Failure(f"its process was ended by signal {-code}", ResourceError.exit_code)
        return Failure(f"its process ended with code {code}", 1)

    def ask_to_stop(self) -> None:
        if not self._is_stopping and self.process.is_alive():
            self._is_stopping = True
            self.process.terminate()

    def end_if_frozen(self, seconds: float) -> None:
        """After so many more seconds; its task is then taken like that of any process that was killed."""
        if self._was_frozen:
            return
        self._frozen_for = self._frozen_for + seconds if _is_frozen(self.process) else 0.0
        if self._was_frozen:
            self.process.kill()

    @property
    def _was_frozen(self) -> bool:
        return self._frozen_for >= SECONDS_FROZEN

    def dismiss(self) -> None:
        self.pipe.close()
        self.lifeline.close()
        self.process.join(timeout=SECONDS_TO_LEAVE)
        self.process.kill()
        self.process.join()


def _is_frozen(process: BaseProcess) -> bool:
    """A look that changes nothing; the system tells it of a process that lives, where it can tell at all."""
    if not hasattr(os, "waitid") or process.pid is None:
        return False
    with suppress(ChildProcessError):
        return os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None
    return False


def _serve(pipe: Connection, lifeline: Connection) -> None:
    os.setsid()  # Ctrl-C reaches the first process alone, which then asks the others to stop
    threading.Thread(target=_leave_with, args=(lifeline,), daemon=True).start()
    with computing_with(1):
        while True:
            try:
                task = pipe.recv()
            except EOFError:
                return
            try:
                pipe.send(perform(task))
            except StoppedError:
                pipe.send(_Stopped())


def _leave_with(lifeline: Connection) -> None:
    try:
        lifeline.recv()
    except EOFError:
        os._exit(1)
