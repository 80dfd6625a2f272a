"""A folder of arrays from the command line: mapped, inspected, trained on; and errors of a bad one."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confgcn.data.synthetic import block_model

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def arrays(tmp_path: Path) -> Path:
    folder, graph = tmp_path / "arrays", block_model(120, seed=1)
    folder.mkdir()
    np.save(folder / "edges.npy", np.concatenate([np.stack(ends, 1) for ends in graph.edge_blocks()]))
    np.save(folder / "features.npy", graph.features.numpy())  # type: ignore[union-attr]
    np.save(folder / "labels.npy", graph.labels.numpy())
    for part in ("train", "validation", "test"):
        np.save(folder / f"{part}.npy", getattr(graph, part).numpy())
    return folder


def test_from_arrays_to_a_run_and_its_evaluation(command: Command, arrays: Path, tmp_path: Path) -> None:
    made = command("convert", arrays, "--out", "large", "--mapped", "--json")
    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout) == {"files": ["large"]}
    seen, read = (json.loads(command("inspect", graph, "--json").stdout) for graph in ("large", arrays))
    assert seen == read
    for graph, run in (("large", "one"), (arrays, "other")):
        assert command("train", graph, "--epochs", "3", "--out", run).returncode == 0
    assert (tmp_path / "one" / "predictions.csv").read_bytes() == (tmp_path / "other" / "predictions.csv").read_bytes()
    assert command("evaluate", "one").returncode == 0
    (tmp_path / "large").rename(tmp_path / "moved")
    gone = command("evaluate", "one")
    assert gone.returncode == 4
    assert "mapped.json: missing" in gone.stderr


@pytest.mark.parametrize(
    ("name", "array", "code", "message"),
    [
        ("edges", np.array([[0, 120]]), 3, "edges.npy: edges: row 0 names node 120"),
        ("labels", np.array([{}] * 120), 6, "labels.npy: is an object array"),
        ("features", np.full((120, 2), np.nan), 3, "features: row 0, column 0 is NaN"),
    ],
)
def test_a_bad_array_is_named_and_nothing_is_left(
    command: Command, arrays: Path, tmp_path: Path, name: str, array: np.ndarray, code: int, message: str
) -> None:
    np.save(arrays / f"{name}.npy", array, allow_pickle=True)
    result = command("convert", arrays, "--out", "large", "--mapped")
    assert (result.returncode, result.stderr.count("\n")) == (code, 1)
    assert message in result.stderr
    assert {file.name for file in tmp_path.iterdir()} == {"arrays"}


def test_a_damaged_graph_and_options_without_a_meaning_are_refused(
    command: Command, arrays: Path, tmp_path: Path
) -> None:
    assert command("convert", arrays, "--out", "large", "--mapped").returncode == 0
    asked = command("inspect", "large", "--add-features", "degree")
    assert asked.returncode == 2
    over = command("convert", "large", "--out", "large", "--mapped", "--overwrite")
    assert over.returncode == 2
    assert "not written over itself" in over.stderr
    file = tmp_path / "large" / "indices.npy"
    file.write_bytes(file.read_bytes()[:-1])
    damaged = command("inspect", "large")
    assert damaged.returncode == 3
    assert "indices.npy" in damaged.stderr


# The process waits to be stopped when it begins to write.
WAITING = """
import os, sys, time
def wait(event, arguments):
    if event == "open" and "indices" in str(arguments[0]):
        os.close(os.open("writing", os.O_CREAT))
        time.sleep(100_000)
sys.addaudithook(wait)
"""


def test_a_conversion_that_is_stopped_leaves_nothing(
    start_command: Callable[..., Any], arrays: Path, tmp_path: Path, wait_until: Callable[..., None]
) -> None:
    words = ("convert", arrays, "--out", "large", "--mapped")
    started = start_command(*words, folder=tmp_path, before=WAITING)
    wait_until((tmp_path / "writing").exists)
    assert list(tmp_path.glob("large.*.tmp"))
    started.send(signal.SIGTERM)
    ended = started.wait()
    assert ended.code == 143, ended.errors
    assert {file.name for file in tmp_path.iterdir()} == {"arrays", "writing"}
