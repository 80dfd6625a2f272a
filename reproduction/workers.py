"""Execute tasks in several single-threaded processes; a process that dies fails its own task only."""

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

SECONDS_TO_EXIT = 5.0
SECONDS_BETWEEN_CHECKS = 0.2  # for a stop request and for suspended processes
SECONDS_SUSPENDED = 20.0  # after which a process suspended by SIGSTOP is killed


def perform_all(tasks: Sequence[Task], *, processes: int, stop: StopRequest) -> Iterator[tuple[Task, Outcome]]:
    """Yield the outcome of each task when it is done. After a stop request, running tasks save their state and end."""
    waiting = list(reversed(tasks))
    workers = [_Worker() for _ in range(min(processes, len(tasks)))]
    try:
        while True:
            if stop.received is None:
                _assign(waiting, workers)
            else:
                for worker in workers:
                    worker.request_stop()
            busy = {worker.pipe: worker for worker in workers if worker.task is not None}
            if not busy:
                return
            for pipe in _ready(busy):
                task, answer = busy[pipe].receive()
                if not isinstance(answer, _Stopped):
                    yield task, answer
    finally:
        for worker in workers:
            worker.close()


def _assign(waiting: list[Task], workers: list[_Worker]) -> None:
    for index, worker in enumerate(workers):
        if worker.task is None and waiting:
            if worker.is_dead:
                workers[index] = _Worker()
            workers[index].send(waiting.pop())


def _ready(busy: dict[Connection, _Worker]) -> list[Connection]:
    """The pipes of workers that have answered or died; waits for one, at most ``SECONDS_BETWEEN_CHECKS``."""
    started = time.monotonic()
    pipes = cast(list[Connection], wait(list(busy), timeout=SECONDS_BETWEEN_CHECKS))
    seconds = min(time.monotonic() - started, SECONDS_BETWEEN_CHECKS)  # longer means this process was suspended itself
    for worker in busy.values():
        worker.kill_if_suspended(seconds)
    return pipes


class _Stopped:
    """In place of an outcome: the run has saved its state."""


class _Worker:
    """A process that executes one task after another. It exits at once when this process has ended."""

    def __init__(self) -> None:
        context = get_context("spawn")
        self.pipe, worker_pipe = context.Pipe()
        parent_watch, self.parent_end = context.Pipe(duplex=False)
        self.process = context.Process(target=_serve, args=(worker_pipe, parent_watch), daemon=True)
        self.process.start()
        worker_pipe.close()
        parent_watch.close()
        self.task: Task | None = None
        self.is_dead = False
        self._is_stopping = False
        self._seconds_suspended = 0.0

    def send(self, task: Task) -> None:
        self.task = task
        with suppress(BrokenPipeError):  # receive() reports a process that died while it was idle
            self.pipe.send(task)

    def receive(self) -> tuple[Task, Outcome | _Stopped]:
        assert self.task is not None
        task, self.task = self.task, None
        try:
            answer: Outcome | _Stopped = self.pipe.recv()
        except (EOFError, OSError):  # also in the middle of a message
            self.process.join()
            self.is_dead = True
            answer = _Stopped()
        if isinstance(answer, _Stopped) and not self._is_stopping:
            return task, self._failure()
        return task, answer

    def _failure(self) -> Failure:
        code = self.process.exitcode
        if code is None:
            return Failure("its process received a stop signal and saved its state", ResourceError.exit_code)
        if self._is_suspended_too_long:
            reason = f"its process, {self.process.pid}, was suspended by SIGSTOP for {SECONDS_SUSPENDED:g} s and killed"
            return Failure(reason, ResourceError.exit_code)
        if code < 0:
            return Failure(f"its process was ended by signal {-code}", ResourceError.exit_code)
        return Failure(f"its process ended with code {code}", 1)

    def request_stop(self) -> None:
        if not self._is_stopping and self.process.is_alive():
            self._is_stopping = True
            self.process.terminate()

    def kill_if_suspended(self, seconds: float) -> None:
        """Count ``seconds`` more of suspension; the task of a killed process then fails."""
        if self._is_suspended_too_long:
            return
        self._seconds_suspended = self._seconds_suspended + seconds if _is_suspended(self.process) else 0.0
        if self._is_suspended_too_long:
            self.process.kill()

    @property
    def _is_suspended_too_long(self) -> bool:
        return self._seconds_suspended >= SECONDS_SUSPENDED

    def close(self) -> None:
        self.pipe.close()
        self.parent_end.close()
        self.process.join(timeout=SECONDS_TO_EXIT)
        self.process.kill()
        self.process.join()


def _is_suspended(process: BaseProcess) -> bool:
    """Whether a process is stopped by a signal; WNOWAIT leaves its status for join()."""
    if not hasattr(os, "waitid") or process.pid is None:
        return False
    with suppress(ChildProcessError):
        return os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None
    return False


def _serve(pipe: Connection, parent_watch: Connection) -> None:
    os.setsid()  # Ctrl-C reaches the parent process only, which then stops its workers
    threading.Thread(target=_exit_with_parent, args=(parent_watch,), daemon=True).start()
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


def _exit_with_parent(parent_watch: Connection) -> None:
    try:
        parent_watch.recv()
    except EOFError:
        os._exit(1)
