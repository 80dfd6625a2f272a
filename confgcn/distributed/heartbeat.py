"""Every worker of a job writes heartbeats and reads those of the others.

A killed process closes its connections, and the others notice at once. One that is frozen or disconnected keeps them
open without limit: only its missing heartbeat shows it.
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

from confgcn.distributed.launch import LAUNCHED, RESUME
from confgcn.distributed.rendezvous import claim_report, connect_store, is_reported
from confgcn.exceptions import ConfGCNError, ResourceError, brief

HEARTBEAT_INTERVAL = 1.0  # seconds
HEARTBEAT_TIMEOUT = 20.0  # seconds; torchrun takes up to thirty more to end a process that does not respond
SETUP_TIMEOUT = 600.0  # seconds without a heartbeat before the first epoch: METIS blocks all threads of its process
RENDEZVOUS_TIMEOUT = 120.0  # seconds until the first heartbeat: imports take as long as the disk needs
_NETWORK = re.compile(r"gloo|connection|socket|\bstore\b|timed? ?out|nccl|peer|rendezvous", re.IGNORECASE)


class Heartbeat:
    """Writes this worker's heartbeat into the job's store and counts for how long those of the others are missing.

    When the heartbeat of another worker is missing for too long, this worker reports it and ends.
    """

    def __init__(self, store: Store, rank: int, size: int) -> None:
        self.store, self.rank, self.size = store, rank, size
        self.seconds_missing: dict[int, float] = dict.fromkeys(range(size), HEARTBEAT_TIMEOUT - RENDEZVOUS_TIMEOUT)
        self.last_beat: dict[int, bytes] = {}
        self.launcher = os.getppid() if LAUNCHED in os.environ else None
        self.is_set_up = False  # do all workers train?
        self.rounds = 0  # of writing and reading
        self.ended = threading.Event()
        self.threads = [threading.Thread(target=task, daemon=True) for task in (self._exchange, self._monitor)]

    @classmethod
    def start(cls, rank: int, size: int) -> Heartbeat:
        """On a separate connection: that of the training waits for messages."""
        heartbeat = cls(connect_store(HEARTBEAT_TIMEOUT), rank, size)
        heartbeat._write(0)
        for thread in heartbeat.threads:
            thread.start()
        return heartbeat

    def stop(self, *, succeeded: bool = False) -> None:
        """Stop writing. After a training that succeeded the other workers do not expect heartbeats any more."""
        if not self.ended.is_set():
            self.ended.set()
            with suppress(RuntimeError):
                if succeeded:
                    self.store.set(f"finished/{self.rank}", "1")

    def missing(self) -> str:
        """The worker whose heartbeat has been missing for longest; "" if all have written lately."""
        longest, rank = max((seconds, rank) for rank, seconds in self.seconds_missing.items())
        return self._name(rank) if longest > 2 * HEARTBEAT_INTERVAL else ""

    def is_end_reported(self) -> bool:
        """Has another process reported why the job ends?"""
        with suppress(RuntimeError):
            return is_reported(self.store)
        return False

    def _exchange(self) -> None:
        """Ends when the store cannot be reached: its reply may then never arrive."""
        with suppress(RuntimeError):
            while not self.ended.wait(HEARTBEAT_INTERVAL):
                self._write(self.rounds)
                self._read(HEARTBEAT_INTERVAL)
                self.rounds += 1

    def _monitor(self) -> None:
        seen, seconds = self.rounds, 0.0
        while not self.ended.wait(HEARTBEAT_INTERVAL):
            self._check_launcher()
            seconds = seconds + HEARTBEAT_INTERVAL if self.rounds == seen else 0.0
            seen = self.rounds
            if seconds > HEARTBEAT_TIMEOUT:
                self._fail_without_store(seconds)
            self._check_workers()

    def _check_launcher(self) -> None:
        """A launcher that was killed leaves its workers behind, and the store goes with it."""
        if self.launcher is not None and os.getppid() != self.launcher:
            is_first = os.environ.get("LOCAL_RANK", "0") == "0"
            text = f"process {self.launcher}, which started the workers, has ended. {RESUME}"
            end_process(text if is_first else "")

    def _check_workers(self) -> None:
        for rank, seconds in self.seconds_missing.items():
            is_setting_up = rank in self.last_beat and not self.is_set_up
            if seconds > (SETUP_TIMEOUT if is_setting_up else HEARTBEAT_TIMEOUT):
                self._fail(rank, seconds)

    def _write(self, count: int) -> None:
        self.store.set(f"alive/{self.rank}", f"{count} {socket.gethostname()} {os.getpid()}")

    def _read(self, seconds: float) -> None:
        """Only seconds in which this process could read are counted: a whole job may be suspended."""
        for rank in range(self.size):
            if rank == self.rank:
                continue
            if not self.store.check([f"alive/{rank}"]):
                self.seconds_missing[rank] += seconds
                continue
            beat = self.store.get(f"alive/{rank}")
            is_alive = beat != self.last_beat.get(rank) or self.store.check([f"finished/{rank}"])
            self.seconds_missing[rank] = 0.0 if is_alive else self.seconds_missing[rank] + seconds
            self.last_beat[rank] = beat

    def _name(self, rank: int) -> str:
        if rank not in self.last_beat:
            return f"worker {rank}"
        _, host, process = self.last_beat[rank].decode().split()
        return f"worker {rank} (process {process} on {host})"

    def _fail(self, rank: int, seconds: float) -> None:
        name, waited = self._name(rank), seconds if rank in self.last_beat else RENDEZVOUS_TIMEOUT
        with suppress(RuntimeError):
            if claim_report(self.store, ResourceError.exit_code) is not None:
                name = ""
        self._kill_if_local(rank)
        text = f"{name} has not responded for {waited:.0f} s: it is frozen or disconnected. {RESUME}"
        end_process(text if name else "")

    def _fail_without_store(self, seconds: float) -> None:
        place = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
        text = f"worker {self.rank} has had no reply from {place}, where the workers connect, for {seconds:.0f} s"
        end_process(f"{text}. {RESUME}", launcher=self.launcher)

    def _kill_if_local(self, rank: int) -> None:
        """Kill a frozen process on this machine: its launcher would wait for it without limit."""
        if rank not in self.last_beat or os.environ.get("LOCAL_WORLD_SIZE") != os.environ.get("WORLD_SIZE"):
            return
        _, host, process = self.last_beat[rank].decode().split()
        if host == socket.gethostname():
            with suppress(ProcessLookupError, PermissionError):
                os.kill(int(process), signal.SIGKILL)


def end_process(message: str, *, launcher: int | None = None) -> None:
    """End this process, whatever its threads wait for, and its launcher if that waits for an unreachable store.

    The message is empty if another process reports the error.
    """
    if message:
        with suppress(OSError):
            sys.stderr.flush()
            os.write(2, f"error: {message}\n".encode())
    if launcher is not None and os.getppid() == launcher:
        os.kill(launcher, signal.SIGKILL)  # inside a call of its store it handles no other signal
    os._exit(ResourceError.exit_code)


@contextmanager
def reporting_lost_workers(heartbeat: Heartbeat | None) -> Iterator[None]:
    """Within, an error of the network becomes a ``ResourceError`` that names the lost worker."""
    try:
        yield
    except (RuntimeError, dist.DistError) as error:
        if isinstance(error, ConfGCNError) or not _NETWORK.search(str(error)):
            raise
        raise ResourceError(_explanation(heartbeat, error)) from None


def _explanation(heartbeat: Heartbeat | None, error: Exception) -> str:
    if heartbeat is None:
        place = f"{os.environ.get('MASTER_ADDR')}:{os.environ.get('MASTER_PORT')}"
        return f"the workers could not connect at {place}: {brief(error)}"
    deadline = time.monotonic() + HEARTBEAT_TIMEOUT
    while not heartbeat.missing() and not heartbeat.is_end_reported() and time.monotonic() < deadline:
        time.sleep(HEARTBEAT_INTERVAL / 4)
    return f"{heartbeat.missing() or 'another worker'} has ended or is disconnected. {RESUME}"
