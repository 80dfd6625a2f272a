"""Beyond the paper: no preset is left out, and none is shown twice."""

from __future__ import annotations

from collections.abc import Callable

from confgcn.models.registry import METHODS
from confgcn.runs.settings import preset_names
from reproduction.confidence import CONSENSUS
from reproduction.presets import LIMITS, jobs, numbers, others
from reproduction.results import Results
from reproduction.scope import Scope
from reproduction.table2 import PAPER, VARIANTS


def test_with_table_2_and_the_confidences_every_preset_of_every_method_is_shown() -> None:
    in_table = {(variant.method, variant.settings("citeseer").preset) for variant in (*VARIANTS, CONSENSUS)}
    beyond = [(variant.method, variant.preset) for variant in others()]
    assert len(beyond) == len(set(beyond))
    assert not in_table & set(beyond)
    assert in_table | set(beyond) == {(method, preset) for method in METHODS for preset in preset_names(method)}


def test_what_limits_the_paper_is_asked_one_change_at_a_time() -> None:
    assert [dict(variant.changes) for variant in LIMITS] == [
        {},
        {"normalisation": "softmax"},
        {"dropout": 0.5},
        {"normalisation": "softmax", "dropout": 0.5},
    ]
    assert {variant.preset for variant in LIMITS} == {"paper"}


def test_runs_stand_in_their_rows(results: Results, keep: Callable[..., None]) -> None:
    keep("demo", PAPER, 0.5, 0.7)
    found = numbers(Scope(datasets=("demo",), methods=("confgcn",)), results)
    assert found["datasets"] == ["demo"]
    cells = [row["cells"]["demo"] for row in found["limits"]]
    assert [cell is not None for cell in cells] == [True, False, False, False]
    assert (cells[0]["runs"], cells[0]["diverged"]) == (2, 0)
    assert all(row["title"].startswith("confgcn `") for row in found["others"])
    wanted = jobs(Scope(seeds=1, datasets=("demo",), methods=("confgcn",)))
    assert len(wanted) == len(found["limits"]) + len(found["others"])
