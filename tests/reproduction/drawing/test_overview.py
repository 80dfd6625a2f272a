"""The picture of the README: two tables, two panels, no verdict."""

from __future__ import annotations

from typing import Any

import pytest

from reproduction.drawing.overview import draw, tables, verdicts
from reproduction.render import pictures_of


def cell(mean: float | None) -> dict[str, Any]:
    return {"mean": mean, "std": 0.01, "runs": 10, "diverged": 0 if mean is not None else 10}


NUMBERS = {
    "datasets": {
        "cora": {"learned": cell(0.8), "uniform": cell(0.81)},
        "demo": {"learned": cell(None), "uniform": None},
    },
    "says": [cell(0.3), cell(0.4), cell(0.5), cell(0.6)],
    "right": [cell(0.6), cell(0.7), cell(0.8), cell(0.9)],
}
NOTHING: dict[str, Any] = {"datasets": {"demo": {"learned": None, "uniform": None}}, "says": [], "right": []}


def test_the_tables_have_what_the_panels_show() -> None:
    influence, probability = tables(NUMBERS).values()
    assert list(influence.header) == ["", "cora", "demo"]
    assert influence.rows == [
        ["learned influence", "80.0 ± 1.0", "diverged"],
        ["every influence uniform", "81.0 ± 1.0", "–"],
    ]
    assert list(probability.header) == ["", "lowest", "2nd", "3rd", "highest"]
    assert probability.rows == [
        ["is right", "60.0 ± 1.0", "70.0 ± 1.0", "80.0 ± 1.0", "90.0 ± 1.0"],
        ["says", "30.0 ± 1.0", "40.0 ± 1.0", "50.0 ± 1.0", "60.0 ± 1.0"],
    ]


def test_without_quarters_there_is_one_table() -> None:
    assert list(tables(NOTHING)) == ["influence"]
    assert [row[1] for row in tables(NOTHING)["influence"].rows] == ["–", "–"]


def test_marks_of_one_data_set_stand_side_by_side_and_quarters_are_joined() -> None:
    pytest.importorskip("matplotlib")
    figure = draw(NUMBERS)
    assert figure is not None
    left, right = figure.axes
    (learned, uniform), (is_right, says) = left.containers, right.containers
    assert [container.get_label() for container in (learned, uniform)] == [
        "learned influence",
        "every influence uniform",
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
    assert pictures_of("overview", numbers).keys() == {"overview.svg", "overview.png"}


def test_the_paper_has_no_such_picture() -> None:
    assert verdicts(NUMBERS) == []
