"""Real processes, real signals: nothing is lost, and a resumed run ends with the same bytes."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from confgcn.training.run_directory import claimed

EPOCHS = 200
RESULTS = ("history.jsonl", "model.safetensors", "predictions.csv")


def start(folder: Path, *words: str, code: str | None = None) -> subprocess.Popen[str]:
    program = ["-m", "confgcn"] if code is None else ["-c", code]
    return subprocess.Popen(
        [sys.executable, *program, "train", "demo", "--epochs", str(EPOCHS), "--out", "run", *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(folder: Path, *words: str) -> str:
    process = start(folder, *words)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return errors


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed")
    finish(folder)
    return folder / "run"


def assert_same_results(run: Path, undisturbed: Path) -> None:
    for name in RESULTS:
        assert (run / name).read_bytes() == (undisturbed / name).read_bytes()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_says_how_to_resume_and_nothing_is_lost(
    number: signal.Signals, tmp_path: Path, undisturbed: Path, wait_until: Callable[..., None]
) -> None:
    process = start(tmp_path)
    wait_until(lambda: (tmp_path / "run" / "environment.json").exists())
    time.sleep(0.3)
    asked = time.monotonic()
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert time.monotonic() - asked < 15  # 5 s on a machine that does nothing else
    assert process.returncode == 128 + number
    assert number.name in errors
    assert "--out run --resume" in errors
    assert "Traceback" not in errors
    finish(tmp_path, "--resume")
    assert_same_results(tmp_path / "run", undisturbed)


def test_a_directory_in_use_is_exit_code_seven(tmp_path: Path) -> None:
    with claimed(tmp_path / "run", if_exists="refuse"):
        second = start(tmp_path)
        _, errors = second.communicate(timeout=60)
    assert second.returncode == 7
    assert str(os.getpid()) in errors


# The command line with a checkpoint after every epoch, so that most kills fall into a save.
SAVING_ALWAYS = (
    "from confgcn.training.checkpoint import Checkpointer\n"
    "Checkpointer.__init__.__kwdefaults__['seconds_between'] = 0.0\n"
    "from confgcn.cli.main import main\n"
    "main()"
)


def test_kills_at_random_moments_lose_nothing(
    tmp_path: Path, undisturbed: Path, wait_until: Callable[..., None]
) -> None:
    moments = random.Random(0)  # noqa: S311
    checkpoints = tmp_path / "run" / "checkpoints"
    epochs = []
    for kill in range(4):
        process = start(tmp_path, *(["--resume"] if kill else []), code=SAVING_ALWAYS)
        before = newest_epoch(checkpoints)
        wait_until(lambda before=before: newest_epoch(checkpoints) > before)
        time.sleep(moments.uniform(0.0, 0.15))
        process.kill()
        _, errors = process.communicate(timeout=60)
        assert ("took over" in errors) is (kill > 0)
        epochs.append(newest_epoch(checkpoints))
    assert epochs == sorted(set(epochs))
    assert epochs[-1] < EPOCHS
    finish(tmp_path, "--resume")
    assert_same_results(tmp_path / "run", undisturbed)


def newest_epoch(checkpoints: Path) -> int:
    return max((int(path.stem.removeprefix("epoch-")) for path in checkpoints.glob("epoch-*.json")), default=0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("--set hidden_dim=65536 --set num_layers=3", "weights, their gradients and the optimiser take"),
        ("--set hidden_dim=65536 --set output=dense --set num_layers=1", "bytes more were needed"),
    ],
    ids=["predicted", "met"],
)
def test_too_little_memory_is_an_error_of_the_environment(tmp_path: Path, settings: str, message: str) -> None:
    limited = f"ulimit -v 3500000; exec {sys.executable} -m confgcn train demo --epochs 1 --out run {settings}"
    result = subprocess.run(["/bin/bash", "-c", limited], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert result.returncode == 4, result.stderr
    assert "not enough memory" in result.stderr
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_an_interrupt_during_start_up_shows_no_traceback(tmp_path: Path) -> None:
    for delay in (0.1, 0.3, 0.6):
        process = start(tmp_path)
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert process.returncode in (130, -signal.SIGINT)
        assert "Traceback" not in errors


def test_a_full_disk_is_an_error_of_the_environment(tmp_path: Path) -> None:
    limited = "ulimit -f 16; exec " + f"{sys.executable} -m confgcn train demo --epochs 2 --out run"
    result = subprocess.run(["/bin/bash", "-c", limited], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert result.returncode == 4
    assert "could not write" in result.stderr
    assert not list((tmp_path / "run").glob("*.tmp"))
    assert not (tmp_path / "run" / "metrics.json").exists()
