"""Limits of the operating system: on the size and the number of files, and on memory."""

from __future__ import annotations

import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.faults.conftest import Outside

TRAIN = ("train", "mygraph", "--validation", 0.3, "--test", 0.2, "--epochs", 2, "--out", "run")
MB = 2**20


@pytest.fixture(scope="module")
def finished(outside_before: Outside) -> Path:
    """A folder with a graph, and a run that nothing has happened to."""
    outside_before.write_graph()
    outside_before.accepts(*TRAIN)
    return outside_before.folder


@pytest.mark.fault("P08")
@pytest.mark.parametrize("highest", [900, 1_500, 2_500])
def test_a_limit_on_the_size_of_files_is_an_error_and_the_run_can_be_resumed(
    outside: Outside, differences: Callable[[Path, Path], list[str]], finished: Path, highest: int
) -> None:
    outside.write_graph()
    ended = outside.run(*TRAIN, limits={resource.RLIMIT_FSIZE: highest})
    assert (ended.code, "File too large" in ended.errors) == (4, True), ended.errors
    assert f"could not write {outside.folder / 'run'}/" in ended.errors
    assert list(outside.folder.rglob("*.tmp")) == []
    outside.accepts(*TRAIN, "--resume")
    assert differences(outside.folder / "run", finished / "run") == []


# All numbers of files are taken but for so many more.
FEW_FILES = """
import os, resource
import confgcn.cli.streams
highest = max(int(file) for file in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{{file}}"))
while (number := os.open("/dev/null", os.O_RDONLY)) < highest:
    pass
os.close(number)
resource.setrlimit(resource.RLIMIT_NOFILE, (number + {more}, number + {more}))
"""


@pytest.mark.fault("P08")
@pytest.mark.parametrize(
    "words", [TRAIN, ("predict", "run", "--out", "rows.csv", "--overwrite")], ids=lambda words: words[0]
)
def test_a_limit_on_open_files_is_an_error_until_there_are_enough(
    outside: Outside, finished: Path, words: tuple[Any, ...]
) -> None:
    shutil.copytree(finished, outside.folder, dirs_exist_ok=True)
    words = (*words, "--overwrite") if words is TRAIN else words
    codes = []
    for more in (0, 1, 2, 3, 16):
        ended = outside.run(*words, before=FEW_FILES.format(more=more))
        assert (ended.code, "oo many open files" in ended.errors) in ((0, False), (4, True)), ended.errors
        codes.append(ended.code)
    assert codes == sorted(codes, reverse=True)
    assert {codes[0], codes[-1]} == {4, 0}


# What the process has taken, or what it needs in any case, and so much more.
LITTLE_MEMORY = """
import resource
from confgcn.io.memory import LIMITS
limit = LIMITS[{number}]
highest = max(limit.used, limit.fewest) + {more}
resource.setrlimit(limit.kind, (highest, highest))
"""


@pytest.mark.fault("P09")
@pytest.mark.parametrize(
    ("kind", "highest"),
    [
        *((resource.RLIMIT_AS, highest) for highest in (0, 1, 50 * MB, 500 * MB, 2**30 - 1)),
        *((resource.RLIMIT_DATA, highest) for highest in (0, 300 * MB, 2**29 - 1)),
    ],
)
@pytest.mark.parametrize("words", [TRAIN, ("evaluate", "run"), ("inspect", "mygraph")], ids=lambda words: words[0])
def test_less_memory_than_the_libraries_need_is_refused_with_both_numbers(
    outside: Outside, words: tuple[Any, ...], kind: int, highest: int
) -> None:
    needed = 2**30 if kind == resource.RLIMIT_AS else 2**29
    naming = ["not enough memory", f"may use {highest:,} bytes", f"needs {needed:,}"]
    outside.refuses(*words, code=4, naming=naming, limits={kind: highest})


@pytest.mark.fault("P09")
@pytest.mark.parametrize(
    ("preset", "naming"),
    [
        ("consensus", ["not enough memory: the weights, their gradients and the optimiser need 1,00", "hidden_dim"]),
        (
            "propagated",  # of three layers, 100 MB of weights each, are kept until the best are chosen
            [
                *("not enough memory: the weights of ", " candidates, their gradients and the optimiser need "),
                *("hidden_dim", "--set search=false"),
            ],
        ),
    ],
)
def test_a_model_that_needs_more_memory_than_available_is_refused_with_both_numbers(
    outside: Outside, preset: str, naming: list[str]
) -> None:
    outside.write_graph()
    words = (*TRAIN, "--preset", preset, "--set", "hidden_dim=5000", "--set", "num_layers=3")
    before = LITTLE_MEMORY.format(number=0, more=500 * MB)
    ended = outside.refuses(*words, code=4, naming=[*naming, "are available"], before=before)
    numbers = re.search(r"need ([\d,]+) bytes, ([\d,]+) are available", ended.errors)
    assert numbers is not None, ended.errors
    needed, available = (int(number.replace(",", "")) for number in numbers.groups())
    assert needed > 1e9 > available


@pytest.mark.fault("P09")
@pytest.mark.parametrize("number", [0, 1], ids=["addresses", "data"])
@pytest.mark.parametrize(("preset", "hidden_dim"), [("propagated", 1000), ("consensus", 5000)])
def test_running_out_of_memory_is_an_error_until_there_is_enough(
    outside: Outside, number: int, preset: str, hidden_dim: int
) -> None:
    outside.write_graph(nodes=3000)
    codes = []
    for more in (0, 30, 90, 3000):
        words = (*TRAIN[:-1], f"run-{more}", "--preset", preset, "--set", f"hidden_dim={hidden_dim}")
        ended = outside.run(*words, before=LITTLE_MEMORY.format(number=number, more=more * MB))
        codes.append(ended.code)
        if ended.code:
            assert re.search(r"not enough memory\b.* available within the limit of [\d,]+ bytes", ended.errors), (
                ended.errors
            )
    assert (codes[0], codes[-1]) == (4, 0)
    assert codes == sorted(codes, reverse=True)


@pytest.mark.fault("P09")
@pytest.mark.parametrize("limit", ["-v 50000", "-v 1048576", "-d 200000", "-d 524288"])
def test_a_memory_limit_of_the_shell_causes_no_crash(outside: Outside, limit: str) -> None:
    """A process that must load its libraries within the limit, which those that are forked here have behind them."""
    words = f"ulimit {limit}; exec {sys.executable} -m confgcn train demo --epochs 1 --out run"
    ended = subprocess.run(["/bin/bash", "-c", words], cwd=outside.folder, capture_output=True, text=True, timeout=1200)
    assert ended.returncode in (0, 4), ended.stderr
    assert ("error: not enough memory" in ended.stderr) is (ended.returncode == 4), ended.stderr
    assert "Traceback" not in ended.stderr
    assert (outside.folder / "run" / "metrics.json").is_file() is (ended.returncode == 0)
