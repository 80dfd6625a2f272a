"""Signals to stop, at every stage of a training: the message says how to resume, and resuming gives the same bytes."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from confgcn.io.tensor_files import read_tensors

if TYPE_CHECKING:
    from tests.conftest import Ended, Started
    from tests.faults.conftest import Outside

TRAIN = ("train", "mygraph", "--epochs", 40, "--out", "run")
EPOCH = 3  # after which a training waits for a signal
OPTIONS = {
    "with validation nodes": ("--preset", "consensus", "--validation", 0.3),
    "cross-fitted": ("--preset", "consensus"),
    "of two seeds": ("--preset", "consensus", "--validation", 0.3, "--seeds", 2),
    "search": ("--validation", 0.3),
    "search, cross-fitted": (),
}
SINGLE = "with validation nodes"
CANDIDATE = 3  # of a search, whose training waits for a signal
MOST_SECONDS = 5.0  # of the processor, from a signal to the end
FIRST_CHECKPOINT = "run/checkpoints/epoch-0000001.json"

Differences = Callable[[Path, Path], list[str]]
Wait = Callable[..., None]


@pytest.fixture(scope="module")
def undisturbed(outside_before: Outside) -> dict[str, Path]:
    outside_before.write_graph()
    runs = {}
    for kind, options in OPTIONS.items():
        outside_before.accepts(*TRAIN, *options)
        runs[kind] = Path(shutil.move(outside_before.folder / "run", outside_before.folder / kind))
    return runs


@pytest.fixture
def run(outside: Outside) -> Path:
    return outside.write_graph().with_name("run")


def stop(outside: Outside, started: Started, wait_until: Wait, *numbers: signal.Signals) -> Ended:
    """Send the signals, each when the one before has been handled; the process ends by the last one."""
    for place, number in enumerate(numbers, start=1):
        started.send(number)
        if place < len(numbers):
            wait_until((outside.records / f"signal-{place}").exists)
    ended = started.wait()
    seconds = outside.records / "seconds"
    assert not seconds.exists() or float(seconds.read_text()) < MOST_SECONDS
    assert ended.code == 128 + numbers[-1], ended.errors
    assert "Traceback" not in ended.errors
    return ended


def assert_resumable(
    outside: Outside, ended: Ended, kind: str, undisturbed: dict[str, Path], same: Differences
) -> None:
    """The command in the message leads to the bytes of an undisturbed run."""
    assert "To continue, repeat the command with --out run --resume" in ended.errors
    for record in (outside.folder / "run").rglob("checkpoints/*.json"):
        read_tensors(record.with_suffix(""))
    outside.accepts(*TRAIN, *OPTIONS[kind], "--resume")
    assert same(outside.folder / "run", undisturbed[kind]) == []


def saved_candidates(run: Path) -> list[Path]:
    return sorted(run.glob("search/candidate-*.json"))


def checkpoints(run: Path) -> list[Path]:
    return sorted(run.rglob("checkpoints/epoch-*.json"))


@pytest.mark.parametrize("kind", [SINGLE, "of two seeds"])
@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGINT, marks=pytest.mark.fault("P02")),
        pytest.param(signal.SIGTERM, marks=pytest.mark.fault("P04")),
        pytest.param(signal.SIGHUP, marks=pytest.mark.fault("P04")),
    ],
)
def test_a_signal_in_training_saves_the_state_and_names_the_command_to_resume(
    outside: Outside,
    run: Path,
    number: signal.Signals,
    kind: str,
    undisturbed: dict[str, Path],
    wait_until: Wait,
    differences: Differences,
) -> None:
    waiting = outside.waiting_after_epoch(EPOCH, time=1 if kind == SINGLE else 2)
    started = outside.start(*TRAIN, *OPTIONS[kind], before=outside.saving_always + waiting)
    last = run if kind == SINGLE else run / "seed-1"
    wait_until(lambda: bool(checkpoints(last)))
    ended = stop(outside, started, wait_until, number)
    assert (outside.records / "seconds").is_file()
    assert f"error: stopped by {number.name} after epoch" in ended.errors
    assert "the state is saved" in ended.errors
    assert f"after epoch {int(checkpoints(last)[-1].stem.removeprefix('epoch-'))};" in ended.errors
    assert_resumable(outside, ended, kind, undisturbed, differences)


@pytest.mark.fault("P02")
def test_an_interrupted_cross_fitting_can_be_resumed(
    outside: Outside, run: Path, undisturbed: dict[str, Path], wait_until: Wait, differences: Differences
) -> None:
    waiting = outside.waiting_after_epoch(EPOCH)
    started = outside.start(*TRAIN, *OPTIONS["cross-fitted"], before=outside.saving_always + waiting)
    wait_until((run / "graph.npz").is_file)
    ended = stop(outside, started, wait_until, signal.SIGINT)
    assert re.search("^error: stopped (at once )?by SIGINT", ended.errors, re.MULTILINE)  # at once: ahead of a fold
    assert_resumable(outside, ended, "cross-fitted", undisturbed, differences)


@pytest.mark.fault("P02", "P04")
@pytest.mark.parametrize("kind", ["search", "search, cross-fitted"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_search_that_is_interrupted_in_its_third_candidate_can_be_resumed(
    outside: Outside,
    run: Path,
    number: signal.Signals,
    kind: str,
    undisturbed: dict[str, Path],
    wait_until: Wait,
    differences: Differences,
) -> None:
    started = outside.start(*TRAIN, *OPTIONS[kind], before=outside.waiting_after_epoch(EPOCH, time=CANDIDATE))
    wait_until(lambda: len(saved_candidates(run)) == CANDIDATE - 1)
    ended = stop(outside, started, wait_until, number)
    assert len(saved_candidates(run)) == CANDIDATE - 1
    assert_resumable(outside, ended, kind, undisturbed, differences)
    assert not (run / "search").exists()


@pytest.mark.fault("P04")
def test_a_run_that_ignores_hangups_is_not_stopped_by_one(
    outside: Outside, run: Path, undisturbed: dict[str, Path], wait_until: Wait, differences: Differences
) -> None:
    as_nohup_does = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)"
    before = outside.saving_always + outside.writing_slowly + as_nohup_does
    started = outside.start(*TRAIN, *OPTIONS[SINGLE], before=before)
    wait_until(lambda: bool(checkpoints(run)))
    started.send(signal.SIGHUP)
    assert started.wait().code == 0
    assert differences(run, undisturbed[SINGLE]) == []


@pytest.mark.fault("P03")
@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ([signal.SIGINT], "error: stopped by SIGINT after epoch"),
        ([signal.SIGINT, signal.SIGINT], "error: stopped at once by SIGINT"),
        ([signal.SIGINT, signal.SIGTERM], "error: stopped at once by SIGTERM"),
    ],
    ids=["once", "twice", "two kinds"],
)
def test_signals_during_a_save_leave_the_last_checkpoint_whole(
    outside: Outside,
    run: Path,
    numbers: list[signal.Signals],
    message: str,
    undisturbed: dict[str, Path],
    wait_until: Wait,
    differences: Differences,
) -> None:
    waiting = outside.waiting_in_a_write(FIRST_CHECKPOINT, count=len(numbers))
    started = outside.start(*TRAIN, *OPTIONS[SINGLE], before=outside.saving_always + waiting)
    wait_until((outside.records / "waits").exists)
    assert list(run.glob("checkpoints/*.tmp"))
    ended = stop(outside, started, wait_until, *numbers)
    assert message in ended.errors
    assert not list(run.rglob("*.tmp"))
    assert_resumable(outside, ended, SINGLE, undisturbed, differences)


@pytest.mark.fault("P03")
def test_many_interrupts_lose_nothing(
    outside: Outside, run: Path, undisturbed: dict[str, Path], wait_until: Wait, differences: Differences
) -> None:
    waiting = outside.waiting_in_a_write(FIRST_CHECKPOINT, count=2)
    started = outside.start(*TRAIN, *OPTIONS[SINGLE], before=outside.saving_always + waiting)
    wait_until((outside.records / "waits").exists)
    while started.process.is_alive():
        with suppress(ProcessLookupError):  # it has just ended
            started.send(signal.SIGINT)
        time.sleep(0.005)
    ended = started.wait()
    assert ended.code == 130
    assert "Traceback" not in ended.errors
    outside.accepts(*TRAIN, *OPTIONS[SINGLE], "--resume")
    assert differences(run, undisturbed[SINGLE]) == []


@pytest.mark.fault("P03")
@pytest.mark.parametrize("kind", [SINGLE, "search"])
def test_an_interrupt_while_the_results_are_written_lets_it_finish(
    outside: Outside, run: Path, kind: str, undisturbed: dict[str, Path], wait_until: Wait, differences: Differences
) -> None:
    started = outside.start(*TRAIN, *OPTIONS[kind], before=outside.waiting_in_a_write("run/predictions.csv", count=1))
    wait_until((outside.records / "waits").exists)
    started.send(signal.SIGINT)
    assert started.wait().code == 0
    assert differences(run, undisturbed[kind]) == []


@pytest.mark.fault("P03")
@pytest.mark.parametrize("kind", [SINGLE, "search"])
def test_two_interrupts_while_the_results_are_written_stop_it(
    outside: Outside, run: Path, kind: str, undisturbed: dict[str, Path], wait_until: Wait, differences: Differences
) -> None:
    started = outside.start(*TRAIN, *OPTIONS[kind], before=outside.waiting_in_a_write("run/predictions.csv", count=2))
    wait_until((outside.records / "waits").exists)
    ended = stop(outside, started, wait_until, signal.SIGINT, signal.SIGINT)
    assert not (run / "metrics.json").exists()
    assert_resumable(outside, ended, kind, undisturbed, differences)


@pytest.mark.fault("P03", "P04")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_the_graph_is_read_stops_at_once_and_writes_nothing(
    outside: Outside, run: Path, number: signal.Signals, wait_until: Wait
) -> None:
    started = outside.start(*TRAIN, before=outside.waiting_at_file("edges.csv"))
    wait_until((outside.records / "waits").exists)
    assert stop(outside, started, wait_until, number).errors == "error: stopped\n"
    assert not run.exists()


@pytest.mark.fault("P03")
@pytest.mark.parametrize(
    ("kind", "part"),
    [
        *((SINGLE, part) for part in ("config.json", "environment.json", "graph.npz", "checkpoints/epoch-")),
        ("search", "search/candidate-"),
    ],
)
def test_an_interrupt_while_a_run_is_read_to_resume_it_loses_nothing(
    outside: Outside,
    run: Path,
    kind: str,
    part: str,
    undisturbed: dict[str, Path],
    wait_until: Wait,
    differences: Differences,
) -> None:
    waiting = outside.waiting_after_epoch(EPOCH, time=1 if kind == SINGLE else CANDIDATE)
    started = outside.start(*TRAIN, *OPTIONS[kind], before=outside.saving_always + waiting)
    wait_until(lambda: bool(checkpoints(run) or saved_candidates(run)))
    stop(outside, started, wait_until, signal.SIGINT)
    again = outside.start(*TRAIN, *OPTIONS[kind], "--resume", before=outside.waiting_at_file(part))
    wait_until((outside.records / "waits").exists)
    ended = stop(outside, again, wait_until, signal.SIGINT)
    outside.accepts(*TRAIN, *OPTIONS[kind], "--resume")
    assert "error: stopped" in ended.errors
    assert differences(run, undisturbed[kind]) == []


SLOW_SETUP = """
import pathlib, time
from confgcn.models.baselines.deepwalk import DeepWalk
DeepWalk.setup = lambda self, graph: (pathlib.Path({mark!r}).touch(), time.sleep(100_000))
"""


@pytest.mark.fault("P02", "P04")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_does_not_wait_for_the_work_before_the_first_epoch(
    outside: Outside, run: Path, number: signal.Signals, wait_until: Wait, differences: Differences
) -> None:
    mark, words = outside.records / "reached", (*TRAIN, "--method", "deepwalk", "--validation", 0.3)
    outside.accepts(*words)
    undisturbed = run.rename(outside.folder / "undisturbed")
    started = outside.start(*words, before=SLOW_SETUP.format(mark=str(mark)))
    wait_until(mark.is_file)
    ended = stop(outside, started, wait_until, number)
    assert f"error: stopped at once by {number.name}. To continue, repeat the command with --out run" in ended.errors
    outside.accepts(*words, "--resume")
    assert differences(run, undisturbed) == []


# A library that takes long to import: one that the command line needs itself, and one that only a training needs.
SLOW_LIBRARY = "import pathlib, time\npathlib.Path('importing').touch()\ntime.sleep(100_000)\n"


@pytest.mark.fault("P03", "P04")
@pytest.mark.parametrize("library", ["typer", "torch"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_during_an_import_ends_without_a_traceback(
    outside: Outside, library: str, number: signal.Signals, wait_until: Wait
) -> None:
    outside.write(f"libraries/{library}.py", SLOW_LIBRARY)
    environment = {**os.environ, "PYTHONPATH": str(outside.folder / "libraries")}
    words = [sys.executable, "-m", "confgcn", "train", "demo", "--out", "run"]
    process = subprocess.Popen(words, cwd=outside.folder, env=environment, stderr=subprocess.PIPE, text=True)
    wait_until((outside.folder / "importing").is_file)
    process.send_signal(number)
    _, errors = process.communicate(timeout=1200)
    assert process.returncode in (128 + number, -number)  # a shell reports both as the same
    assert "Traceback" not in errors
    assert not (outside.folder / "run").exists()
