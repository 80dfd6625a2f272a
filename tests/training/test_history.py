"""A history that is read again is one that a loop wrote, or is refused."""

from __future__ import annotations

from typing import Any

import pytest

from confgcn.exceptions import CorruptFileError
from confgcn.training.history import checked_history

HISTORY = [{"epoch": 1, "loss": 0.5}, {"epoch": 2, "loss": 1, "validation_accuracy": 0.25}]


def test_the_history_of_a_loop_is_accepted() -> None:
    assert checked_history(HISTORY) == HISTORY
    assert checked_history([]) == []


@pytest.mark.parametrize(
    ("records", "problem"),
    [
        (None, "not a list"),
        ({"epoch": 1, "loss": 1.0}, "not a list"),
        ([1], "epoch 1 of the history is missing or damaged"),
        ([HISTORY[1]], "epoch 1 of the history is missing"),
        ([HISTORY[0], HISTORY[0]], "epoch 2 of the history is missing"),
        ([{"epoch": 1}], "missing or damaged"),
        ([{"epoch": "1", "loss": 1.0}], "missing or damaged"),
        ([{"epoch": True, "loss": 1.0}], "epoch is not a finite number"),
        ([{**HISTORY[0], "loss_x": None}], "epoch 1 of the history: loss_x is not a finite number"),
        ([{**HISTORY[0], "x" * 3000: "y"}], r"x{200}\.\.\. is not a finite"),
        *(([{"epoch": 1, "loss": value}], "loss is no") for value in (float("nan"), float("inf"), 10**400, "1", [1])),
    ],
)
def test_an_invalid_history_is_refused(records: Any, problem: str) -> None:
    with pytest.raises(CorruptFileError, match=problem):
        checked_history(records)
