"""Real worker processes compute what one process does; tests/faults has those that are killed."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from types import ModuleType
from typing import Any

import pytest

from confgcn.data.synthetic import block_model
from confgcn.runs.saved import load_run

pytestmark = pytest.mark.slow

Command = Callable[..., "CompletedProcess[str]"]


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


def test_two_workers_leave_the_tables_of_one_process(command: Command, tmp_path: Path) -> None:
    calm = [word for name in ("dropout", "node_dropout") for word in ("--set", f"{name}=0.0")]
    words = (
        "train",
        "demo",
        "--preset",
        "consensus",
        *calm,
        "--set",
        "select=last",
        "--set",
        "stop=never",
        "--epochs",
        12,
    )
    for workers in (1, 2):
        done = command(*words, "--workers", workers, "--out", workers)
        assert done.returncode == 0, done.stderr
    alone, together = (rows(tmp_path / str(workers) / "predictions.csv") for workers in (1, 2))
    assert alone.keys() == together.keys()
    for node, row in alone.items():
        numbers = [name for name in row if name.startswith(("prob", "raw", "mu_", "precision_", "evidence"))]
        assert {name: float(row[name]) for name in numbers} == pytest.approx(
            {name: float(together[node][name]) for name in numbers}, abs=1e-4
        )
    for table, number in (("label_errors.csv", "score"), ("disagreeing_edges.csv", "disagreement")):
        alone_said, together_said = (scores(tmp_path / str(workers) / table, number) for workers in (1, 2))
        assert len(alone_said) == len(together_said) > 100
        assert [value for _, value in alone_said] == pytest.approx([value for _, value in together_said], abs=1e-3)
        first_alone, first_together = ({node for node, _ in said[:100]} for said in (alone_said, together_said))
        assert len(first_alone & first_together) > 0.9 * len(first_alone)
    same = sum(
        row["most_influential_neighbour"] == together[node]["most_influential_neighbour"] for node, row in alone.items()
    )
    assert same > 0.99 * len(alone)  # but for ties


def test_two_workers_choose_and_certify_with_the_labels_of_one_process(command: Command, tmp_path: Path) -> None:
    calm = [word for name in ("dropout", "node_dropout") for word in ("--set", f"{name}=0.0")]
    words = (
        "train",
        "demo",
        "--preset",
        "consensus",
        *calm,
        "--set",
        "held_out=divided",
        "--set",
        "select=last",
        "--epochs",
        6,
    )
    for workers in (1, 2):
        done = command(*words, "--workers", workers, "--out", workers)
        assert done.returncode == 0, done.stderr
    alone, together = (json.loads((tmp_path / str(workers) / "metrics.json").read_text()) for workers in (1, 2))
    assert alone["held_out"] == together["held_out"]
    assert alone["held_out"]["case"] == "divided"
    for name in ("validation_accuracy", "certify_accuracy", "certify_log_loss"):
        assert alone[name] == pytest.approx(together[name], abs=0.01)
    again = load_run(tmp_path / "2")
    assert len(again.certifying_nodes) == together["decisions"][0]["held_out_labels"]


def scores(file: Path, column: str) -> list[tuple[str, float]]:
    with file.open(newline="", encoding="utf-8") as stream:
        return [(row["node"], float(row[column])) for row in csv.DictReader(stream)]


def rows(file: Path) -> dict[str, dict[str, str]]:
    with file.open(newline="", encoding="utf-8") as stream:
        return {row["node"]: row for row in csv.DictReader(stream)}
