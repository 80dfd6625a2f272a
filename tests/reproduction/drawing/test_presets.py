"""Beyond the paper: two tables, no verdict."""

from __future__ import annotations

from reproduction.drawing.presets import tables, verdicts

CELL = {"mean": 0.5, "std": 0.01, "runs": 3, "diverged": 1}
NUMBERS = {
    "datasets": ["cora", "demo"],
    "limits": [{"title": "with both", "cells": {"cora": CELL, "demo": None}}],
    "others": [],
}


def test_accuracies_stand_under_their_graphs() -> None:
    found = tables(NUMBERS)
    assert list(found) == ["limits", "others"]
    assert list(found["limits"].header) == ["", "cora", "demo"]
    assert found["limits"].rows == [["with both", "50.0 ± 1.0 (1 of 3 diverged)", "–"]]
    assert found["others"].rows == []


def test_what_has_fewer_runs_than_the_others_of_its_table_says_so() -> None:
    ten, three = ({"mean": 0.5, "std": 0.01, "runs": runs, "diverged": 0} for runs in (10, 3))
    rows = [{"title": "a", "cells": {"cora": ten, "demo": three}}, {"title": "b", "cells": {"cora": ten, "demo": None}}]
    few = [{"title": "c", "cells": {"cora": three, "demo": three}}]
    found = tables({**NUMBERS, "others": rows, "limits": few})
    assert found["others"].rows == [["a", "50.0 ± 1.0", "50.0 ± 1.0, runs: 3"], ["b", "50.0 ± 1.0", "–"]]
    assert found["limits"].rows == [["c", "50.0 ± 1.0", "50.0 ± 1.0"]]


def test_the_paper_says_nothing_of_these() -> None:
    assert verdicts(NUMBERS) == []
