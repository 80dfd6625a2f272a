"""A reproduction in several processes: a worker is killed or frozen, the first process is stopped and killed; what is
finished stays, nothing is run twice, no process is left, and the rows are those of one process."""

from __future__ import annotations

import csv
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from reproduction.results import Results

if TYPE_CHECKING:
    from tests.conftest import Started
    from tests.faults.conftest import Outside

COMMAND = ("reproduce", "table2", "--datasets", "demo", "--methods", "feat", "--out", "out")
TIMED = ("date", "processor_seconds")
WaitUntil = Callable[..., None]
IMPATIENT = """
from reproduction import workers
workers.SECONDS_SUSPENDED = 1.0
"""


def rows(folder: Path) -> list[str]:
    """The lines of finished runs; one that is not whole is none."""
    table = folder / "out" / "results.csv"
    text = table.read_text() if table.is_file() else ""
    return text[: text.rfind("\n") + 1].splitlines()[1:]


def timeless(folder: Path) -> dict[str, dict[str, str]]:
    """The rows by seed, without times."""
    with (folder / "out" / "results.csv").open(newline="") as stream:
        found = list(csv.DictReader(stream))
    return {row["seed"]: {name: text for name, text in row.items() if name not in TIMED} for row in found}


def state_and_parent(number: int) -> tuple[str, int]:
    try:
        state, parent, *_ = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return "gone", 0
    return state, int(parent)


def workers(started: Started) -> list[int]:
    """The processes that this one has started to work, and not to keep account of them."""
    numbers = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    children = [number for number in numbers if state_and_parent(number)[1] == started.process.pid]
    return [number for number in children if b"spawn_main" in Path(f"/proc/{number}/cmdline").read_bytes()]


def is_running(number: int) -> bool:
    return state_and_parent(number)[0] not in ("gone", "Z", "X")  # a zombie has ended, too


@pytest.fixture(scope="module")
def undisturbed(outside_before: Outside) -> dict[str, dict[str, str]]:
    """The rows of one process."""
    outside_before.accepts(*COMMAND, "--seeds", 2, "--jobs", 1, has_workers=True)
    return timeless(outside_before.folder)


@pytest.mark.fault("P17", "P19", "P21")
def test_a_killed_worker_loses_only_its_own_run_which_is_repeated_the_next_time(
    outside: Outside, wait_until: WaitUntil, undisturbed: dict[str, dict[str, str]]
) -> None:
    words = (*COMMAND, "--seeds", 2, "--jobs", 2)
    started = outside.start(*words, has_workers=True)
    wait_until(lambda: len(workers(started)) == 2)
    os.kill(workers(started)[0], signal.SIGKILL)
    killed = started.wait(60)
    assert (killed.code, "Traceback" in killed.errors) == (4, False), killed.errors
    assert "error: demo feat default seed 0: its process was ended by signal 9" in killed.errors
    assert timeless(outside.folder).keys() == {"1"}
    again = outside.accepts(*words, has_workers=True)
    assert "runs needed: 2, already recorded: 1" in again.errors
    assert "using 1 of 2 processes" in again.errors
    assert timeless(outside.folder) == undisturbed


@pytest.mark.fault("P18")
def test_a_frozen_worker_is_ended_and_named(outside: Outside, wait_until: WaitUntil) -> None:
    started = outside.start(*COMMAND, "--seeds", 1, "--jobs", 1, before=IMPATIENT, has_workers=True)
    wait_until(lambda: len(workers(started)) == 1)
    (worker,) = workers(started)
    os.kill(worker, signal.SIGSTOP)
    ended = started.wait(60)
    assert (ended.code, "Traceback" in ended.errors) == (4, False), ended.errors
    assert (
        f"demo feat default seed 0: its process, {worker}, was suspended by SIGSTOP for 1 s and killed" in ended.errors
    )
    assert not is_running(worker)


@pytest.mark.fault("P19")
@pytest.mark.parametrize("jobs", ["0", "-1", "two", "1.5", "100000", ""])
def test_an_invalid_number_of_workers_is_refused(outside: Outside, jobs: str) -> None:
    outside.refuses(*COMMAND, "--jobs", jobs, code=2, naming=["--jobs"])


@pytest.mark.fault("P17")
def test_a_reproduction_that_is_stopped_and_killed_loses_nothing_and_repeats_nothing(
    outside: Outside, wait_until: WaitUntil
) -> None:
    folder, words = outside.folder, (*COMMAND, "--seeds", 8)
    stopped = outside.start(*words, "--jobs", 1, has_workers=True)
    wait_until(lambda: len(rows(folder)) > 0)
    stopped.send(signal.SIGTERM)
    ended = stopped.wait()
    assert ended.code == 128 + signal.SIGTERM
    assert "stopped by SIGTERM; run the same command again to continue" in ended.errors
    after_stop = rows(folder)
    assert len(Results(folder / "out").records) == len(after_stop) < 8

    killed = outside.start(*words, "--jobs", 2, has_workers=True)
    wait_until(lambda: len(rows(folder)) > len(after_stop))
    left = workers(killed)
    killed.process.kill()
    assert f"runs needed: 8, already recorded: {len(after_stop)}" in killed.wait().errors
    wait_until(lambda: not any(map(is_running, left)))
    after_kill = rows(folder)
    assert after_kill[: len(after_stop)] == after_stop
    assert len(after_kill) < 8

    last = outside.accepts(*words, "--jobs", 1, has_workers=True)
    assert "out/table2.md" in last.out.split()
    assert f"runs needed: 8, already recorded: {len(after_kill)}" in last.errors
    in_the_end = rows(folder)
    assert in_the_end[: len(after_kill)] == after_kill
    assert sorted(record.seed for record in Results(folder / "out").records.values()) == list(range(8))
    assert len(in_the_end) == 8
