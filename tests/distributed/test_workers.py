"""Several processes, for real: as exact as one, stopped and resumed by another number, killed and named."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from confgcn.data.synthetic import block_model

TRAIN = ("train", "demo", "--preset", "paper", "--out", "run")
ENDLESS = ("--set", "epochs=100000", "--workers", "2")


@pytest.fixture
def exactness(script: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return script("benchmarks/exactness.py")


def test_two_workers_have_the_loss_and_the_gradients_of_one_process(exactness: Any) -> None:
    presets, precisions = ("paper", "released", "consensus"), ("float64", "float32")
    tasks = [{"graph": "", "preset": preset, "precision": kind} for preset in presets for kind in precisions]
    for task, found in zip(tasks, exactness.compared(block_model(300), 2, tasks), strict=True):
        tolerance = 1e-10 if task["precision"] == "float64" else 1e-5
        assert found["loss"] < tolerance, task
        assert found["gradient"] < tolerance, task


def started(folder: Path, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "confgcn", *TRAIN, *words]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def worker(launcher: int, rank: int) -> int:
    """The process of a worker, by the number it was given."""
    for task in Path(f"/proc/{launcher}/task").iterdir():
        for child in (task / "children").read_text().split():
            if f"\0RANK={rank}\0" in Path(f"/proc/{child}/environ").read_text():
                return int(child)
    raise AssertionError(f"no worker {rank}")


def has_checkpoint(folder: Path) -> bool:
    return any(len(file.stem) == len("epoch-0000001") for file in (folder / "run/checkpoints").glob("*.json"))


@pytest.fixture
def begun(tmp_path: Path, wait_until: Callable[..., None]) -> subprocess.Popen[str]:
    """A job of two workers that has saved a checkpoint."""
    job = started(tmp_path, *ENDLESS)
    wait_until(lambda: has_checkpoint(tmp_path) or job.poll() is not None, 120.0)
    assert job.poll() is None, job.communicate()[1]
    return job


def resumed(folder: Path, *words: str) -> dict[str, Any]:
    """The summary of a run that goes on, for a few epochs from where it was."""
    job = started(folder, *words, "--resume", "--json")
    said, errors = job.communicate(timeout=240)
    assert job.returncode == 0, errors
    summary: dict[str, Any] = json.loads(said)
    return summary


def test_a_job_that_is_stopped_goes_on_alone(tmp_path: Path, begun: subprocess.Popen[str]) -> None:
    begun.send_signal(signal.SIGTERM)
    _, errors = begun.communicate(timeout=60)
    assert begun.returncode == 128 + signal.SIGTERM, errors
    assert "the state is saved" in errors
    assert "Traceback" not in errors
    before = json.loads(
        last_checkpoint(tmp_path).with_name(f"{last_checkpoint(tmp_path).stem}-part-0.json").read_text()
    )
    shorten(tmp_path, len(before["history"]) + 2)
    summary = resumed(tmp_path, "--set", f"epochs={len(before['history']) + 2}")
    assert summary["runs"][0]["epochs"] == len(before["history"]) + 2


def test_a_killed_worker_is_named_and_three_others_go_on(tmp_path: Path, begun: subprocess.Popen[str]) -> None:
    victim = worker(begun.pid, 1)
    os.kill(victim, signal.SIGKILL)
    _, errors = begun.communicate(timeout=60)
    assert begun.returncode == 4
    assert f"worker 1 (process {victim}) was ended by SIGKILL" in errors
    assert "Traceback" not in errors
    epochs = int(last_checkpoint(tmp_path).stem.removeprefix("epoch-")) + 2
    shorten(tmp_path, epochs)
    summary = resumed(tmp_path, "--set", f"epochs={epochs}", "--workers", "3")
    assert summary["runs"][0]["epochs"] == epochs
    assert summary["runs"][0]["workers"] == 3
    assert not (tmp_path / "run/shards").exists()
    assert not (tmp_path / "run/checkpoints").exists()


def last_checkpoint(folder: Path) -> Path:
    return max(file for file in (folder / "run/checkpoints").glob("epoch-*.json") if "part" not in file.name)


def shorten(folder: Path, epochs: int) -> None:
    """Make the recorded run one of fewer epochs, so that the test ends: nothing else depends on their number."""
    from confgcn.files import read_sealed, write_sealed

    file = folder / "run/config.json"
    config = read_sealed(file)
    config["recipe"]["epochs"] = epochs
    write_sealed(file, config)
