"""Every process of a job says that it lives, and hears whether the others do.

A process that was killed closes its connections, and the others notice at once. One that is frozen, or behind a cut
link, keeps them open for ever: it is known by its silence.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import torch.distributed as dist
from torch.distributed.distributed_c10d import Store

from confgcn.distributed.launch import GO_ON, LAUNCHED
from confgcn.distributed.rendezvous import is_said, reached_store, said_already
from confgcn.exceptions import ConfGCNError, ResourceError, brief

SECONDS_BETWEEN = 1.0  # two signs of life
LONGEST_SILENCE = 20.0  # seconds; torchrun takes up to thirty more to end what does not listen
LONGEST_WORK = 600.0  # seconds of silence before the first epoch: while METIS cuts a graph, its process cannot speak
LONGEST_MEETING = 120.0  # seconds until the first sign of life: processes import as fast as their disks let them
_NETWORK = re.compile(r"gloo|connection|socket|\bstore\b|timed? ?out|nccl|peer|rendezvous", re.IGNORECASE)


class Watch:
    """Writes this process's sign of life into the job's store, reads those of the others, and judges by them.

    The store is where the processes have met: with torchrun it belongs to the process that launched them, which none of
    them can freeze. When another process has been silent for too long, this one says which and ends.
    """

    def __init__(self, store: Store, rank: int, size: int) -> None:
        self.store, self.rank, self.size = store, rank, size
        self.silent: dict[int, float] = dict.fromkeys(range(size), LONGEST_SILENCE - LONGEST_MEETING)
        self.last_sign: dict[int, bytes] = {}
        self.launcher = os.getppid() if LAUNCHED in os.environ else None
        self.is_set_up = False  # do all of them train?
        self.rounds = 0  # of saying and hearing
        self.ended = threading.Event()
        self.threads = [threading.Thread(target=task, daemon=True) for task in (self._talk, self._judge)]

    @classmethod
    def start(cls, rank: int, size: int) -> Watch:
        """On a connection of its own: that of the training waits for messages."""
        watch = cls(reached_store(LONGEST_SILENCE), rank, size)
        watch._say(0)
        for thread in watch.threads:
            thread.start()
        return watch

    def stop(self, *, well: bool = False) -> None:
        """The training is over: if it ended well, silence means nothing from now on; if not, others are to notice."""
        if not self.ended.is_set():
            self.ended.set()
            with suppress(RuntimeError):
                if well:
                    self.store.set(f"left/{self.rank}", "1")

    def missing(self) -> str:
        """Whom this process has not heard of for longest, in words; "" where all are heard of."""
        silent, rank = max((seconds, rank) for rank, seconds in self.silent.items())
        return self._name(rank) if silent > 2 * SECONDS_BETWEEN else ""

    def hears_reason(self) -> bool:
        """Has another process said why the job ends?"""
        with suppress(RuntimeError):
            return is_said(self.store)
        return False

    def _talk(self) -> None:
        """Stops for good where the store is out of reach, which may take its answer for ever."""
        with suppress(RuntimeError):
            while not self.ended.wait(SECONDS_BETWEEN):
                self._say(self.rounds)
                self._hear(SECONDS_BETWEEN)
                self.rounds += 1

    def _judge(self) -> None:
        seen, seconds = self.rounds, 0.0
        while not self.ended.wait(SECONDS_BETWEEN):
            self._check_launcher()
            seconds = seconds + SECONDS_BETWEEN if self.rounds == seen else 0.0
            seen = self.rounds
            if seconds > LONGEST_SILENCE:
                self._fail_without_store(seconds)
            self._check()

    def _check_launcher(self) -> None:
        """A launcher that was killed leaves its workers behind, and the store goes with it."""
        if self.launcher is not None and os.getppid() != self.launcher:
            is_first = os.environ.get("LOCAL_RANK", "0") == "0"
            text = f"process {self.launcher}, which had started the workers, has ended. {GO_ON}"
            leave(text if is_first else "")

    def _check(self) -> None:
        for rank, seconds in self.silent.items():
            may_work = rank in self.last_sign and not self.is_set_up
            if seconds > (LONGEST_WORK if may_work else LONGEST_SILENCE):
                self._fail(rank, seconds)

    def _say(self, count: int) -> None:
        self.store.set(f"alive/{self.rank}", f"{count} {socket.gethostname()} {os.getpid()}")

    def _hear(self, seconds: float) -> None:
        """Only seconds in which this process could look are counted: a whole job may be put to sleep."""
        for rank in range(self.size):
            if rank == self.rank:
                continue
            if not self.store.check([f"alive/{rank}"]):
                self.silent[rank] += seconds
                continue
            sign = self.store.get(f"alive/{rank}")
            is_news = sign != self.last_sign.get(rank) or self.store.check([f"left/{rank}"])
            self.silent[rank] = 0.0 if is_news else self.silent[rank] + seconds
            self.last_sign[rank] = sign

    def _name(self, rank: int) -> str:
        if rank not in self.last_sign:
            return f"worker {rank}"
        _, host, process = self.last_sign[rank].decode().split()
        return f"worker {rank} (process {process} on {host})"

    def _fail(self, rank: int, seconds: float) -> None:
        name, waited = self._name(rank), seconds if rank in self.last_sign else LONGEST_MEETING
        with suppress(RuntimeError):
            if said_already(self.store, ResourceError.exit_code) is not None:
                name = ""
        self._end_if_here(rank)
        text = f"{name} has not been heard of for {waited:.0f} s: it is frozen, or cut off from this one. {GO_ON}"
        leave(text if name else "")

    def _fail_without_store(self, seconds: float) -> None:
        place = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
        said = f"worker {self.rank} has had no answer from {place}, where the workers meet, for {seconds:.0f} s"
        leave(f"{said}. {GO_ON}", launcher=self.launcher)

    def _end_if_here(self, rank: int) -> None:
        """A frozen process of this machine is ended: nothing else would, for as long as its launcher waits."""
        if rank not in self.last_sign or os.environ.get("LOCAL_WORLD_SIZE") != os.environ.get("WORLD_SIZE"):
            return
        _, host, process = self.last_sign[rank].decode().split()
        if host == socket.gethostname():
            with suppress(ProcessLookupError, PermissionError):
                os.kill(int(process), signal.SIGKILL)


def leave(message: str, *, launcher: int | None = None) -> None:
    """End this process, whatever its threads wait for; and its launcher, where that waits for what is out of reach.

    Without a message where another process has said it.
    """
    if message:
        with suppress(OSError):
            sys.stderr.flush()
            os.write(2, f"error: {message}\n".encode())
    if launcher is not None and os.getppid() == launcher:
        os.kill(launcher, signal.SIGKILL)  # it waits inside its store, where no other signal is heard
    os._exit(ResourceError.exit_code)


@contextmanager
def lost_touch(watch: Watch | None) -> Iterator[None]:
    """Errors of the network, as errors of ours that say who is missing."""
    try:
        yield
    except (RuntimeError, dist.DistError) as error:
        if isinstance(error, ConfGCNError) or not _NETWORK.search(str(error)):
            raise
        raise ResourceError(_explained(watch, error)) from None


def _explained(watch: Watch | None, error: Exception) -> str:
    if watch is None:
        place = f"{os.environ.get('MASTER_ADDR')}:{os.environ.get('MASTER_PORT')}"
        return f"the workers could not meet at {place}: {brief(error)}"
    deadline = time.monotonic() + LONGEST_SILENCE
    while not watch.missing() and not watch.hears_reason() and time.monotonic() < deadline:
        time.sleep(SECONDS_BETWEEN / 4)
    return f"{watch.missing() or 'another worker'} has ended or is cut off. {GO_ON}"
