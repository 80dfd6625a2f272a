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
from datetime import timedelta

import torch.distributed as dist
from torch.distributed.distributed_c10d import PrefixStore, Store

from confgcn.exceptions import ConfGCNError, ResourceError, brief

SECONDS_BETWEEN = 1.0  # two signs of life
LONGEST_SILENCE = 20.0  # seconds; torchrun takes up to thirty more to end what does not listen
_NETWORK = re.compile(r"gloo|connection|socket|store|timed? ?out|nccl|peer|rendezvous", re.IGNORECASE)


class Watch:
    """Writes this process's sign of life into the job's store, reads those of the others, and judges by them.

    The store is where the processes have met: with torchrun it belongs to the process that launched them, which none of
    them can freeze. When another process has been silent for too long, this one says which and ends.
    """

    def __init__(self, store: Store, rank: int, size: int) -> None:
        self.store, self.rank, self.size = store, rank, size
        self.silent: dict[int, float] = dict.fromkeys(range(size), 0.0)
        self.last_sign: dict[int, bytes] = {}
        self.places: dict[int, str] = {}
        self.rounds = 0  # of saying and hearing
        self.ended = threading.Event()
        self.threads = [threading.Thread(target=task, daemon=True) for task in (self._talk, self._judge)]

    @classmethod
    def start(cls, rank: int, size: int) -> Watch:
        """On a connection of its own: that of the training waits for messages."""
        host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
        patience = timedelta(seconds=LONGEST_SILENCE)
        store: Store = dist.TCPStore(  # type: ignore[attr-defined]
            host, port, is_master=False, timeout=patience, wait_for_workers=False
        )
        watch = cls(PrefixStore(f"confgcn/{os.environ.get('TORCHELASTIC_RESTART_COUNT', 0)}", store), rank, size)
        store.set_timeout(patience)
        watch._say(0)
        for thread in watch.threads:
            thread.start()
        return watch

    def stop(self) -> None:
        """The training is over: from now on silence means nothing."""
        if not self.ended.is_set():
            self.ended.set()
            with suppress(RuntimeError):
                self.store.set(f"left/{self.rank}", "1")

    def missing(self) -> str:
        """Whom this process has not heard of for longest, in words; "" where all are heard of."""
        silent, rank = max((seconds, rank) for rank, seconds in self.silent.items())
        return self._name(rank) if silent > 2 * SECONDS_BETWEEN else ""

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
            seconds = seconds + SECONDS_BETWEEN if self.rounds == seen else 0.0
            seen = self.rounds
            if seconds > LONGEST_SILENCE:
                self._fail_without_store(seconds)
            self._check()

    def _check(self) -> None:
        for rank, seconds in self.silent.items():
            if seconds > LONGEST_SILENCE:
                self._fail(rank, seconds)

    def _say(self, count: int) -> None:
        self.store.set(f"alive/{self.rank}", f"{count} {socket.gethostname()} {os.getpid()}")

    def _hear(self, seconds: float) -> None:
        """Only seconds in which this process could look are counted: a whole job may be put to sleep."""
        for rank in range(self.size):
            if rank == self.rank or not self.store.check([f"alive/{rank}"]):
                continue
            sign = self.store.get(f"alive/{rank}")
            is_news = sign != self.last_sign.get(rank) or self.store.check([f"left/{rank}"])
            self.silent[rank] = 0.0 if is_news else self.silent[rank] + seconds
            self.last_sign[rank] = sign

    def _name(self, rank: int) -> str:
        _, host, process = self.last_sign.get(rank, b"0 unknown 0").decode().split()
        return f"worker {rank} (process {process} on {host})"

    def _fail(self, rank: int, seconds: float) -> None:
        name = self._name(rank)
        self._end_if_here(rank)
        leave(f"{name} has not been heard of for {seconds:.0f} s: it is frozen, or cut off from this one")

    def _fail_without_store(self, seconds: float) -> None:
        place = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
        leave(
            f"worker {self.rank} has had no answer from {place}, where the workers meet, for {seconds:.0f} s",
            with_launcher=True,
        )

    def _end_if_here(self, rank: int) -> None:
        """A frozen process of this machine is ended: nothing else would, for as long as its launcher waits."""
        _, host, process = self.last_sign.get(rank, b"0 unknown 0").decode().split()
        if host == socket.gethostname() and os.environ.get("LOCAL_WORLD_SIZE") == os.environ.get("WORLD_SIZE"):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(int(process), signal.SIGKILL)


def leave(message: str, *, with_launcher: bool = False) -> None:
    """End this process, whatever its threads wait for; and its launcher, where that waits for what is out of reach."""
    with suppress(OSError):
        sys.stderr.flush()
        os.write(
            2, f"error: {message}. To go on from the last checkpoint, give the same command with --resume\n".encode()
        )
    if with_launcher and "TORCHELASTIC_RUN_ID" in os.environ:
        os.kill(os.getppid(), signal.SIGKILL)  # it waits inside its store, where no other signal is heard
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
        return f"the workers could not meet: {brief(error)}"
    deadline = time.monotonic() + LONGEST_SILENCE
    while not watch.missing() and time.monotonic() < deadline:
        time.sleep(SECONDS_BETWEEN)
    return f"{watch.missing() or 'another worker'} has ended or is cut off ({brief(error)})"
