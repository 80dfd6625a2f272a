"""Run many cases in forked processes, each of which ends after a fault and is replaced."""

from __future__ import annotations

import json
import math
import os
import resource
import selectors
import shutil
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzzing.reader import Reader
from fuzzing.trial import Outcome, Trial

PROCESSES = 2
BATCH = 100  # cases of one process
PATIENCE_SECONDS = 40.0  # by the clock: longer than the alarm inside, which goes by the processor
ADDRESS_BYTES = 4 * 2**30  # over what a process has; the watch on memory is stricter, this protects the machine


@dataclass
class Tally:
    """The outcomes of the cases of one reader."""

    cases: int = 0
    canaries: int = 0
    read: int = 0
    refused: int = 0
    slowest: float = 0.0
    peak_bytes: int = 0
    faults: list[Outcome] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        """Add one case."""
        self.cases += 1
        self.canaries += outcome.is_canary
        self.read += outcome.read and not outcome.fault
        self.refused += not outcome.read and not outcome.fault
        self.slowest = max(self.slowest, outcome.seconds)
        self.peak_bytes = max(self.peak_bytes, outcome.peak_bytes)
        if outcome.fault:
            self.faults.append(outcome)


Batch = tuple[Reader, Sequence[int]]


def run(batches: Iterable[Batch], *, seed: int, watch: Callable[[Reader, Outcome], None]) -> None:
    """Try all cases, a few processes at a time; every outcome is handed to ``watch``."""
    waiting: Iterator[Batch] = iter(batches)
    with selectors.DefaultSelector() as selector:
        while True:
            while len(selector.get_map()) < PROCESSES and (batch := next(waiting, None)) is not None:
                _Worker.start(*batch, seed, selector)
            if not selector.get_map():
                return
            for key, _ in selector.select(timeout=0.5):
                key.data.receive()
            for worker in [key.data for key in selector.get_map().values()]:
                waiting = _look_after(worker, selector, watch, waiting)


def _look_after(
    worker: _Worker,
    selector: selectors.BaseSelector,
    watch: Callable[[Reader, Outcome], None],
    waiting: Iterator[Batch],
) -> Iterator[Batch]:
    """Pass its outcomes on; if it has ended or hangs, its remaining cases go to another process."""
    for outcome in worker.taken():
        watch(worker.reader, outcome)
    if worker.hangs:
        os.kill(worker.process, signal.SIGKILL)
    elif not worker.ended:
        return waiting
    last = worker.end(selector)
    if last is not None:
        watch(worker.reader, last)
    left = worker.left
    return _before((worker.reader, left), waiting) if left else waiting


def _before(batch: Batch, batches: Iterator[Batch]) -> Iterator[Batch]:
    yield batch
    yield from batches


class _Worker:
    """A process that tries the cases of one batch, seen from outside."""

    def __init__(self, reader: Reader, cases: Sequence[int], process: int, pipe: int, folder: Path) -> None:
        self.reader, self.process, self.pipe, self.folder = reader, process, pipe, folder
        self.left = list(cases)
        self.ended = False
        self._text = b""
        self._outcomes: list[Outcome] = []
        self._since = time.monotonic()

    @classmethod
    def start(cls, reader: Reader, cases: Sequence[int], seed: int, selector: selectors.BaseSelector) -> None:
        folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
        incoming, outgoing = os.pipe()
        process = os.fork()
        if process == 0:
            os.close(incoming)
            _serve(reader, cases, seed, folder, outgoing)
        os.close(outgoing)
        selector.register(incoming, selectors.EVENT_READ, cls(reader, cases, process, incoming, folder))

    def receive(self) -> None:
        """Outcomes, one a line."""
        found = os.read(self.pipe, 1 << 16)
        self.ended = not found
        *lines, self._text = (self._text + found).split(b"\n")
        for line in lines:
            outcome = Outcome(**json.loads(line))
            self.left.remove(outcome.case)
            self._outcomes.append(outcome)
            self._since = time.monotonic()

    def taken(self) -> list[Outcome]:
        """Outcomes that have not been reported yet."""
        found, self._outcomes = self._outcomes, []
        return found

    @property
    def hangs(self) -> bool:
        return time.monotonic() - self._since > PATIENCE_SECONDS

    def end(self, selector: selectors.BaseSelector) -> Outcome | None:
        """Wait for its end; returns the case that ended it, if any."""
        hung = self.hangs
        selector.unregister(self.pipe)
        os.close(self.pipe)
        _, status = os.waitpid(self.process, 0)
        shutil.rmtree(self.folder)
        if status == 0 or not self.left:
            return None
        case = self.left.pop(0)
        if hung:
            return Outcome(case, fault="hang", detail=f"ended after {PATIENCE_SECONDS:.0f} s")
        return Outcome(case, fault="crash", detail=f"the process died: {_cause(status)}")


def _cause(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def _serve(reader: Reader, cases: Sequence[int], seed: int, folder: Path, pipe: int) -> None:
    """The work of a process, which never returns. After a fault it ends: nothing is known of its state."""
    status = 1
    try:
        (folder / "here").mkdir()
        os.chdir(folder / "here")
        _limit_memory()
        trial = Trial(reader, seed, folder / "files")
        for case in cases:
            outcome = trial.run(case)
            os.write(pipe, json.dumps(outcome.as_dict()).encode() + b"\n")
            if outcome.fault:
                break
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def _limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * os.sysconf("SC_PAGE_SIZE") + ADDRESS_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def batches_of(readers: dict[str, Reader], cases: int | None, size: int = BATCH) -> Iterator[Batch]:
    """So many cases in all or a few more, shared out and taken in turn; without a number there is no end."""
    total = sum(reader.share for reader in readers.values())
    quotas = {name: _quota(reader.share / total, cases) for name, reader in readers.items()}
    begun = dict.fromkeys(readers, 0)
    while any(begun[name] < quota for name, quota in quotas.items()):
        for name, reader in readers.items():
            first = begun[name]
            begun[name] = int(min(quotas[name], first + max(1, round(size * reader.share))))
            if begun[name] > first:
                yield reader, range(first, begun[name])


def _quota(share: float, cases: int | None) -> float:
    return float("inf") if cases is None else max(1, math.ceil(cases * share))


def as_record(tally: Tally) -> dict[str, Any]:
    """A row of the table."""
    return {
        "cases": tally.cases,
        "canaries": tally.canaries,
        "refused": tally.refused,
        "read": tally.read,
        "faults": len(tally.faults),
        "slowest_seconds": round(tally.slowest, 3),
        "peak_mb": round(tally.peak_bytes / 2**20, 1),
    }
