"""Signals that ask for an end, at every stage of a training: it says how to go on, and that ends in the same bytes."""

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

LONGEST_WAIT = 5.0  # seconds from a signal to the end
TRAIN = ("train", "mygraph", "--epochs", 40, "--out", "run")
OPTIONS = {
    "with validation nodes": ("--validation", 0.3),
    "cross-fitted": (),
    "of two seeds": ("--validation", 0.3, "--seeds", 2),
}
KINDS = list(OPTIONS)
SEEDLESS = KINDS[0]

# Epochs that take their time, those of folds too, so that a signal finds the training still at work.
PACED = """
import time
from confgcn.training.checkpoint import Checkpointer, StopOnSignal
def slowly(on_epoch):
    return lambda self, loop: (time.sleep(0.02), on_epoch(self, loop))
for callback in (Checkpointer, StopOnSignal):
    callback.on_epoch = slowly(callback.on_epoch)
"""

# The first use of a file whose name has this part takes long.
WAITING_AT = """
import sys, time
def wait(event, arguments):
    if event == "open" and {part!r} in str(arguments[0]):
        if "reached" not in globals():
            globals()["reached"] = open({mark!r}, "w")
            time.sleep({seconds})
sys.addaudithook(wait)
"""

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


def stop(started: Started, *numbers: signal.Signals) -> Ended:
    """Send the signals, and see that the process ends by them in time and says so."""
    asked = time.monotonic()
    for number in numbers:
        started.send(number)
        time.sleep(0.05)  # two that wait at once are one
    ended = started.wait()
    assert time.monotonic() - asked < LONGEST_WAIT
    assert ended.code == 128 + numbers[-1]
    assert "Traceback" not in ended.errors
    return ended


def assert_resumable(
    outside: Outside, ended: Ended, kind: str, undisturbed: dict[str, Path], same: Differences
) -> None:
    """What was said to do leads to the bytes of an undisturbed run."""
    assert "To go on, give the same command with --out run --resume" in ended.errors
    for record in (outside.folder / "run").rglob("checkpoints/*.json"):
        read_tensors(record.with_suffix(""))
    outside.accepts(*TRAIN, *OPTIONS[kind], "--resume")
    assert same(outside.folder / "run", undisturbed[kind]) == []


def checkpoints(run: Path) -> list[Path]:
    return sorted(run.rglob("checkpoints/epoch-*.json"))


@pytest.mark.parametrize("kind", [SEEDLESS, "of two seeds"])
@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGINT, marks=pytest.mark.fault("P02")),
        pytest.param(signal.SIGTERM, marks=pytest.mark.fault("P04")),
        pytest.param(signal.SIGHUP, marks=pytest.mark.fault("P04")),
    ],
)
def test_a_signal_in_training_saves_and_says_how_to_go_on(
    outside: Outside,
    run: Path,
    number: signal.Signals,
    kind: str,
    undisturbed: dict[str, Path],
    wait_until: Wait,
    differences: Differences,
) -> None:
    started = outside.start(*TRAIN, *OPTIONS[kind], before=outside.saving_always + PACED)
    last = run if kind == SEEDLESS else run / "seed-1"
    wait_until(lambda: bool(checkpoints(last)))
    ended = stop(started, number)
    assert f"error: stopped by {number.name} after epoch" in ended.errors
    assert "the state is saved" in ended.errors
    assert f"after epoch {int(checkpoints(last)[-1].stem.removeprefix('epoch-'))};" in ended.errors
    assert_resumable(outside, ended, kind, undisturbed, differences)


@pytest.mark.fault("P02")
def test_an_interrupt_while_labels_are_held_out_in_turn(
    outside: Outside, run: Path, undisturbed: dict[str, Path], wait_until: Wait, differences: Differences
) -> None:
    started = outside.start(*TRAIN, before=outside.saving_always + PACED)
    wait_until((run / "graph.npz").is_file)
    ended = stop(started, signal.SIGINT)
    assert re.search("^error: stopped (at once )?by SIGINT", ended.errors, re.MULTILINE)  # at once: ahead of a fold
    assert_resumable(outside, ended, "cross-fitted", undisturbed, differences)


@pytest.mark.fault("P04")
def test_a_run_that_was_told_not_to_mind_a_hangup_does_not(
    outside: Outside, run: Path, undisturbed: dict[str, Path], wait_until: Wait, differences: Differences
) -> None:
    as_nohup_does = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)"
    started = outside.start(*TRAIN, *OPTIONS[SEEDLESS], before=outside.saving_always + PACED + as_nohup_does)
    wait_until(lambda: bool(checkpoints(run)))
    started.send(signal.SIGHUP)
    assert started.wait().code == 0
    assert differences(run, undisturbed[SEEDLESS]) == []


@pytest.mark.fault("P03")
@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ([signal.SIGINT], "error: stopped by SIGINT after epoch"),
        ([signal.SIGINT, signal.SIGINT], "error: stopped "),  # at once, unless the two arrive as one
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
    started = outside.start(*TRAIN, *OPTIONS[SEEDLESS], before=outside.saving_always + outside.writing_slowly)
    wait_until(lambda: bool(checkpoints(run)))
    wait_until(lambda: bool(list(run.glob("checkpoints/*.tmp"))))
    ended = stop(started, *numbers)
    assert message in ended.errors
    assert not list(run.rglob("*.tmp"))
    assert_resumable(outside, ended, SEEDLESS, undisturbed, differences)


@pytest.mark.fault("P03")
def test_one_who_does_not_stop_interrupting_loses_nothing_either(
    outside: Outside, run: Path, undisturbed: dict[str, Path], wait_until: Wait, differences: Differences
) -> None:
    started = outside.start(*TRAIN, *OPTIONS[SEEDLESS], before=outside.saving_always + outside.writing_slowly)
    wait_until(lambda: bool(checkpoints(run)))
    while started.process.is_alive():
        with suppress(ProcessLookupError):  # it has just ended
            started.send(signal.SIGINT)
        time.sleep(0.005)
    ended = started.wait()
    assert ended.code == 130
    assert "Traceback" not in ended.errors
    outside.accepts(*TRAIN, *OPTIONS[SEEDLESS], "--resume")
    assert differences(run, undisturbed[SEEDLESS]) == []


@pytest.mark.fault("P03")
def test_an_interrupt_during_the_last_writing_lets_it_end(
    outside: Outside, run: Path, undisturbed: dict[str, Path], wait_until: Wait, differences: Differences
) -> None:
    started = outside.start(*TRAIN, *OPTIONS[SEEDLESS], before=outside.writing_slowly)
    wait_until((run / "predictions.csv").is_file)
    started.send(signal.SIGINT)
    assert started.wait().code == 0
    assert differences(run, undisturbed[SEEDLESS]) == []


@pytest.mark.fault("P03")
def test_two_interrupts_during_the_last_writing_end_it(
    outside: Outside, run: Path, undisturbed: dict[str, Path], wait_until: Wait, differences: Differences
) -> None:
    started = outside.start(*TRAIN, *OPTIONS[SEEDLESS], before=outside.writing_slowly)
    wait_until((run / "predictions.csv").is_file)
    ended = stop(started, signal.SIGINT, signal.SIGINT)
    assert not (run / "metrics.json").exists()
    assert_resumable(outside, ended, SEEDLESS, undisturbed, differences)


@pytest.mark.fault("P03", "P04")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_the_graph_is_read_ends_at_once_and_writes_nothing(
    outside: Outside, run: Path, number: signal.Signals, wait_until: Wait
) -> None:
    mark = outside.records / "reached"
    started = outside.start(*TRAIN, before=WAITING_AT.format(part="edges.csv", mark=str(mark), seconds=60))
    wait_until(mark.is_file)
    assert stop(started, number).errors == "error: stopped\n"
    assert not run.exists()


@pytest.mark.fault("P03")
@pytest.mark.parametrize("part", ["config.json", "environment.json", "graph.npz", "checkpoints/epoch-"])
def test_an_interrupt_while_a_run_is_read_to_go_on_with_it_loses_nothing(
    outside: Outside, run: Path, part: str, undisturbed: dict[str, Path], wait_until: Wait, differences: Differences
) -> None:
    started = outside.start(*TRAIN, *OPTIONS[SEEDLESS], before=outside.saving_always + PACED)
    wait_until(lambda: bool(checkpoints(run)))
    stop(started, signal.SIGINT)
    mark = outside.records / "reached"
    waiting = WAITING_AT.format(part=part, mark=str(mark), seconds=0.5)
    again = outside.start(*TRAIN, *OPTIONS[SEEDLESS], "--resume", before=waiting)
    wait_until(mark.is_file)
    ended = stop(again, signal.SIGINT)
    outside.accepts(*TRAIN, *OPTIONS[SEEDLESS], "--resume")
    assert "error: stopped" in ended.errors
    assert differences(run, undisturbed[SEEDLESS]) == []


SLOW_SETUP = """
import pathlib, time
from confgcn.models.baselines.deepwalk import DeepWalk
DeepWalk.setup = lambda self, graph: (pathlib.Path({mark!r}).touch(), time.sleep(60))
"""


@pytest.mark.fault("P02", "P04")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_does_not_wait_for_the_work_before_the_first_epoch(
    outside: Outside, run: Path, number: signal.Signals, wait_until: Wait, differences: Differences
) -> None:
    mark, words = outside.records / "reached", (*TRAIN, "--method", "deepwalk", *OPTIONS[SEEDLESS])
    outside.accepts(*words)
    undisturbed = run.rename(outside.folder / "undisturbed")
    started = outside.start(*words, before=SLOW_SETUP.format(mark=str(mark)))
    wait_until(mark.is_file)
    ended = stop(started, number)
    assert f"error: stopped at once by {number.name}. To go on, give the same command with --out run" in ended.errors
    outside.accepts(*words, "--resume")
    assert differences(run, undisturbed) == []


# A library that takes long to import: one that the command line needs itself, and one that only a training needs.
SLOW_LIBRARY = "import pathlib, time\npathlib.Path('importing').touch()\ntime.sleep(60)\n"


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
    assert process.returncode in (128 + number, -number)  # for which a shell says the same
    assert "Traceback" not in errors
    assert not (outside.folder / "run").exists()
