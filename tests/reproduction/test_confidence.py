"""Confidence: targets and results from hand-written numbers, and the picture."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from reproduction.artefacts import ARTEFACTS
from reproduction.confidence import CONSENSUS, UNIFORM, draw, tables
from reproduction.confidence_targets import ROWS, TARGETS
from reproduction.table2 import GAT, GCN

SETS = {f"{q}_threshold_90": {"mean": m, "std": 0.0} for q, m in (("coverage", 0.901), ("size", 1.3))}
BY_DEGREE = {f"{q}_threshold_90": {"mean": m, "std": 0.0} for q, m in (("worst_by_degree", 0.91), ("deviation", 0.01))}
OWN = {
    "test_accuracy": 0.84,
    "mu_accuracy": 0.835,
    "auroc_edge": 0.85,
    "auroc_distance": 0.83,
    "calibrated_auroc_correct": 0.83,
    "calibrated_nll": 0.5,
    "calibrated_brier": 0.24,
    "calibrated_ece": 0.03,
    "calibrated_ece_floor": 0.027,
    "no_label_confidence": 0.6,
    "lowest_other_confidence": 0.7,
    "no_label_accuracy": 0.65,
    "accepted_5": 0.5,
    "error_5": 0.04,
}


def cell(**numbers: float) -> dict[str, Any]:
    return {"runs": 10, **{name: {"mean": value, "std": 0.01} for name, value in numbers.items()}}


def difference(mean: float) -> dict[str, Any]:
    return {"mean": mean, "low": mean - 0.005, "high": mean + 0.005, "pairs": 10}


NUMBERS: dict[str, Any] = {
    "datasets": ["cora"],
    "ablated_on": ["cora"],
    "set_scores": ["threshold"],
    "coverages": [90],
    "errors": [5],
    "runs": 20,
    "dates": ["2026-11-16"],
    "targets": TARGETS,
    "methods": [
        {"title": CONSENSUS.title, "cells": {"cora": cell(**OWN)}},
        *({"title": variant.title, "cells": {"cora": None}} for variant in (UNIFORM, GCN, GAT)),
    ],
    "mixed": [{"title": "ours", "cells": {"cora": cell(test_accuracy=0.7)}}, {"title": "u", "cells": {"cora": None}}],
    "flipped": [{"title": "ours", "cells": {"cora": cell(flips_found=0.6)}}],
    "sets": [{"title": "ours", "cells": {"cora": {**SETS, **BY_DEGREE}}}],
    "ablations": [{"title": "ours", "cells": {"cora": cell(**OWN)}}],
    "differences": {
        "cora": {
            **dict.fromkeys(("released", "uniform", "mixed_uniform", "mixed_gat"), difference(0.03)),
            "mu": difference(-0.005),
            **{f"auroc_correct_{other}": difference(0.01) for other in ("gcn", "gat")},
            **{f"{score}_{other}": difference(-0.01) for score in ("nll", "brier") for other in ("gcn", "gat")},
        }
    },
}
MISSED = {
    0: (("differences", "cora", "released"), difference(-0.01)),
    1: (("differences", "cora", "uniform"), difference(-0.01)),
    2: (("differences", "cora", "mixed_uniform"), difference(0.019)),
    3: (("differences", "cora", "mu"), difference(-0.011)),
    4: (("methods", 0, "cells", "cora", "auroc_edge"), {"mean": 0.79, "std": 0.0}),
    5: (("differences", "cora", "auroc_correct_gat"), difference(-0.001)),
    6: (("differences", "cora", "nll_gcn"), difference(0.001)),
    7: (("differences", "cora", "brier_gat"), difference(0.001)),
    8: (("methods", 0, "cells", "cora", "calibrated_ece"), {"mean": 0.038, "std": 0.0}),
    9: (("sets", 0, "cells", "cora", "coverage_threshold_90"), {"mean": 0.888, "std": 0.0}),
    10: (("methods", 0, "cells", "cora", "no_label_confidence"), {"mean": 0.71, "std": 0.0}),
    11: (("flipped", 0, "cells", "cora", "flips_found"), {"mean": 0.49, "std": 0.0}),
}


def test_a_reached_target_is_marked() -> None:
    rows = tables(NUMBERS)["targets"].rows
    assert [row[2].endswith("✓") for row in rows] == [True] * len(ROWS)


@pytest.mark.parametrize("row", MISSED)
def test_a_missed_target_is_marked(row: int) -> None:
    (*path, last), value = MISSED[row]
    numbers = copy.deepcopy(NUMBERS)
    place = numbers
    for key in path:
        place = place[key]
    place[last] = value
    marks = [cells[2][-1] for cells in tables(numbers)["targets"].rows]
    assert [number for number, mark in enumerate(marks) if mark == "✗"] == [row]


def test_every_target_has_a_test_that_misses_it() -> None:
    assert len(MISSED) == len(ROWS)


def test_a_target_without_runs_is_empty() -> None:
    numbers = copy.deepcopy(NUMBERS)
    for group in ("methods", "mixed", "flipped", "sets", "ablations"):
        for row in numbers[group]:
            row["cells"] = {"cora": None}
    numbers["differences"]["cora"] = dict.fromkeys(numbers["differences"]["cora"])
    assert {cells[2] for cells in tables(numbers)["targets"].rows} == {"–"}
    assert draw(numbers) is not None


def test_every_row_names_its_target() -> None:
    targets = [row[1] for row in tables(NUMBERS)["targets"].rows]
    assert targets[:4] == ["not lower", "not significantly lower", "≥ +2.0", "≥ −1.0"]
    assert all(targets)


def test_it_can_be_written() -> None:
    pytest.importorskip("matplotlib")
    assert ARTEFACTS["confidence"].pictures(NUMBERS).keys() == {"confidence.svg", "confidence.png"}
