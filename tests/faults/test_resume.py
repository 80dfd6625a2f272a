"""Going on: with a run that is finished, after the clock was put back, and with a search that was cancelled."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.faults.conftest import Outside

TRAIN = ("train", "mygraph", "--epochs", 10, "--out", "run")


@pytest.mark.fault("P14")
@pytest.mark.parametrize(
    "options", [("--validation", 0.3), (), ("--validation", 0.3, "--seeds", 2)], ids=["validated", "crossed", "seeds"]
)
def test_resuming_a_finished_run_changes_nothing(outside: Outside, options: tuple[Any, ...]) -> None:
    run = outside.write_graph().with_name("run")
    first = outside.accepts(*TRAIN, *options, "--json")
    before = state(run)
    again = outside.accepts(*TRAIN, *options, "--json", "--resume")
    assert again.out == first.out
    assert state(run) == before


def state(run: Path) -> dict[str, tuple[bytes, int]]:
    """What every file holds and when it was written, but for the lock, which is taken and given back."""
    files = [path for path in run.rglob("*") if path.is_file()]
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns * (path.name != "run.lock")) for path in files}


@pytest.mark.fault("P14")
@pytest.mark.parametrize("name", ["metrics.json", "SHA256SUMS"])
def test_a_damaged_summary_of_several_seeds_is_written_again(outside: Outside, name: str) -> None:
    run, words = outside.write_graph().with_name("run"), (*TRAIN, "--validation", 0.3, "--seeds", 2)
    outside.accepts(*words)
    whole = contents(run)
    (run / name).write_bytes((run / name).read_bytes()[:-9])
    resumed = outside.accepts(*words, "--resume")
    assert f"run/{name}: corrupt" in resumed.errors
    assert contents(run) == whole


def contents(run: Path) -> dict[str, bytes]:
    return {file: content for file, (content, _) in state(run).items()}


@pytest.mark.fault("P16")
@pytest.mark.parametrize("damaged", ["older", "newer"])
def test_the_newest_checkpoint_is_that_of_the_highest_epoch_even_if_the_clock_was_set_back(
    outside: Outside,
    wait_until: Callable[..., None],
    differences: Callable[[Path, Path], list[str]],
    damaged: str,
) -> None:
    words = (*TRAIN, "--preset", "consensus", "--validation", 0.3)
    run = outside.write_graph().with_name("run")
    outside.accepts(*words)
    undisturbed = run.rename(outside.folder / "undisturbed")
    killed = outside.start(*words, before=outside.saving_always)
    wait_until(lambda: len(list(run.glob("checkpoints/*.json"))) > 1)
    killed.process.kill()
    killed.wait()

    older, newer = sorted(run.glob("checkpoints/*.json"))[-2:]
    for number, record in enumerate((newer, older)):  # as if the clock had been put back between the two
        for file in (record, record.with_suffix(".safetensors")):
            os.utime(file, (1e9 + number, 1e9 + number))
    {"older": older, "newer": newer}[damaged].write_bytes(b"{}")
    resumed = outside.accepts(*words, "--resume")
    assert (f"skipped a damaged checkpoint, {newer.stem}" in resumed.errors) is (damaged == "newer")
    assert older.stem not in resumed.errors
    assert differences(run, undisturbed) == []


SPACE = "epochs = [150, 151, 152]\nhidden_dim = [4, 8]\n"
TUNE = (
    *("tune", "mygraph", "--validation", 0.3, "--method", "gcn", "--preset", "reference", "--seeds", 1),
    *("--space", "space.toml", "--study", "study.db"),
)


@pytest.fixture(scope="module")
def found_by_all_trials(outside_before: Outside) -> list[tuple[str, float]]:
    pytest.importorskip("optuna")
    outside_before.write_graph()
    outside_before.write("space.toml", SPACE)
    outside_before.accepts(*TUNE)
    return tried(outside_before.folder / "study.db")


@pytest.mark.fault("P22")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_cancelled_search_keeps_its_trials_and_does_not_try_them_again(
    outside: Outside,
    wait_until: Callable[..., None],
    number: signal.Signals,
    found_by_all_trials: list[tuple[str, float]],
) -> None:
    outside.write_graph()
    outside.write("space.toml", SPACE)
    cancelled = outside.start(*TUNE)
    wait_until(lambda: cancelled.errors.is_file() and "trial 1:" in cancelled.errors.read_text())
    cancelled.send(number)
    ended = cancelled.wait()
    kept = tried(outside.folder / "study.db")
    assert 2 <= len(kept) < 6
    if number == signal.SIGKILL:
        assert ended.code == -number
    else:
        assert ended.code == 128 + number
        assert f"stopped by {number.name}; {len(kept)} finished trials are stored in study.db" in ended.errors
        assert "To continue, repeat the command" in ended.errors
    again = outside.accepts(*TUNE)
    assert again.errors.count("trial ") == 6 - len(kept)
    assert tried(outside.folder / "study.db")[: len(kept)] == kept
    assert sorted(tried(outside.folder / "study.db")) == sorted(found_by_all_trials)


def tried(storage: Path) -> list[tuple[str, float]]:
    """The settings and the value of each finished trial, in the order they were tried."""
    import optuna

    url = f"sqlite:///{storage}"
    (name,) = optuna.get_all_study_names(url)
    trials = optuna.load_study(study_name=name, storage=url).trials
    return [(str(trial.params), trial.value) for trial in trials if trial.value is not None]
