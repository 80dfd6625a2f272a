"""Faults from outside: the command line in a process of its own, what it says, and what it leaves behind.

A test of a fault carries ``@pytest.mark.fault("G01", ...)``, the rows of ``faults.toml`` that it shows; the table in
``docs/reliability.md`` is written from these marks by ``python tools/fault_table.py``.
"""

from __future__ import annotations

import csv
import hashlib
import itertools
import json
import multiprocessing
import os
import re
import runpy
import shutil
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

CHILD = Path(__file__).with_name("child.py")
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which is inherited: the tests may be run by nohup, commands are not
# What a process may run first, to be stopped in the middle of writing: a save after every epoch, and slow files.
SAVING_ALWAYS = """
from confgcn.training.checkpoint import Checkpointer
Checkpointer.__init__.__kwdefaults__["seconds_between"] = 0.0
"""
WRITING_SLOWLY = """
import os, time
os.fsync = lambda number: time.sleep(0.15)
"""
# Two groups of four nodes; two nodes have no label.
EDGES = "source,target\na,b\na,c\nb,c\nc,d\nd,e\nd,f\ne,f\nf,g\ng,h\ne,h\n"
NODES = """id,label,split,width,height
a,p,train,1,0
b,p,train,1,0.5
c,p,validation,0.5,1
d,,,0.25,2
e,q,train,0,2.5
f,q,train,0,2
g,q,validation,0,3
h,,,0.5,2
"""
LONGEST_MESSAGE = 1_000  # characters: one short message, not a dump
LOOK_EVERY = 0.01  # seconds
QUIET = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "200", "NO_COLOR": "1"}

# A server that has imported everything once forks a new process in milliseconds; from a clean process, so nothing that
# a test has done is inherited.
processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(
    [
        *("confgcn.cli.main", "confgcn.cli.streams", "confgcn.cli.progress"),
        *("confgcn.runs.train", "confgcn.runs.saved"),
        *(
            "confgcn.models.confgcn.consensus",
            "torch.fx.experimental.symbolic_shapes",
        ),
        "pytest",  # what a process imports again that is forked for it
    ]
)


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

    def send(self, number: int) -> None:
        """A signal to it alone."""
        assert self.process.pid is not None
        os.kill(self.process.pid, number)

    def peak(self, seconds: float = 120.0) -> int:
        """The most memory that it held at once, in kilobytes, until it ended well."""
        status, highest = Path(f"/proc/{self.process.pid}/status"), 0
        while self.process.is_alive() and seconds > 0:
            with suppress(OSError, IndexError):  # it has just ended
                highest = int(status.read_text().split("VmHWM:")[1].split()[0])
            seconds -= LOOK_EVERY
            self.process.join(LOOK_EVERY)
        ended = self.wait(1.0)
        assert ended.code == 0, ended.errors
        return highest


class Outside:
    """``confgcn`` in a folder of its own, as a user meets it."""

    saving_always, writing_slowly = SAVING_ALWAYS, WRITING_SLOWLY

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

    def write_graph(self, name: str = "mygraph", nodes: int = 24) -> Path:
        """The tables of a ring with chords, whose nodes have two features and, two of three, one of two labels."""
        rows = [
            f"n{i},{'' if i % 3 == 2 else 'ab'[i % 2]},{(i * 7 % 5 + i % 2) / 4},{i * 3 % 7 / 4}" for i in range(nodes)
        ]
        links = [f"n{i},n{(i + step) % nodes}" for i in range(nodes) for step in (1, 2, 4)]
        self.write(f"{name}/nodes.csv", "\n".join(["id,label,width,height", *rows]))
        return self.write(f"{name}/edges.csv", "\n".join(["source,target", *links])).parent

    def start(
        self,
        *words: Any,
        environment: Mapping[str, str] | None = None,
        limits: Mapping[int, int] | None = None,
        before: str = "",
        has_workers: bool = False,
    ) -> Started:
        """``limits`` are those of the operating system, by number of ``resource.RLIMIT_*``; ``before`` is Python that
        the process runs first, to be slow or to die where a test wants it; ``has_workers`` lets it start others."""
        number = next(self.numbers)
        out, errors = (self.records / f"{number}.{stream}" for stream in ("out", "err"))
        given = {
            "words": [str(word) for word in words],
            "folder": str(self.folder),
            "environment": {**QUIET, **(environment or {})},
            "limits": dict(limits or {}),
            "before": before,
            "out": str(out),
            "errors": str(errors),
        }
        arguments = (str(CHILD), {"given": given})
        process = processes.Process(target=runpy.run_path, args=arguments, daemon=not has_workers)
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
        assert len(re.findall(r"(?m)^error: ", ended.errors)) == 1, ended.errors
        assert re.search(r"(?m)^error: .*\n(  .*\n)*\Z", ended.errors), ended.errors  # last, its further lines set in
        assert ended.out == ""
        assert contents(self.folder) == before, "a refused input must leave every file as it was"
        return ended


class Tables(Outside):
    """``confgcn`` in a folder with edges.csv and nodes.csv."""

    edges, nodes = EDGES, NODES
    words = ("--edges", "edges.csv", "--nodes", "nodes.csv")

    def train(self, *words: Any, **how: Any) -> Ended:
        """Train a little on the tables, into the run directory ``run``."""
        return self.accepts("train", *self.words, "--epochs", 3, "--out", "run", *words, **how)

    def refuses_to_train(self, *words: Any, code: int = 3, naming: Sequence[str], **how: Any) -> Ended:
        """Training on the tables is refused."""
        return self.refuses("train", *self.words, "--out", "run", *words, code=code, naming=naming, **how)

    def predictions(self) -> dict[str, dict[str, str]]:
        """The rows of the run's table, by node."""
        with (self.folder / "run" / "predictions.csv").open(newline="", encoding="utf-8") as stream:
            return {row["node"]: row for row in csv.DictReader(stream)}

    def result(self) -> tuple[bytes, str]:
        """What the run predicts, byte for byte, and the hash of the graph that it read."""
        environment = json.loads((self.folder / "run" / "environment.json").read_text(encoding="utf-8"))
        return (self.folder / "run" / "predictions.csv").read_bytes(), environment["graph_sha256"]


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
    yield from _outside(tmp_path)


@pytest.fixture(scope="module")
def outside_before(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outside]:
    """The same for what all tests of a module build on."""
    yield from _outside(tmp_path_factory.mktemp("before"))


@pytest.fixture
def tables(outside: Outside) -> Tables:
    """The command line from outside, in a folder with the tables of a small graph."""
    return _with_tables(outside)


@pytest.fixture(scope="module")
def tables_before(outside_before: Outside) -> Tables:
    """The same for what all tests of a module build on."""
    return _with_tables(outside_before)


@pytest.fixture(scope="module")
def plain(tables_before: Tables) -> tuple[bytes, str]:
    """What comes of these tables as they are."""
    tables_before.train()
    return tables_before.result()


def _with_tables(outside: Outside) -> Tables:
    tables = Tables(outside.folder, outside.records)
    tables.write("edges.csv", EDGES)
    tables.write("nodes.csv", NODES)
    return tables


def _outside(place: Path) -> Iterator[Outside]:
    folder, records = place / "folder", place / "records"
    folder.mkdir()
    records.mkdir()
    yield Outside(folder, records)
    shutil.rmtree(records, ignore_errors=True)


@pytest.fixture(scope="session")
def differences(script: Callable[[str], ModuleType]) -> Callable[[Path, Path], list[str]]:
    """The files of two folders that differ, in more than the seconds that they took."""
    compare: Callable[[Path, Path], list[str]] = script("tools/soaking/comparison.py").differences
    return compare
