"""Several processes, for real: as exact as one. What becomes of them when one dies is in tests/faults."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from confgcn.data.synthetic import block_model


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
