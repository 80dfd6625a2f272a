"""Faults from outside: the command line in a process of its own, its messages, and the files that it leaves.

A test of a fault carries ``@pytest.mark.fault("G01", ...)``, the rows of ``faults.toml`` that it shows; the table in
``docs/reliability.md`` is written from these marks by ``python tools/fault_table.py``.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.conftest import Ended, StartCommand, Started

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which is inherited: the tests may be run by nohup, commands are not
# Python that a process may run first: it saves after every epoch, or takes its time for every file.
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
# Records the signals that a run handles, as files signal-1, signal-2, ..., and waits for them. The file seconds has the
# time of the processor from the first signal to the end.
HANDLING_SIGNALS = """
import os, time
from multiprocessing.util import Finalize
from pathlib import Path
from confgcn.io.signals import StopRequest
handled, handle = [], StopRequest.handle
def record(self, number, frame):
    if not handled:
        began = time.process_time()
        Finalize(None, lambda: Path("{place}/seconds").write_text(str(time.process_time() - began)), exitpriority=0)
    handled.append(number)
    os.close(os.open(f"{place}/signal-{{len(handled)}}", os.O_CREAT))
    handle(self, number, frame)
StopRequest.handle = record
def wait_for_signals(count):
    while len(handled) < count:
        time.sleep(0.005)
"""
# The training waits for signals after an epoch; ``time`` counts the trainings of the process.
WAITING_AFTER_EPOCH = """
from confgcn.training.checkpoint import Checkpointer, StopOnSignal
reached = []
def waiting(on_epoch):
    def wait(self, loop):
        if len(loop.history) == {epoch}:
            reached.append(loop)
            if len(reached) == {time}:
                wait_for_signals(1)
        on_epoch(self, loop)
    return wait
for callback in (Checkpointer, StopOnSignal):
    callback.on_epoch = waiting(callback.on_epoch)
"""
# The first file that is written after the given one exists waits for signals.
WAITING_IN_A_WRITE = """
def wait_in_a_write(number):
    if Path({after!r}).exists():
        Path(f"{place}/waits").touch()
        wait_for_signals({count})
os.fsync = wait_in_a_write
"""
# The first time that a file whose path contains this text is opened, the process waits for signals.
WAITING_AT_FILE = """
import sys
def wait(event, arguments):
    if event == "open" and {part!r} in str(arguments[0]) and "is_reached" not in globals():
        globals()["is_reached"] = True
        os.close(os.open("{place}/waits", os.O_CREAT))
        wait_for_signals(1)
sys.addaudithook(wait)
"""
LONGEST_MESSAGE = 1_000  # characters: one short message, not a dump
QUIET = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "200", "NO_COLOR": "1"}


class Outside:
    """``confgcn`` in a folder of its own, as a user runs it."""

    saving_always, writing_slowly = SAVING_ALWAYS, WRITING_SLOWLY

    @property
    def handling_signals(self) -> str:
        """Python that a process runs first, to record the signals that it handles."""
        return HANDLING_SIGNALS.format(place=self.records)

    def waiting_after_epoch(self, epoch: int, time: int = 1) -> str:
        """The same, and to wait for a signal after an epoch of the ``time``-th training."""
        return self.handling_signals + WAITING_AFTER_EPOCH.format(epoch=epoch, time=time)

    def waiting_in_a_write(self, after: str, count: int) -> str:
        """The same, and to wait for so many signals in the first write after a file exists."""
        return self.handling_signals + WAITING_IN_A_WRITE.format(place=self.records, after=after, count=count)

    def waiting_at_file(self, part: str) -> str:
        """The same, and to wait for a signal where a file is opened."""
        return self.handling_signals + WAITING_AT_FILE.format(place=self.records, part=part)

    def __init__(self, folder: Path, records: Path, start_command: StartCommand) -> None:
        self.folder = folder
        self.records = records  # a folder for what a test keeps out of the way of the command
        self.start_command = start_command

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

    def start(self, *words: Any, environment: Mapping[str, str] | None = None, **how: Any) -> Started:
        """Start a command; ``how`` goes to the fixture ``start_command``."""
        whole = {**os.environ, **QUIET, **(environment or {})}
        return self.start_command(*words, folder=self.folder, environment=whole, **how)

    def run(self, *words: Any, **how: Any) -> Ended:
        """Run the command to its end; it may succeed or not, but never by an accident of ours."""
        ended = self.start(*words, **how).wait()
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
def outside(tmp_path: Path, start_command: StartCommand) -> Outside:
    """The command line from outside, in an empty folder."""
    return _outside(tmp_path, start_command)


@pytest.fixture(scope="module")
def outside_before(tmp_path_factory: pytest.TempPathFactory, start_command: StartCommand) -> Outside:
    """The same for what all tests of a module build on."""
    return _outside(tmp_path_factory.mktemp("before"), start_command)


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
    """The result of these tables as they are."""
    tables_before.train()
    return tables_before.result()


def _with_tables(outside: Outside) -> Tables:
    tables = Tables(outside.folder, outside.records, outside.start_command)
    tables.write("edges.csv", EDGES)
    tables.write("nodes.csv", NODES)
    return tables


def _outside(place: Path, start_command: StartCommand) -> Outside:
    folder, records = place / "folder", place / "records"
    folder.mkdir()
    records.mkdir()
    return Outside(folder, records, start_command)


@pytest.fixture(scope="session")
def differences(script: Callable[[str], ModuleType]) -> Callable[[Path, Path], list[str]]:
    """The files of two folders that differ, in more than the seconds that they took."""
    compare: Callable[[Path, Path], list[str]] = script("tools/soaking/comparison.py").differences
    return compare
