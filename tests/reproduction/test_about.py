"""When and on what the runs were done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from reproduction.about import jobs, numbers
from reproduction.jobs import Job, Variant
from reproduction.results import Results, RunRecord
from reproduction.scope import Scope

GCN = Variant("Kipf-GCN", "gcn")


@pytest.mark.parametrize("scope", [Scope(), Scope(datasets=("cora",))], ids=["all", "another data set"])
def test_it_is_about_all_runs_that_are_there(results: Results, record: Callable[..., RunRecord], scope: Scope) -> None:
    for seed, (date, machine) in enumerate([("2026-11-16", "b"), ("2026-11-14", "a"), ("2026-11-15", "b")]):
        run = replace(record(Job("demo", GCN, seed), test_accuracy=0.5), date=date, environment=machine)
        results.add(run, {machine: {"processor": machine}, "settings": {}, "unused": {}})
    assert numbers(scope, results) == {
        "runs": 3,
        "dates": ["2026-11-14", "2026-11-16"],
        "environments": [{"processor": "a"}, {"processor": "b"}],
    }


def test_without_runs_there_is_nothing_to_say(results: Results) -> None:
    assert numbers(Scope(), results) == {"runs": 0, "dates": [], "environments": []}


def test_nothing_is_run_for_it() -> None:
    assert jobs(Scope()) == []
