"""The fuzzing: every reader stands a short one, and whatever a reader must not do is noticed."""

from __future__ import annotations

import json
import os
import pickle
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch

import confgcn
from confgcn.exceptions import DataError, DivergedError
from confgcn.io.checksums import verify
from confgcn.io.json_files import read_checksummed_json

TOOLS = Path(__file__).parents[2] / "tools"
PACKAGE = Path(confgcn.__file__).parent
CASES = 330
OPENS = re.compile(r"\.open\(|\bopen\(|read_bytes|read_text|np\.load|ZipFile\(|ParquetFile\(|\"sqlite\"")

# Every module that opens a file, and the readers that come to it; None where the file is not a user's.
READ_BY: dict[str, str | None] = {
    "cli/streams.py": None,
    "data/formats/array_files.py": "features/",
    "data/formats/arrays.py": "arrays/",
    "data/formats/compressed.py": "table/",
    "data/formats/feature_files.py": "features/",
    "data/formats/tables.py": "table/",
    "data/formats/npz.py": None,  # writes; array_files.py reads
    "data/formats/store.py": "mapped/",
    "data/formats/parquet.py": "table/",
    "data/formats/planetoid_pickle.py": "planetoid/",
    "runs/saved.py": "resume/",
    "runs/records.py": "load/",
    "runs/tune.py": "settings/",
    "report/page.py": None,
    "io/toml.py": "settings/",
    "io/atomic_files.py": None,
    "io/checksums.py": "load/",
    "io/json_files.py": "load/",
    "io/locks.py": "resume/",
    "io/mapped_arrays.py": "rows/",
    "io/memory.py": None,
    "io/tensor_files.py": "load/",
    "runs/directory.py": "resume/",
}


@pytest.fixture(scope="module", autouse=True)
def fuzz(script: Callable[[str], ModuleType]) -> Iterator[ModuleType]:
    """The tool, whose other modules can be imported while the tests run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(TOOLS)
        yield script("tools/fuzz.py")


@pytest.fixture(scope="module")
def readers(fuzz: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    found: dict[str, Any] = fuzz.all_readers(tmp_path_factory.mktemp("seeds"))
    return found


def tried(read: Callable[[Path], object], numbers: range = range(1, 2), **fields: Any) -> list[Any]:
    """What comes of these cases of a reader that does so; even ones are canaries, odd ones damaged."""
    from fuzzing import trial
    from fuzzing.engine import run
    from fuzzing.reader import Reader

    outcomes: list[Any] = []
    reader = Reader("one", read, {"slot.txt": b"a,b\n1,2\n"}, fields.pop("beside", {}), **fields)
    held = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()  # readers are forked of this
    with mock.patch.object(trial, "MOST_BYTES", held + trial.MOST_BYTES):
        run([(reader, numbers)], seed=0, watch=lambda _, outcome: outcomes.append(outcome))
    return sorted(outcomes, key=lambda outcome: int(outcome.case))


def test_every_reader_stands_a_short_fuzzing(readers: dict[str, Any], tmp_path: Path) -> None:
    """In a fresh process: the memory that this one holds would count as that of the readers."""
    words = [*("--cases", str(CASES)), *("--seed", "1"), *("--out", "record.json")]
    ended = subprocess.run([sys.executable, TOOLS / "fuzz.py", *words], cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    record = json.loads((tmp_path / "record.json").read_text())
    assert record["faults"] == 0
    assert record["readers"].keys() == readers.keys()
    assert min(row["canaries"] for row in record["readers"].values()) > 0
    assert record["cases"] >= 300
    assert record["peak_mb"] < 1024
    assert record["slowest_seconds"] < 10


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_every_valid_file_is_read(readers: dict[str, Any], tmp_path: Path) -> None:
    """So that a fuzzing comes farther than to the first check; but what has the name of a benchmark is not one."""
    for number, reader in enumerate(readers.values()):
        name, content = next(iter(reader.seeds.items()))
        folder = tmp_path / str(number) / "files"
        for file, valid in {**reader.beside, name: content}.items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_bytes(valid)
        (folder.parent / "here").mkdir()
        before = contents(folder.parent)
        with chdir(folder.parent / "here"):
            if reader.name.startswith("named/"):
                with pytest.raises(DataError, match="published"):
                    reader.read(folder)
            else:
                reader.read(folder)
        after = contents(folder.parent)
        changed = {file for file in before | after if before.get(file) != after.get(file)}
        assert {Path(file).name for file in changed} <= reader.may_write, reader.name


def test_every_module_that_opens_files_is_known_and_tried(readers: dict[str, Any]) -> None:
    files = {str(file.relative_to(PACKAGE)): file.read_text() for file in PACKAGE.rglob("*.py")}
    assert {name for name, text in files.items() if OPENS.search(text)} == READ_BY.keys()
    for prefix in filter(None, READ_BY.values()):
        assert any(name.startswith(prefix) for name in readers)


def ends_by(number: int) -> Callable[[Path], object]:
    return lambda _: os.kill(os.getpid(), number)


def complains(text: str, error: type[Exception] = DataError) -> Callable[[Path], object]:
    def read(folder: Path) -> object:
        raise error(text.replace("FOLDER", str(folder)))

    return read


def loops(_: Path) -> object:
    while True:
        pass


def warns(_: Path) -> object:
    warnings.warn("something", UserWarning, stacklevel=1)
    return 1


def takes_memory(_: Path) -> object:
    return len(b"x" * (3 * 2**29))


def unpickles(folder: Path) -> object:
    return pickle.loads((folder / "slot.txt").read_bytes())  # noqa: S301


def writes_elsewhere(_: Path) -> object:
    with tempfile.TemporaryFile() as file:
        return file.write(b"x")


BAD: dict[str, tuple[Callable[[Path], object], int, str]] = {
    "an error that is a bug": (complains("FOLDER", KeyError), 1, "exception"),
    "an error of the system about no file": (complains("FOLDER", OSError), 1, "exception"),
    "more memory than there may be": (lambda _: bytearray(2**33), 1, "exception"),
    "a warning": (warns, 1, "warning"),
    "a loop": (loops, 1, "hang"),
    "a wait": (lambda _: time.sleep(600), 1, "hang"),
    "memory": (takes_memory, 1, "memory"),
    "code of the file": (unpickles, 0, "canary"),
    "a file": (lambda folder: (folder / "x").write_text("x"), 1, "file written"),
    "a folder": (lambda folder: (folder / "x").mkdir(), 1, "file written"),
    "a link": (lambda folder: (folder / "x").symlink_to("slot.txt"), 1, "file written"),
    "a file beside": (lambda _: Path("x").write_text("x"), 1, "file written"),
    "the slot changed": (lambda folder: (folder / "slot.txt").write_text("x"), 1, "file written"),
    "the slot gone": (lambda folder: (folder / "slot.txt").unlink(), 1, "file written"),
    "a file elsewhere": (writes_elsewhere, 1, "deed"),
    "a shell": (lambda _: os.system("true"), 1, "deed"),  # noqa: S605, S607
    "a program": (lambda _: subprocess.run([sys.executable, "-c", ""], check=False), 1, "deed"),
    "a connection": (lambda _: socket.socket().close(), 1, "deed"),
    "a signal": (ends_by(signal.SIGKILL), 1, "crash"),
    "an end": (lambda _: os._exit(3), 1, "crash"),
    "no name of the file": (complains("something is wrong"), 1, "file not named"),
    "a long message": (complains("FOLDER" + 1000 * "x"), 1, "long message"),
    "a message of lines": (complains("FOLDER\nsays so"), 1, "lines in message"),
    "another exit code": (complains("FOLDER", DivergedError), 1, "exit code"),
}


@pytest.mark.parametrize("kind", BAD)
def test_what_a_reader_must_not_do_is_noticed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from fuzzing import detectors, engine

    monkeypatch.setattr(detectors, "MOST_SECONDS", 0.2 if kind == "a loop" else 10.0)
    monkeypatch.setattr(engine, "PATIENCE_SECONDS", 1.5 if kind == "a wait" else 40.0)
    read, number, fault = BAD[kind]
    (outcome,) = tried(read, range(number, number + 1))
    assert (outcome.fault, outcome.is_canary) == (fault, number == 0), outcome.detail


@pytest.mark.parametrize(
    ("read", "is_read"),
    [
        (lambda folder: (folder / "slot.txt").read_bytes(), True),
        (complains("FOLDER/slot.txt: no"), False),
        (lambda folder: (folder / "none").read_bytes(), False),
    ],
    ids=["a value", "a refusal", "no such file"],
)
def test_what_a_reader_may_do_is_no_fault(read: Callable[[Path], object], is_read: bool) -> None:
    outcomes = tried(read, range(6))
    assert [(outcome.fault, outcome.read) for outcome in outcomes] == [("", is_read)] * 6


def test_a_reader_may_write_its_own_files() -> None:
    outcomes = tried(lambda folder: (folder / "own").write_text("x"), range(3), may_write=frozenset({"own"}))
    assert {outcome.fault for outcome in outcomes} == {""}


def test_after_a_process_died_the_other_cases_are_tried_and_each_is_told_once() -> None:
    outcomes = tried(ends_by(signal.SIGTERM), range(4))
    assert [(outcome.case, outcome.fault) for outcome in outcomes] == [(number, "crash") for number in range(4)]
    assert "SIGTERM" in outcomes[0].detail


@pytest.mark.parametrize("number", range(7))
def test_every_canary_sings_where_it_is_let(number: int, tmp_path: Path) -> None:
    from fuzzing.canaries import CANARY, canaries

    assert len(canaries()) == 7
    (tmp_path / "file").write_bytes(list(canaries().values())[number])
    kind = list(canaries())[number]
    with chdir(tmp_path):
        if kind == "torch":
            torch.load("file", weights_only=False)
        elif kind.startswith("np"):
            loaded = np.load("file", allow_pickle=True)
            assert kind == "npy" or loaded["features"].size
        else:
            pickle.loads(Path("file").read_bytes())  # noqa: S301
        assert Path(CANARY).is_dir()


def test_a_case_is_always_the_same_and_each_slot_has_each_canary(readers: dict[str, Any]) -> None:
    from fuzzing.canaries import canaries
    from fuzzing.trial import case_of

    reader = readers["predict/edges"]
    cases = [case_of(reader, 5, number) for number in range(200)]
    assert cases == [case_of(reader, 5, number) for number in range(200)]
    others = [case_of(reader, 6, number) for number in range(200)]
    assert cases[1::2] != others[1::2]
    birds = {(case.name, case.content) for case in cases if case.is_canary}
    assert len(birds) == len(reader.seeds) * len(canaries())
    valid = sum(case.content == reader.seeds[case.name] for case in cases)
    assert valid < 10


def test_a_seal_makes_damage_come_past_the_checksums(readers: dict[str, Any], tmp_path: Path) -> None:
    from fuzzing.seals import seal

    for file, content in readers["load/metrics.json"].beside.items():
        (tmp_path / file).write_bytes(content)
    verify(tmp_path)
    for name in ("model.json", "model.safetensors"):
        file = tmp_path / name
        file.write_bytes(file.read_bytes().replace(b'"flattening"', b'"Flattening"').replace(b"network", b"Network"))
        with pytest.raises(DataError, match=name):
            verify(tmp_path)
        seal(file)
        verify(tmp_path)
    assert "Flattening" in read_checksummed_json(tmp_path / "model.json")["calibration"]


def test_a_fault_is_kept_with_the_command_that_makes_it_again(
    fuzz: ModuleType, readers: dict[str, Any], tmp_path: Path
) -> None:
    from fuzzing.trial import Outcome, case_of

    reader, watch = readers["graph/graph.npz"], fuzz.Watch(3, tmp_path)
    watch(reader, Outcome(7, fault="hang", detail="ended", seconds=11.0, peak_bytes=2**20))
    watch(reader, Outcome(8, is_canary=True, seconds=1.0, peak_bytes=2**21))
    (folder,) = tmp_path.iterdir()
    assert (folder / "graph.npz").read_bytes() == case_of(reader, 3, 7).content
    assert "tools/fuzz.py --seed 3 --reader graph/graph.npz --case 7" in (folder / "fault.txt").read_text()
    record = fuzz._record(watch)
    numbers = {"seed": 3, "cases": 2, "canaries": 1, "faults": 1, "slowest_seconds": 11.0, "peak_mb": 2.0}
    assert record.items() >= numbers.items()
    assert record["faults_by_kind"] == {"crash": 0, "exception": 0, "hang": 1, "memory": 0, "canary": 0}
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", record["date"])
