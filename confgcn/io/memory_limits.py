"""What a shell allows a process to take of memory, and what is left of it."""

from __future__ import annotations

import os
import resource
from dataclasses import dataclass
from pathlib import Path

RESERVE = 2**26  # bytes: without any left, Python can loop for ever over an error it cannot raise
USAGE = Path("/proc/self/statm")  # Linux; elsewhere a limit is taken for what it leaves


@dataclass(frozen=True)
class MemoryLimit:
    """One of the kinds of limits.

    Attributes:
        kind: of ``resource.RLIMIT_*``.
        command: by which a shell sets it.
        fewest: bytes that it must allow: with less, some of the libraries end the process or make it hang.
        column: of the table of what a process has taken, in pages.
    """

    kind: int
    command: str
    fewest: int
    column: int

    @property
    def allowed(self) -> int | None:
        """Bytes; None where there is no limit."""
        soft, _ = resource.getrlimit(self.kind)
        return None if soft == resource.RLIM_INFINITY else soft

    @property
    def taken(self) -> int:
        """Bytes."""
        return int(USAGE.read_text().split()[self.column]) * os.sysconf("SC_PAGE_SIZE") if USAGE.is_file() else 0


LIMITS = (
    MemoryLimit(resource.RLIMIT_AS, "ulimit -v", fewest=2**30, column=0),  # all addresses: the libraries take 0.9 GB
    MemoryLimit(resource.RLIMIT_DATA, "ulimit -d", fewest=2**29, column=5),  # what can be written to: 0.35 GB
)


def limits_set() -> dict[MemoryLimit, int]:
    """The limits that there are, with the bytes they allow."""
    return {limit: limit.allowed for limit in LIMITS if limit.allowed is not None}


def left_by_limits() -> int | None:
    """Bytes that the strictest leaves; None where there is none."""
    return min((allowed - limit.taken - RESERVE for limit, allowed in limits_set().items()), default=None)
