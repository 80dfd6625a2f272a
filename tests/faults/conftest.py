"""Faults from outside: the command line in a process of its own, what it says, and what it leaves behind.

A test of a fault carries ``@pytest.mark.fault("G01", ...)``, the rows of ``faults.toml`` that it shows; the table in
``docs/faults.md`` is written from these marks by ``python tools/fault_table.py``.
"""

from __future__ import annotations

import hashlib
import itertools
import multiprocessing
import runpy
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import pytest

CHILD = Path(__file__).with_name("child.py")
LONGEST_MESSAGE = 1_000  # characters: one short message, not a dump
QUIET = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "200", "NO_COLOR": "1"}

# A server that has imported everything once forks a new process in milliseconds; from a clean process, so nothing that
# a test has done is inherited.
processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["confgcn.cli.main", "confgcn.experiments.runs", "confgcn.experiments.saved_run"])


@dataclass(frozen=True)
class Ended:
    """What is left of a command: its exit code and what it wrote."""

    code: int
    out: str
    errors: str


@dataclass(frozen=True)
class Started:
    """A command that is running."""

    process: ForkServerProcess
    out: Path
    errors: Path

    def wait(self, seconds: float = 120.0) -> Ended:
        """Until it ends; a command that takes longer is ended and the test fails."""
        self.process.join(seconds)
        hangs = self.process.is_alive()
        if hangs:
            self.process.kill()
            self.process.join()
        texts = [path.read_text(errors="replace") if path.exists() else "" for path in (self.out, self.errors)]
        assert not hangs, f"still running after {seconds} s: {texts}"
        assert self.process.exitcode is not None
        return Ended(self.process.exitcode, *texts)


class Outside:
    """``confgcn`` in a folder of its own, as a user meets it."""

    def __init__(self, folder: Path, records: Path) -> None:
        self.folder = folder
        self.records = records
        self.numbers = itertools.count()

    def write(self, name: str, content: str | bytes) -> Path:
        """A file in the folder."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def start(
        self, *words: Any, environment: Mapping[str, str] | None = None, limits: Mapping[int, int] | None = None
    ) -> Started:
        """``limits`` are those of the operating system, by number of ``resource.RLIMIT_*``."""
        number = next(self.numbers)
        out, errors = (self.records / f"{number}.{stream}" for stream in ("out", "err"))
        given = {
            "words": [str(word) for word in words],
            "folder": str(self.folder),
            "environment": {**QUIET, **(environment or {})},
            "limits": dict(limits or {}),
            "out": str(out),
            "errors": str(errors),
        }
        process = processes.Process(target=runpy.run_path, args=(str(CHILD), {"given": given}), daemon=True)
        process.start()
        return Started(process, out, errors)

    def run(self, *words: Any, seconds: float = 120.0, **how: Any) -> Ended:
        """Run the command to its end; it may succeed or not, but never by an accident of ours."""
        ended = self.start(*words, **how).wait(seconds)
        assert "Traceback" not in ended.errors + ended.out, ended.errors
        return ended

    def accepts(self, *words: Any, **how: Any) -> Ended:
        """The command succeeds."""
        ended = self.run(*words, **how)
        assert ended.code == 0, ended.errors
        return ended

    def refuses(self, *words: Any, code: int, naming: Sequence[str], **how: Any) -> Ended:
        """The command ends with ``code`` and one short message that holds every part of ``naming``; no file is made,
        changed or removed."""
        before = contents(self.folder)
        ended = self.run(*words, **how)
        assert ended.code == code, (ended.code, ended.errors)
        for part in naming:
            assert part in ended.errors, (part, ended.errors)
        assert len(ended.errors) <= LONGEST_MESSAGE, ended.errors
        assert ended.out == ""
        assert contents(self.folder) == before, "a refused input must leave every file as it was"
        return ended


def contents(folder: Path) -> dict[str, str]:
    """Every entry below a folder, with the hash of what it holds."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        for path in sorted(folder.rglob("*"))
    }


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The rows that a test shows go with its result, from whatever process it ran in."""
    for item in items:
        rows = [row for mark in item.iter_markers("fault") for row in mark.args]
        item.user_properties.append(("faults", rows))


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Outside]:
    """The command line from outside, in an empty folder."""
    folder, records = tmp_path / "folder", tmp_path / "records"
    folder.mkdir()
    records.mkdir()
    yield Outside(folder, records)
    shutil.rmtree(records, ignore_errors=True)
