"""Thirty runs killed with SIGKILL, at moments spread over their work: no file is incomplete, and resuming gives the
bytes of an undisturbed run."""

from __future__ import annotations

import random
import re
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from confgcn import load_run
from confgcn.io.json_files import read_checksummed_json, read_json
from confgcn.io.tensor_files import read_tensors

if TYPE_CHECKING:
    from tests.faults.conftest import Outside

pytestmark = pytest.mark.fault("P01")

KILLS = 30
LONGEST_DELAY = 0.04  # seconds: longer than a save, and than the trainings of all folds
PRESETS = ("propagated", "consensus")  # saved after every candidate of a search, and after every epoch
OPTIONS = {
    "with validation nodes": ("--validation", 0.3, "--test", 0.2),
    "cross-fitted": (),
    "of two seeds": ("--validation", 0.3, "--seeds", 2),
}

# Every use of a file in the run directory is recorded; the process dies, or waits for its end, before the given
# one.
WATCHED = """
import os, signal, sys, time
record, uses = os.open({record!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 0
def watch(event, arguments):
    global uses
    if event in ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir") and str(arguments[0]).startswith("run"):
        uses += 1
        if uses == {last}:
            os.kill(os.getpid(), signal.SIGKILL)
        if uses == {waiting}:
            time.sleep(100_000)
        os.write(record, f"{{event}} {{arguments[0]}}\\n".encode())
sys.addaudithook(watch)
"""


@dataclass(frozen=True)
class Moment:
    """After a share of the uses of files: exactly, or from outside some seconds later."""

    kind: str
    share: float
    delay: float | None

    def use(self, uses: list[str]) -> int:
        """The number, counted from one, of the use of a file that the process does not live to see."""
        return 1 + int(self.share * len(uses))


def moments() -> list[Moment]:
    """Each kind of run is killed once in every tenth of it, by turns exactly and from outside."""
    drawn, kinds = random.Random(0), list(OPTIONS)  # noqa: S311
    found = []
    for number in range(KILLS):
        part, kind = divmod(number, len(kinds))
        share = (part + drawn.random()) * len(kinds) / KILLS
        found.append(Moment(kinds[kind], share, drawn.uniform(0, LONGEST_DELAY) if number % 2 else None))
    return found


MOMENTS = moments()


@dataclass(frozen=True)
class Undisturbed:
    """A run that nothing has happened to, its command, and how it used its files."""

    folder: Path
    command: tuple[object, ...]
    uses: list[str]


def command(preset: str, kind: str, epochs: int = 6) -> tuple[object, ...]:
    return ("train", "mygraph", "--preset", preset, "--epochs", epochs, "--out", "run", *OPTIONS[kind])


def watched(outside: Outside, record: Path, last: int = 0, waiting: int = 0) -> str:
    return outside.saving_always + WATCHED.format(record=str(record), last=last, waiting=waiting)


@pytest.fixture(scope="module", params=PRESETS)
def undisturbed(outside_before: Outside, request: pytest.FixtureRequest) -> dict[str, Undisturbed]:
    outside_before.write_graph()
    runs = {}
    for kind in OPTIONS:
        record, words = outside_before.records / f"{request.param}, {kind}", command(request.param, kind)
        outside_before.accepts(*words, before=watched(outside_before, record))
        folder = Path(shutil.move(outside_before.folder / "run", outside_before.folder / record.name))
        runs[kind] = Undisturbed(folder, words, lines(record))
    return runs


def lines(record: Path) -> list[str]:
    """What was recorded, without the number of the process in the names of temporary files."""
    return re.sub(r"\.\d+\.tmp", ".tmp", record.read_text()).splitlines() if record.is_file() else []


@pytest.mark.parametrize("number", range(KILLS))
def test_a_killed_run_is_whole_and_resumes_to_the_same_bytes(
    outside: Outside,
    undisturbed: dict[str, Undisturbed],
    wait_until: Callable[..., None],
    differences: Callable[[Path, Path], list[str]],
    number: int,
) -> None:
    moment, run = MOMENTS[number], outside.folder / "run"
    expected = undisturbed[moment.kind]
    outside.write_graph()
    kill(outside, moment, expected, wait_until)
    assert_whole(run)
    outside.accepts(*expected.command, *(["--resume"] if run.is_dir() else []))
    assert differences(run, expected.folder) == []


def kill(outside: Outside, moment: Moment, expected: Undisturbed, wait_until: Callable[..., None]) -> None:
    words, uses = expected.command, expected.uses
    record, use = outside.records / "uses", moment.use(uses)
    if moment.delay is None:
        started = outside.start(*words, before=watched(outside, record, last=use))
    else:
        # however late the signal comes, the last use of a file is still ahead
        started = outside.start(*words, before=watched(outside, record, waiting=len(uses)))
        wait_until(lambda: len(lines(record)) >= use - 1)
        time.sleep(moment.delay)
        started.process.kill()
    assert started.wait().code == -signal.SIGKILL
    assert lines(record)[: use - 1] == uses[: use - 1]


def assert_whole(run: Path) -> None:
    """No file but a temporary one is ever there in part."""
    for file in (*run.rglob("config.json"), *run.rglob("environment.json")):
        read_checksummed_json(file)
    for file in run.rglob("*.safetensors"):
        if file.with_suffix(".json").is_file():
            read_tensors(file.with_suffix(""))
    for file in run.rglob("metrics.json"):
        assert read_json(file)["seconds"] > 0
        if (file.parent / "model.json").is_file():
            load_run(file.parent)


@pytest.mark.parametrize(
    "words",
    [("report", "run"), ("evaluate", "run"), ("predict", "run", "--out", "run/new_nodes.csv")],
    ids=lambda words: words[0],
)
def test_temporary_files_of_a_killed_command_are_removed_by_the_next_one(
    outside: Outside,
    undisturbed: dict[str, Undisturbed],
    differences: Callable[[Path, Path], list[str]],
    words: tuple[str, ...],
) -> None:
    run, record = outside.folder / "run", outside.records / "uses"
    shutil.copytree(undisturbed["cross-fitted"].folder, run)
    outside.accepts(*words, before=watched(outside, record))
    expected = run.rename(outside.folder / "expected")
    shutil.copytree(undisturbed["cross-fitted"].folder, run)
    renaming = 1 + next(place for place, use in enumerate(lines(record)) if use.startswith("os.rename"))
    killed = outside.start(*words, before=watched(outside, record, last=renaming)).wait()
    assert killed.code == -signal.SIGKILL
    assert len(list(run.glob("*.tmp"))) > 0
    outside.accepts(*words)
    assert differences(run, expected) == []


@pytest.mark.parametrize("kind", ["cross-fitted", "of two seeds"])
@pytest.mark.parametrize("after", ["model.safetensors", "config.json", "graph.npz"])
def test_a_run_that_was_killed_while_it_was_erased_can_be_replaced(
    outside: Outside,
    undisturbed: dict[str, Undisturbed],
    differences: Callable[[Path, Path], list[str]],
    kind: str,
    after: str,
) -> None:
    outside.write_graph()
    run, record = outside.folder / "run", outside.records / "uses"
    words = (*undisturbed[kind].command, "--overwrite")
    shutil.copytree(undisturbed[kind].folder, run)
    outside.accepts(*words, before=watched(outside, record))
    removal = next(place for place, use in enumerate(lines(record)) if use.startswith("os.remove") and after in use)
    shutil.rmtree(run)
    shutil.copytree(undisturbed[kind].folder, run)
    killed = outside.start(*words, before=watched(outside, record, last=removal + 2)).wait()
    assert killed.code == -signal.SIGKILL
    outside.accepts(*words)
    assert differences(run, undisturbed[kind].folder) == []


def test_half_of_the_kills_fall_into_a_save(undisturbed: dict[str, Undisturbed]) -> None:
    hit = [undisturbed[moment.kind].uses[moment.use(undisturbed[moment.kind].uses) - 1] for moment in MOMENTS]
    saves = [use for use in hit if use.endswith(".tmp") or "checkpoints/" in use]
    assert len(saves) >= KILLS / 2, hit
    assert {"os.rename", "open", "os.remove"} <= {use.split()[0] for use in saves}
    assert {moment.kind for moment in MOMENTS} == set(OPTIONS)


@pytest.mark.parametrize(("preset", "epochs"), [("propagated", 6), ("consensus", 60)])
def test_killed_again_and_again_it_gets_further_each_time(
    outside: Outside,
    wait_until: Callable[..., None],
    differences: Callable[[Path, Path], list[str]],
    preset: str,
    epochs: int,
) -> None:
    training, delays = command(preset, "with validation nodes", epochs), random.Random(0)  # noqa: S311
    saved = [0]
    run = outside.write_graph().parent / "run"
    outside.accepts(*training)
    expected = run.rename(outside.folder / "expected")
    for words in ([], ["--resume"], ["--resume"]):
        process = outside.start(*training, *words, before=outside.saving_always + outside.writing_slowly)
        wait_until(lambda: newest_save(run) > saved[-1])
        time.sleep(delays.uniform(0, 0.01))
        process.process.kill()
        assert ("took over" in process.wait().errors) is bool(words)
        saved.append(newest_save(run))
    assert saved == sorted(set(saved))
    assert "took over" in outside.accepts(*training, "--resume").errors
    assert differences(run, expected) == []


def newest_save(run: Path) -> int:
    """The last epoch that is saved, or the number of candidates of a search that are."""
    epochs = [int(path.stem.removeprefix("epoch-")) for path in run.glob("checkpoints/epoch-*.json")]
    return max(epochs, default=len(list(run.glob("search/candidate-*.json"))))
