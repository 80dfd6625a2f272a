"""The picture of the README: learned and uniform influences, what is said and what is right."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from reproduction.overview import DATASETS, jobs, numbers
from reproduction.published import GRAPHS
from reproduction.results import Results
from reproduction.scope import Scope
from reproduction.table2 import GCN, RELEASED, UNIFORM
from reproduction.table2 import jobs as jobs_of_table2


def test_but_for_the_demo_graph_its_runs_are_those_of_table_2() -> None:
    found = jobs(Scope(seeds=1))
    assert len(found) == 2 * len(DATASETS)
    assert {job.dataset for job in set(found) - set(jobs_of_table2(Scope(seeds=1)))} == {"demo"}


def test_accuracies_stand_side_by_side_and_quarters_are_those_of_the_demo_graph(
    results: Results, keep: Callable[..., None]
) -> None:
    says, right = (0.2, 0.3, 0.4, 0.5), (0.6, 0.7, 0.8, 0.9)
    keep("demo", RELEASED, 0.7, 0.8, mean_probability=says, accuracy_by_probability=right)
    keep("cora", RELEASED, 0.6, mean_probability=right, accuracy_by_probability=says)
    keep("cora", UNIFORM, 0.5, None)
    keep("demo", GCN, 0.1, mean_probability=right, accuracy_by_probability=says)
    found = numbers(Scope(), results)
    assert list(found["datasets"]) == [*GRAPHS, "demo"]
    assert found["datasets"]["demo"]["learned"]["mean"] == pytest.approx(0.75)
    assert found["datasets"]["demo"]["uniform"] is None
    assert found["datasets"]["cora"]["uniform"] == {"mean": 0.5, "std": None, "runs": 2, "diverged": 1}
    assert [cell["mean"] for cell in found["says"]] == pytest.approx(says)
    assert [cell["mean"] for cell in found["right"]] == pytest.approx(right)


def test_on_other_data_sets_the_quarters_are_still_there(results: Results, keep: Callable[..., None]) -> None:
    keep("demo", RELEASED, 0.7, mean_probability=(0.5,) * 4, accuracy_by_probability=(1.0,) * 4)
    found = numbers(Scope(datasets=("cora",)), results)
    assert list(found["datasets"]) == ["cora"]
    assert [cell["mean"] for cell in found["says"]] == [0.5] * 4


def test_without_a_run_there_are_no_quarters(results: Results) -> None:
    found = numbers(Scope(datasets=("demo",)), results)
    assert found == {"datasets": {"demo": {"learned": None, "uniform": None}}, "says": [], "right": []}
