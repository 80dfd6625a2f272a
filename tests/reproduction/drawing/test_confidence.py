"""What was asked and whether it is reached, from numbers made by hand."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from reproduction.confidence import ASKED as TARGETS
from reproduction.drawing.confidence import ASKED, draw, tables, verdicts
from reproduction.render import pictures_of

SETS = {f"{q}_threshold_90": {"mean": m, "std": 0.0} for q, m in (("coverage", 0.901), ("size", 1.3))}
BY_DEGREE = {f"{q}_threshold_90": {"mean": m, "std": 0.0} for q, m in (("worst_by_degree", 0.91), ("miss", 0.01))}
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
    "silent_confidence": 0.6,
    "next_confidence": 0.7,
    "silent_accuracy": 0.65,
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
    "scores_of_sets": ["threshold"],
    "coverages": [90],
    "errors": [5],
    "runs": 20,
    "dates": ["2026-11-16"],
    "asked": TARGETS,
    "methods": [{"title": "ours", "cells": {"cora": cell(**OWN)}}, {"title": "uniform", "cells": {"cora": None}}],
    "mixed": [{"title": "ours", "cells": {"cora": cell(test_accuracy=0.7)}}, {"title": "u", "cells": {"cora": None}}],
    "flipped": [{"title": "ours", "cells": {"cora": cell(found_flips=0.6)}}],
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
SPOILT = {
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
    10: (("methods", 0, "cells", "cora", "silent_confidence"), {"mean": 0.71, "std": 0.0}),
    11: (("flipped", 0, "cells", "cora", "found_flips"), {"mean": 0.49, "std": 0.0}),
}


def test_everything_that_was_asked_is_reached() -> None:
    rows = tables(NUMBERS)["asked"].rows
    assert [row[1].endswith("✓") for row in rows] == [True] * len(ASKED)


@pytest.mark.parametrize("row", SPOILT)
def test_what_falls_short_is_marked(row: int) -> None:
    (*path, last), value = SPOILT[row]
    numbers = copy.deepcopy(NUMBERS)
    place = numbers
    for key in path:
        place = place[key]
    place[last] = value
    marks = [cells[1][-1] for cells in tables(numbers)["asked"].rows]
    assert [number for number, mark in enumerate(marks) if mark == "✗"] == [row]


def test_every_mark_has_a_way_to_be_missed() -> None:
    assert len(SPOILT) == len(ASKED)


def test_what_was_not_run_is_left_open() -> None:
    numbers = copy.deepcopy(NUMBERS)
    for group in ("methods", "mixed", "flipped", "sets", "ablations"):
        for row in numbers[group]:
            row["cells"] = {"cora": None}
    numbers["differences"]["cora"] = dict.fromkeys(numbers["differences"]["cora"])
    assert {cells[1] for cells in tables(numbers)["asked"].rows} == {"–"}
    assert draw(numbers) is not None


def test_it_has_pictures_and_no_verdict_on_the_paper() -> None:
    assert verdicts(NUMBERS) == []
    assert pictures_of("confidence", NUMBERS).keys() == {"confidence.svg", "confidence.png"}
