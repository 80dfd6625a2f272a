"""Beyond the paper: two tables, no verdict."""

from __future__ import annotations

from confgcn.reporting.presets import tables, verdicts

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


def test_the_paper_says_nothing_of_these() -> None:
    assert verdicts(NUMBERS) == []
