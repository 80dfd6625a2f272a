"""Standard streams that are closed, full, unread or of another encoding: nothing is lost, JSON stays one object."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.faults.conftest import Outside

pytestmark = pytest.mark.fault("P26")

TRAIN = ("train", "mygraph", "--validation", 0.3, "--test", 0.2, "--epochs", 2, "--out", "run")
NAME = "Zoë→1"
UNREAD = 141  # 128 + SIGPIPE: the reader of the output has ended
FULL = "error: cannot write to the standard output: No space left on device"

# What becomes of the streams with these numbers.
CLOSED = """
import os, sys
for number in {numbers}:
    os.close(number)
    setattr(sys, ("stdin", "stdout", "stderr")[number], None)
"""
ON_A_FULL_DISK = """
import os
for number in {numbers}:
    os.dup2(os.open("/dev/full", os.O_WRONLY), number)
"""
WITHOUT_READER = """
import os
for number in {numbers}:
    ours, theirs = os.pipe()
    os.dup2(theirs, number)
    os.close(ours)
    os.close(theirs)
"""
FULL_PIPE = """
import os
for number in {numbers}:
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    while True:
        try:
            os.write(theirs, bytes(4096))
        except BlockingIOError:
            break
    os.dup2(theirs, number)
"""
FULL_FROM_THE_START = """
import os, pathlib
theirs = os.open("pipe", os.O_WRONLY | os.O_NONBLOCK)
try:
    while True:
        os.write(theirs, b" " * 512)
except BlockingIOError:
    os.dup2(theirs, 1)
os.close(theirs)
pathlib.Path("full").touch()
"""
IN_ASCII = """
import sys
for stream in (sys.stdout, sys.stderr):
    stream.reconfigure(encoding="ascii")
"""


@pytest.fixture(scope="module")
def finished(outside_before: Outside) -> Path:
    """A folder with a graph, and a run that nothing has happened to."""
    write_graph(outside_before)
    outside_before.accepts(*TRAIN)
    return outside_before.folder


def write_graph(outside: Outside) -> None:
    """With characters that not every encoding has, in the name of a node and in a label."""
    folder = outside.write_graph()
    for file in (folder / "nodes.csv", folder / "edges.csv"):
        text = re.sub(r"\bn1\b", NAME, file.read_text()).replace(",b,", ",β,")
        file.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("streams", "numbers", "code"),
    [
        *((CLOSED, numbers, 0) for numbers in [(0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)]),
        *((ON_A_FULL_DISK, numbers, code) for numbers, code in [((1,), 4), ((2,), 0), ((1, 2), 4)]),
        *((WITHOUT_READER, numbers, code) for numbers, code in [((1,), UNREAD), ((2,), 0), ((1, 2), UNREAD)]),
        (FULL_PIPE, (2,), 0),
    ],
)
def test_a_training_is_complete_with_any_state_of_its_streams(
    outside: Outside,
    finished: Path,
    differences: Callable[[Path, Path], list[str]],
    streams: str,
    numbers: tuple[int, ...],
    code: int,
) -> None:
    write_graph(outside)
    ended = outside.run(*TRAIN, before=streams.format(numbers=numbers))
    assert ended.code == code, ended.errors
    assert (ended.errors != "") is (2 not in numbers)
    assert (FULL in ended.errors) is (code == 4 and 2 not in numbers)
    assert differences(outside.folder / "run", finished / "run") == []


@pytest.mark.parametrize("streams", [CLOSED, ON_A_FULL_DISK, WITHOUT_READER], ids=["closed", "full", "unread"])
@pytest.mark.parametrize(
    ("words", "code"),
    [(("train", "nowhere/"), 4), (("train", "demo", "--epochs", "x"), 2), (("report", "mygraph"), 4)],
    ids=["no file", "usage", "no run"],
)
def test_an_error_that_cannot_be_printed_keeps_its_exit_code(
    outside: Outside, streams: str, words: tuple[str, ...], code: int
) -> None:
    write_graph(outside)
    ended = outside.run(*words, before=streams.format(numbers=(2,)))
    assert (ended.code, ended.out, ended.errors) == (code, "", "")
    assert [path.name for path in outside.folder.iterdir()] == ["mygraph"]


COMMANDS = {
    "train": (*TRAIN[:-1], "new→"),
    "inspect": ("inspect", "mygraph"),
    "report": ("report", "run"),
    "predict": ("predict", "run", "--out", "rows.csv"),
    "explain": ("explain", "run", NAME),
    "convert": ("convert", "mygraph", "--out", "new→.npz"),
    "datasets": ("datasets",),
}


@pytest.mark.parametrize("before", ["", IN_ASCII], ids=["utf-8", "ascii"])
@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS.keys())
def test_json_is_one_object_and_alone_on_its_stream(
    outside: Outside, finished: Path, words: tuple[Any, ...], before: str
) -> None:
    shutil.copytree(finished, outside.folder, dirs_exist_ok=True)
    ended = outside.accepts(*words, "--json", before=before)
    assert ended.out.endswith("}\n")
    assert ended.out.count("\n") == 1
    assert isinstance(json.loads(ended.out), dict)
    assert ended.out.isascii() is (before != "" or words[0] in ("report", "predict", "datasets"))


def test_characters_outside_the_encoding_are_written_as_escapes(outside: Outside, finished: Path) -> None:
    outside.folder = finished
    plain, escaped = (outside.accepts("explain", "run", NAME, before=before).out for before in ("", IN_ASCII))
    assert NAME in plain
    assert NAME.encode("ascii", "backslashreplace").decode() in escaped
    assert escaped.isascii()


def shell(folder: Path, script: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """A script of bash, in which ``confgcn`` is the command in a process that begins from nothing."""
    defined = f'confgcn() {{ {sys.executable} -m confgcn "$@"; }}\n{script}'
    words = ["/bin/bash", "-o", "pipefail", "-c", defined]
    return subprocess.run(words, cwd=folder, capture_output=True, timeout=1200, env={**os.environ, **environment})


def test_a_pipe_without_a_reader_loses_nothing(
    outside: Outside, finished: Path, differences: Callable[[Path, Path], list[str]]
) -> None:
    write_graph(outside)
    ended = shell(outside.folder, f"confgcn {' '.join(map(str, TRAIN))} | head -0; exit ${{PIPESTATUS[0]}}")
    assert (ended.returncode, b"Traceback" in ended.stderr) == (UNREAD, False), ended.stderr
    assert differences(outside.folder / "run", finished / "run") == []


def test_a_training_without_any_stream_is_complete(
    outside: Outside, finished: Path, differences: Callable[[Path, Path], list[str]]
) -> None:
    write_graph(outside)
    assert shell(outside.folder, f"confgcn {' '.join(map(str, TRAIN))} <&- >&- 2>&-").returncode == 0
    assert differences(outside.folder / "run", finished / "run") == []


def test_an_ascii_locale_changes_no_json_object(finished: Path) -> None:
    environment = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ended = shell(finished, "confgcn inspect mygraph --json", **environment)
    assert (ended.returncode, ended.stdout.count(b"\n")) == (0, 1), ended.stderr
    assert ended.stdout.isascii()
    assert "β" in json.dumps(json.loads(ended.stdout), ensure_ascii=False)


def test_a_slow_reader_of_a_non_blocking_pipe_receives_everything(
    outside: Outside, wait_until: Callable[..., None]
) -> None:
    os.mkfifo(outside.folder / "pipe")
    ours = os.open(outside.folder / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    started = outside.start("methods", "--json", before=FULL_FROM_THE_START)
    wait_until((outside.folder / "full").exists)
    time.sleep(0.5)
    os.set_blocking(ours, True)
    text = b"".join(iter(lambda: os.read(ours, 100), b""))
    os.close(ours)
    ended = started.wait()
    assert (ended.code, ended.errors) == (0, "")
    assert isinstance(json.loads(text), dict)
