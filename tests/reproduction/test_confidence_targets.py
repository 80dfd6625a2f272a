"""Targets of the default preset: marked as reached, missed, or without runs."""

from __future__ import annotations

from typing import Any

import pytest

from reproduction.confidence_targets import ROWS, mean_in, target_table


def difference(mean: float) -> dict[str, Any]:
    return {"mean": mean, "low": mean - 0.005, "high": mean + 0.005, "pairs": 10}


CELL = ("methods", 0, "cells", "cora")
MISSED = {
    0: ((*CELL, "test_accuracy"), {"mean": 0.839, "std": 0.0}),
    1: (("influence", "original", "cora", "differences", "chosen", "test"), difference(0.001)),
    2: (("differences", "cora", "mixed_consensus"), difference(-0.006)),
    3: (("best_peer", "cora", "nll_difference"), difference(0.001)),
    4: (("best_peer", "cora", "brier_difference"), difference(0.001)),
    5: ((*CELL, "calibrated_auroc_correct"), {"mean": 0.814, "std": 0.0}),
    6: (("differences", "cora", "aurc_consensus"), difference(0.001)),
    7: ((*CELL, "calibrated_ece"), {"mean": 0.038, "std": 0.0}),
    8: (("sets", 0, "cells", "cora", "coverage_threshold_90"), {"mean": 0.888, "std": 0.0}),
    9: ((*CELL, "no_label_confidence"), {"mean": 0.71, "std": 0.0}),
    10: (("flipped", 0, "cells", "cora", "flips_found"), {"mean": 0.49, "std": 0.0}),
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


def test_targets_of_single_graphs_do_not_apply_to_others(confidence_numbers: dict[str, Any]) -> None:
    for row in (*confidence_numbers["methods"], *confidence_numbers["mixed"], *confidence_numbers["flipped"]):
        row["cells"] = {"demo": row["cells"]["cora"]}
    confidence_numbers["sets"][0]["cells"] = {"demo": None}
    confidence_numbers["differences"] = {"demo": confidence_numbers["differences"]["cora"]}
    rows = target_table(confidence_numbers).rows
    assert rows[0][2] == "84.0 ± 1.0 (–; –)"
    assert [row[2] for row in rows[3:5]] == ["–", "–"]


def test_every_row_names_its_target(confidence_numbers: dict[str, Any]) -> None:
    targets = [row[1] for row in target_table(confidence_numbers).rows]
    assert targets[:4] == ["≥ target", "> −0.3", "difference ≥ −0.5", "lower"]
    assert all(targets)


def test_the_mean_of_an_absent_measurement_is_unknown() -> None:
    assert mean_in({"nll": {"mean": 0.5, "std": None}}, "nll") == 0.5
    assert mean_in({}, "nll") is None
    assert mean_in(None, "nll") is None
