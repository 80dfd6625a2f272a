"""Overview: learned and uniform influences, probabilities and accuracies in groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from reproduction.artefacts import ARTEFACTS
from reproduction.jobs import PAPER_GRAPHS, Scope
from reproduction.overview import DATASETS, draw, jobs, numbers, tables
from reproduction.results import Results
from reproduction.table2 import GCN, RELEASED, UNIFORM
from reproduction.table2 import jobs as jobs_of_table2


def test_except_for_the_demo_graph_the_jobs_are_runs_of_table_2() -> None:
    found = jobs(Scope(seeds=1))
    assert len(found) == 2 * len(DATASETS)
    assert {job.dataset for job in set(found) - set(jobs_of_table2(Scope(seeds=1)))} == {"demo"}


def test_accuracies_are_per_data_set_and_groups_are_of_the_demo_graph(
    results: Results, keep: Callable[..., None]
) -> None:
    says, right = (0.2, 0.3, 0.4, 0.5), (0.6, 0.7, 0.8, 0.9)
    keep("demo", RELEASED, 0.7, 0.8, mean_probability=says, accuracy_by_probability=right)
    keep("cora", RELEASED, 0.6, mean_probability=right, accuracy_by_probability=says)
    keep("cora", UNIFORM, 0.5, None)
    keep("demo", GCN, 0.1, mean_probability=right, accuracy_by_probability=says)
    found = numbers(Scope(), results)
    assert list(found["datasets"]) == [*PAPER_GRAPHS, "demo"]
    assert found["datasets"]["demo"]["learned"]["mean"] == pytest.approx(0.75)
    assert found["datasets"]["demo"]["uniform"] is None
    assert found["datasets"]["cora"]["uniform"] == {"mean": 0.5, "std": None, "runs": 2, "diverged": 1}
    assert [cell["mean"] for cell in found["mean_probability"]] == pytest.approx(says)
    assert [cell["mean"] for cell in found["accuracy"]] == pytest.approx(right)


def test_the_groups_do_not_depend_on_the_selected_data_sets(results: Results, keep: Callable[..., None]) -> None:
    keep("demo", RELEASED, 0.7, mean_probability=(0.5,) * 4, accuracy_by_probability=(1.0,) * 4)
    found = numbers(Scope(datasets=("cora",)), results)
    assert list(found["datasets"]) == ["cora"]
    assert [cell["mean"] for cell in found["mean_probability"]] == [0.5] * 4


def test_without_a_run_there_are_no_groups(results: Results) -> None:
    found = numbers(Scope(datasets=("demo",)), results)
    assert found == {"datasets": {"demo": {"learned": None, "uniform": None}}, "mean_probability": [], "accuracy": []}


def cell(mean: float | None) -> dict[str, Any]:
    return {"mean": mean, "std": 0.01, "runs": 10, "diverged": 0 if mean is not None else 10}


NUMBERS = {
    "datasets": {
        "cora": {"learned": cell(0.8), "uniform": cell(0.81)},
        "demo": {"learned": cell(None), "uniform": None},
    },
    "mean_probability": [cell(0.3), cell(0.4), cell(0.5), cell(0.6)],
    "accuracy": [cell(0.6), cell(0.7), cell(0.8), cell(0.9)],
}
NOTHING: dict[str, Any] = {
    "datasets": {"demo": {"learned": None, "uniform": None}},
    "mean_probability": [],
    "accuracy": [],
}


def test_the_tables_hold_the_numbers_of_the_panels() -> None:
    influence, probability = tables(NUMBERS).values()
    assert list(influence.header) == ["", "cora", "demo"]
    assert influence.rows == [
        ["learned influence", "80.0 ± 1.0", "diverged"],
        ["uniform influence", "81.0 ± 1.0", "–"],
    ]
    assert list(probability.header) == ["", "lowest", "2nd", "3rd", "highest"]
    assert probability.rows == [
        ["accuracy", "60.0 ± 1.0", "70.0 ± 1.0", "80.0 ± 1.0", "90.0 ± 1.0"],
        ["mean probability", "30.0 ± 1.0", "40.0 ± 1.0", "50.0 ± 1.0", "60.0 ± 1.0"],
    ]


def test_without_groups_there_is_one_table() -> None:
    assert list(tables(NOTHING)) == ["influence"]
    assert [row[1] for row in tables(NOTHING)["influence"].rows] == ["–", "–"]


def test_markers_of_one_data_set_are_side_by_side_and_groups_are_joined() -> None:
    pytest.importorskip("matplotlib")
    figure = draw(NUMBERS)
    assert figure is not None
    left, right = figure.axes
    (learned, uniform), (is_right, says) = left.containers, right.containers
    assert [container.get_label() for container in (learned, uniform)] == [
        "learned influence",
        "uniform influence",
    ]
    assert (learned[0].get_ydata().tolist(), uniform[0].get_ydata().tolist()) == ([80.0], [pytest.approx(81.0)])
    assert learned[0].get_xdata()[0] == -uniform[0].get_xdata()[0] < 0
    assert learned[0].get_linestyle() == "None"
    assert [tick.get_text() for tick in left.get_xticklabels()] == ["cora", "demo"]
    assert is_right[0].get_ydata().tolist() == pytest.approx([60, 70, 80, 90])
    assert says[0].get_ydata().tolist() == pytest.approx([30, 40, 50, 60])
    assert says[0].get_linestyle() != "None"


@pytest.mark.parametrize("numbers", [NUMBERS, NOTHING], ids=["runs", "no run"])
def test_it_can_be_written(numbers: dict[str, Any]) -> None:
    pytest.importorskip("matplotlib")
    assert ARTEFACTS["overview"].pictures(numbers).keys() == {"overview.svg", "overview.png"}
