"""A reader: a function that reads files, and the file that is replaced by damaged ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Reader:
    """One way to read, and one slot of it.

    Attributes:
        read: takes the folder of the files.
        seeds: valid contents of the slot, by file name.
        beside: what else is in the folder; the slot's file, if it is among them, is replaced.
        share: of the cases, relative to others.
        seal: makes checksums fit what was put into the slot, so that what comes after them is reached.
        may_write: names of files that it is its work to change.
    """

    name: str
    read: Callable[[Path], object]
    seeds: Mapping[str, bytes]
    beside: Mapping[str, bytes]
    share: float = 1.0
    seal: Callable[[Path], None] | None = None
    may_write: frozenset[str] = frozenset()
