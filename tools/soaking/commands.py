"""The command line in processes that can be killed, forked from one that holds its imports."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from pathlib import Path

processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(
    [
        *("confgcn.cli.main", "confgcn.cli.progress", "confgcn.runs.train", "confgcn.runs.saved"),
        *("confgcn.models.confgcn.consensus", "torch.fx.experimental.symbolic_shapes", "torch._dynamo"),
        *("matplotlib.pyplot", "jinja2"),
    ]
)

LONGEST = 300.0  # seconds: a command that takes longer hangs


@dataclass(frozen=True)
class Ended:
    """How a command ended, after how many seconds, and its messages."""

    code: int
    seconds: float
    errors: str


@dataclass(frozen=True)
class Running:
    """A command in a folder."""

    process: ForkServerProcess
    errors: Path
    began: float

    def send(self, number: signal.Signals, *, after: float) -> None:
        """Send a signal some seconds after the command began, unless it has ended by then."""
        self.process.join(max(0.0, self.began + after - time.monotonic()))
        if self.process.is_alive() and self.process.pid:
            os.kill(self.process.pid, number)

    def wait(self) -> Ended:
        """Wait until it ends; one that hangs is killed."""
        self.process.join(LONGEST)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        errors = self.errors.read_text(errors="replace")
        return Ended(self.process.exitcode or 0, time.monotonic() - self.began, errors)


def start(words: Sequence[str], folder: Path, *, seconds_between_saves: float) -> Running:
    """``confgcn`` with these words in a folder; it has begun when this returns."""
    errors = folder.with_name(f"{folder.name}.{time.monotonic_ns()}.err")
    process = processes.Process(target=_command, args=(list(words), folder, errors, seconds_between_saves), daemon=True)
    process.start()
    while not errors.exists() and process.is_alive():
        time.sleep(0.001)
    return Running(process, errors, time.monotonic())


def _command(words: list[str], folder: Path, errors: Path, seconds_between_saves: float) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # as in a process that has just begun
    from confgcn.__main__ import run
    from confgcn.training.checkpoint import Checkpointer

    assert Checkpointer.__init__.__kwdefaults__ is not None
    Checkpointer.__init__.__kwdefaults__["seconds_between"] = seconds_between_saves
    os.chdir(folder)
    sys.argv = ["confgcn", *words]
    for number, path in ((1, os.devnull), (2, str(errors))):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
    run()
