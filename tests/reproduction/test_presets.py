"""Presets: none is left out, none is shown twice, cells with few runs name their number."""

from __future__ import annotations

from collections.abc import Callable

from confgcn.models.registry import METHODS
from confgcn.runs.settings import preset_names
from reproduction.confidence import CONSENSUS
from reproduction.jobs import Scope
from reproduction.presets import COMPARED_ELSEWHERE, LIMITS, PRESETS_ELSEWHERE, jobs, numbers, others, tables
from reproduction.results import Results
from reproduction.table2 import PAPER, VARIANTS


def test_with_table_2_and_the_confidences_every_preset_of_the_papers_methods_is_shown() -> None:
    in_table = {(variant.method, variant.settings("citeseer").preset) for variant in (*VARIANTS, CONSENSUS)}
    beyond = [(variant.method, variant.preset) for variant in others()]
    assert len(beyond) == len(set(beyond))
    assert not in_table & set(beyond)
    methods = METHODS.keys() - set(COMPARED_ELSEWHERE)
    presets = {(method, preset) for method in methods for preset in preset_names(method)}
    assert in_table | set(beyond) == presets - PRESETS_ELSEWHERE


def test_the_limits_of_paper_change_one_option_at_a_time() -> None:
    assert [dict(variant.changes) for variant in LIMITS] == [
        {},
        {"normalisation": "softmax"},
        {"dropout": 0.5},
        {"normalisation": "softmax", "dropout": 0.5},
    ]
    assert {variant.preset for variant in LIMITS} == {"paper"}


def test_runs_are_in_their_rows(results: Results, keep: Callable[..., None]) -> None:
    keep("demo", PAPER, 0.5, 0.7)
    found = numbers(Scope(datasets=("demo",), methods=("confgcn",)), results)
    assert found["datasets"] == ["demo"]
    cells = [row["cells"]["demo"] for row in found["limits"]]
    assert [cell is not None for cell in cells] == [True, False, False, False]
    assert (cells[0]["runs"], cells[0]["diverged"]) == (2, 0)
    assert all(row["title"].startswith("confgcn `") for row in found["others"])
    wanted = jobs(Scope(seeds=1, datasets=("demo",), methods=("confgcn",)))
    assert len(wanted) == len(found["limits"]) + len(found["others"])


CELL = {"mean": 0.5, "std": 0.01, "runs": 3, "diverged": 1}
NUMBERS = {
    "datasets": ["cora", "demo"],
    "limits": [{"title": "with both", "cells": {"cora": CELL, "demo": None}}],
    "others": [],
}


def test_accuracies_are_in_the_columns_of_their_graphs() -> None:
    found = tables(NUMBERS)
    assert list(found) == ["limits", "others"]
    assert list(found["limits"].header) == ["", "cora", "demo"]
    assert found["limits"].rows == [["with both", "50.0 ± 1.0 (1 of 3 diverged)", "–"]]
    assert found["others"].rows == []


def test_a_cell_with_fewer_runs_than_others_names_their_number() -> None:
    ten, three = ({"mean": 0.5, "std": 0.01, "runs": runs, "diverged": 0} for runs in (10, 3))
    rows = [{"title": "a", "cells": {"cora": ten, "demo": three}}, {"title": "b", "cells": {"cora": ten, "demo": None}}]
    few = [{"title": "c", "cells": {"cora": three, "demo": three}}]
    found = tables({**NUMBERS, "others": rows, "limits": few})
    assert found["others"].rows == [["a", "50.0 ± 1.0", "50.0 ± 1.0, runs: 3"], ["b", "50.0 ± 1.0", "–"]]
    assert found["limits"].rows == [["c", "50.0 ± 1.0", "50.0 ± 1.0"]]
