"""How much memory this process may still use: what the machine, its container and the shell's limits leave."""

from __future__ import annotations

import mmap
import os
import resource
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from confgcn.exceptions import ResourceError

if TYPE_CHECKING:  # the command line reads the limits before it imports torch
    from torch import nn

COPIES = 5  # weights, gradients, two moments of Adam, the best weights so far
RESERVE = 2**26  # bytes: without any left, Python can loop for ever over an error it cannot raise
MACHINE = Path("/proc/meminfo")  # Linux; elsewhere all memory counts as free
USAGE = Path("/proc/self/statm")  # Linux; elsewhere none counts as in use
MEMBERSHIP = Path("/proc/self/cgroup")
CONTROL_GROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class MemoryLimit:
    """A limit that a shell can set.

    Attributes:
        kind: of ``resource.RLIMIT_*``.
        command: of the shell that sets it.
        fewest: bytes that it must allow: with less, some of the libraries end the process or make it hang.
        column: of the table of what a process uses, in pages.
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
    def used(self) -> int:
        """Bytes."""
        return int(USAGE.read_text().split()[self.column]) * os.sysconf("SC_PAGE_SIZE") if USAGE.is_file() else 0


LIMITS = (
    MemoryLimit(resource.RLIMIT_AS, "ulimit -v", fewest=2**30, column=0),  # all addresses: the libraries use 0.9 GB
    MemoryLimit(resource.RLIMIT_DATA, "ulimit -d", fewest=2**29, column=5),  # writable memory: 0.35 GB
)


@dataclass(frozen=True)
class _Version:
    """The files of a version of control groups, and the entries of its memory.stat that can be reclaimed."""

    limit: str
    usage: str
    reclaimable: tuple[str, str]


_VERSIONS = {
    "memory": _Version("memory.limit_in_bytes", "memory.usage_in_bytes", ("total_inactive_file", "total_active_file")),
    "": _Version("memory.max", "memory.current", ("inactive_file", "active_file")),
}


def check_memory(method: nn.Module, kept: Sequence[nn.Module] = ()) -> None:
    """Refuse a method whose parameters alone cannot be trained here; it may be on torch's meta device.

    ``kept`` are further methods, whose weights are in memory at the same time.
    """
    needed = COPIES * _num_bytes(method) + sum(map(_num_bytes, kept))
    if needed > available_memory():
        others = f" of {len(kept)} candidates" if kept else ""
        remedy = ", or --set search=false" if kept else ""
        raise ResourceError(
            f"not enough memory: the weights{others}, their gradients and the optimiser need {needed:,} bytes, "
            f"{describe_available()}; try a smaller hidden_dim or num_layers{remedy}"
        )


def _num_bytes(method: nn.Module) -> int:
    return sum(weight.numel() * weight.element_size() for weight in method.parameters())


def require_memory(size: int, purpose: str) -> None:
    """Raise an error that can be caught where this many bytes cannot be reserved."""
    try:
        mmap.mmap(-1, max(1, size)).close()  # reserved and not touched
    except OSError:
        raise MemoryError(f"{size} bytes {purpose}") from None


def available_memory() -> int:
    """Bytes that this process may still use."""
    bounds = [free_on_machine(), left_by_container(), left_by_limits()]
    return max(0, min(bound for bound in bounds if bound is not None))


def describe_available() -> str:
    """For an error message: the available memory, and the limits that are set."""
    limits = [f" within the limit of {allowed:,} bytes ({limit.command})" for limit, allowed in limits_set().items()]
    return f"{available_memory():,} are available{' and'.join(limits)}"


def free_on_machine() -> int:
    """Bytes that the machine has free."""
    if MACHINE.is_file():
        for line in MACHINE.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def limits_set() -> dict[MemoryLimit, int]:
    """The limits that are set, with the bytes they allow."""
    return {limit: limit.allowed for limit in LIMITS if limit.allowed is not None}


def left_by_limits() -> int | None:
    """Bytes that the strictest limit of the shell leaves; None where none is set."""
    return min((allowed - limit.used - RESERVE for limit, allowed in limits_set().items()), default=None)


def left_by_container(membership: Path = MEMBERSHIP, groups: Path = CONTROL_GROUPS) -> int | None:
    """Bytes that the strictest control group of this process leaves; None where none has a limit."""
    try:
        return min(_left_by_each_group(membership, groups), default=None)
    except (OSError, ValueError):  # not Linux, or files of another form
        return None


def _left_by_each_group(membership: Path, groups: Path) -> Iterator[int]:
    for line in membership.read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        version = _VERSIONS.get(controllers)
        if version is not None:
            top = groups / controllers
            for folder in _upwards(top / path.lstrip("/"), top):
                yield from _left_by_group(folder, version)


def _upwards(inner: Path, top: Path) -> list[Path]:
    """The limits of all groups up to the top hold; inside a container the path may be that of its host."""
    return [folder for folder in (inner, *inner.parents) if folder.is_relative_to(top)]


def _left_by_group(folder: Path, version: _Version) -> Iterator[int]:
    limit, usage, table = (folder / name for name in (version.limit, version.usage, "memory.stat"))
    if not (limit.is_file() and usage.is_file() and table.is_file()) or limit.read_text().strip() == "max":
        return
    entries = dict(line.split() for line in table.read_text().splitlines())
    reclaimable = sum(int(entries.get(name, 0)) for name in version.reclaimable)
    yield int(limit.read_text()) - int(usage.read_text()) + reclaimable
