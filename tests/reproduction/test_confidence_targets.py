"""Targets of the default preset: marked as reached, missed, or without runs."""

from __future__ import annotations

from typing import Any

import pytest

from reproduction.confidence_targets import ROWS, mean_in, target_table

CELL = ("methods", 0, "cells", "cora")
MISSED = {
    0: ((*CELL, "calibrated_ece"), {"mean": 0.038, "std": 0.0}),
    1: (("sets", 0, "cells", "cora", "coverage_threshold_90"), {"mean": 0.888, "std": 0.0}),
    2: ((*CELL, "no_label_confidence"), {"mean": 0.71, "std": 0.0}),
    3: (("flipped", 0, "cells", "cora", "flips_found"), {"mean": 0.49, "std": 0.0}),
}


def test_a_reached_target_is_marked(confidence_numbers: dict[str, Any]) -> None:
    rows = target_table(confidence_numbers).rows
    assert [row[2].endswith("✓") for row in rows] == [True] * len(ROWS)


@pytest.mark.parametrize("row", MISSED)
def test_a_missed_target_is_marked(confidence_numbers: dict[str, Any], row: int) -> None:
    (*path, last), value = MISSED[row]
    changed: Any = confidence_numbers
    for key in path:
        changed = changed[key]
    changed[last] = value
    marks = [cells[2][-1] for cells in target_table(confidence_numbers).rows]
    assert [number for number, mark in enumerate(marks) if mark == "✗"] == [row]


def test_every_target_has_a_test_that_misses_it() -> None:
    assert len(MISSED) == len(ROWS)


def test_a_target_without_runs_is_empty(confidence_numbers: dict[str, Any]) -> None:
    confidence_numbers["methods"][0]["cells"] = {"cora": None}
    assert {cells[2] for cells in target_table(confidence_numbers).rows} == {"–"}


def test_every_row_names_its_target(confidence_numbers: dict[str, Any]) -> None:
    targets = [row[1] for row in target_table(confidence_numbers).rows]
    assert targets == ["≤ floor +1.0", "≤ 1.0 / 2.0", "below the other groups", "≥ 50.0"]


def test_the_mean_of_an_absent_measurement_is_unknown() -> None:
    assert mean_in({"nll": {"mean": 0.5, "std": None}}, "nll") == 0.5
    assert mean_in({}, "nll") is None
    assert mean_in(None, "nll") is None
