"""How much memory a container still leaves: Linux counts it by control group, of version 1 or 2."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MEMBERSHIP = Path("/proc/self/cgroup")
GROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class _Version:
    """Names of a version's files and of the entries of its memory.stat that can be given back at any time."""

    limit: str
    usage: str
    reclaimable: tuple[str, str]


_VERSIONS = {
    "memory": _Version("memory.limit_in_bytes", "memory.usage_in_bytes", ("total_inactive_file", "total_active_file")),
    "": _Version("memory.max", "memory.current", ("inactive_file", "active_file")),
}


def memory_left(membership: Path = MEMBERSHIP, groups: Path = GROUPS) -> int | None:
    """Bytes that the strictest of the groups of this process leaves; None where none has a limit."""
    try:
        return min(_left_by_each(membership, groups), default=None)
    except (OSError, ValueError):  # not Linux, or files of another form: then there is nothing to go by
        return None


def _left_by_each(membership: Path, groups: Path) -> Iterator[int]:
    for line in membership.read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        version = _VERSIONS.get(controllers)
        if version is not None:
            top = groups / controllers
            for folder in _upwards(top / path.lstrip("/"), top):
                yield from _left_by(folder, version)


def _upwards(inner: Path, top: Path) -> list[Path]:
    """Every limit on the way to the top counts; inside a container the path may be that of its host."""
    return [folder for folder in (inner, *inner.parents) if folder.is_relative_to(top)]


def _left_by(folder: Path, version: _Version) -> Iterator[int]:
    limit, usage, table = (folder / name for name in (version.limit, version.usage, "memory.stat"))
    if not (limit.is_file() and usage.is_file() and table.is_file()) or limit.read_text().strip() == "max":
        return
    entries = dict(line.split() for line in table.read_text().splitlines())
    reclaimable = sum(int(entries.get(name, 0)) for name in version.reclaimable)
    yield int(limit.read_text()) - int(usage.read_text()) + reclaimable
