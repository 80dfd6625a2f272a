"""Real processes, and a directory, memory or a disk that they cannot have."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from confgcn.training.run_directory import claimed


def start(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "confgcn", "train", "demo", "--epochs", "2", "--out", "run"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_directory_in_use_is_exit_code_seven(tmp_path: Path) -> None:
    with claimed(tmp_path / "run", if_exists="refuse"):
        second = start(tmp_path)
        _, errors = second.communicate(timeout=60)
    assert second.returncode == 7
    assert str(os.getpid()) in errors


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


def test_a_full_disk_is_an_error_of_the_environment(tmp_path: Path) -> None:
    limited = "ulimit -f 16; exec " + f"{sys.executable} -m confgcn train demo --epochs 2 --out run"
    result = subprocess.run(["/bin/bash", "-c", limited], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert result.returncode == 4
    assert "could not write" in result.stderr
    assert not list((tmp_path / "run").glob("*.tmp"))
    assert not (tmp_path / "run" / "metrics.json").exists()
