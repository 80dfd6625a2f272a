"""Figure 3: depth, with and without ReLU, and what the influences have to do with it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from reproduction.drawing.figure3 import draw, tables, verdicts
from reproduction.drawing.table2 import REFERENCE
from reproduction.render import texts_of
from reproduction.verdict import FAILS, HOLDS, IN_PART, UNKNOWN

RELU, LINEAR = "with ReLU", "without ReLU"
ABOVE, GRADUAL, CAUSED = range(3)
DEPTHS = [1, 2, 3]
STEEP, GENTLE = (0.6, 0.7, 0.2), (0.65, 0.71, 0.68)
MORE, SAME, LESS = (0.01, 0.02, 0.03), (-0.01, 0.0, 0.01), (-0.03, -0.02, -0.01)
FEW = (None, 0.02, None)  # of too few seeds to say how steady it is
Difference = tuple[float | None, float, float | None]


def line(
    title: str, means: Sequence[float | None], activation: str = RELU, fall: float | None = None
) -> dict[str, Any]:
    cells = [None if mean is None else {"mean": mean, "std": 0.01, "runs": 10, "diverged": 0} for mean in means]
    return {"title": title, "activation": activation, "cells": cells, "fall": fall}


def difference(found: Difference | None) -> dict[str, Any] | None:
    return None if found is None else dict(zip(("low", "mean", "high"), found, strict=True))


def pair(
    *depths: Difference | None, fall: Difference | None = SAME, one: str = "this", other: str = "that"
) -> dict[str, Any]:
    return {"one": one, "other": other, "depths": list(map(difference, depths)), "fall": difference(fall)}


def numbers(*lines: dict[str, Any], rivals: Sequence[Any] = (), controls: Sequence[Any] = ()) -> dict[str, Any]:
    return {
        "depths": DEPTHS,
        "datasets": {"citeseer": list(lines)},
        "rivals": {"citeseer": list(rivals)},
        "controls": {"citeseer": list(controls)},
    }


def test_printed_numbers_are_the_measured_ones() -> None:
    deep = line(REFERENCE, (0.71, 0.7049, 0.65), LINEAR)
    deep["cells"][1] |= {"diverged": 3}
    deep["cells"][2] = {"mean": None, "std": None, "runs": 10, "diverged": 10}
    found = json.loads(json.dumps(numbers(line("Kipf-GCN", (0.6, None, 0.2)), deep)))
    lines = texts_of("figure3", found)["figure3.md"].decode().splitlines()
    rows = [[text.strip() for text in row.strip("|").split("|")] for row in lines if row.startswith("|")]
    assert rows[0] == ["layers", *map(str, found["depths"])]
    assert rows[2:] == [
        ["Kipf-GCN, with ReLU", "60.0 ± 1.0", "–", "20.0 ± 1.0"],
        ["ConfGCN `released`, without ReLU", "71.0 ± 1.0", "70.5 ± 1.0 (3 of 10 diverged)", "diverged"],
    ]
    for row, entry in zip(rows[2:], found["datasets"]["citeseer"], strict=True):
        for text, cell in zip(row[1:], entry["cells"], strict=True):
            if cell and cell["mean"] is not None:
                assert float(text.split()[0]) == pytest.approx(100 * cell["mean"], abs=0.05)


@pytest.mark.parametrize(
    ("rivals", "finding"),
    [
        ([pair(MORE, MORE, MORE), pair(MORE, MORE, MORE)], HOLDS),
        ([pair(MORE, MORE, MORE), pair(MORE, SAME, MORE)], IN_PART),
        ([pair(MORE, MORE, SAME), pair(LESS, LESS, LESS)], FAILS),
        ([pair(FEW, FEW, FEW)], UNKNOWN),
        ([pair(MORE, FEW, MORE), pair(LESS, LESS, LESS)], FAILS),
        ([pair(MORE, None, MORE)], UNKNOWN),
        ([pair(MORE, MORE, MORE), pair(None, None, None, fall=None)], HOLDS),
        ([pair(MORE, MORE, MORE, fall=None)], UNKNOWN),
        ([], UNKNOWN),
    ],
    ids=[
        "every pair",
        "one pair of two",
        "not at every depth",
        "few seeds",
        "few seeds at one depth",
        "a depth is missing",
        "one pair was not run",
        "no seed at both ends",
        "nothing",
    ],
)
def test_is_it_above_at_every_depth(rivals: list[dict[str, Any]], finding: str) -> None:
    assert verdicts(numbers(rivals=rivals))[ABOVE].finding == finding


@pytest.mark.parametrize(
    ("falls", "finding"),
    [
        ([LESS, LESS], HOLDS),
        ([LESS, SAME], IN_PART),
        ([SAME, MORE], FAILS),
        ([FEW], UNKNOWN),
        ([FEW, LESS], HOLDS),
        ([], UNKNOWN),
    ],
    ids=["less", "one of two", "not less", "few seeds", "one of few seeds", "not run"],
)
def test_does_it_fall_less_and_are_the_influences_the_reason(falls: list[Difference], finding: str) -> None:
    pairs = [pair(SAME, SAME, SAME, fall=fall) for fall in falls]
    of_rivals, of_controls = verdicts(numbers(rivals=pairs)), verdicts(numbers(controls=pairs))
    assert (of_rivals[GRADUAL].finding, of_rivals[CAUSED].finding) == (finding, UNKNOWN)
    assert (of_controls[GRADUAL].finding, of_controls[CAUSED].finding) == (UNKNOWN, finding)


def test_depths_are_counted_for_each_pair() -> None:
    rivals = [pair(MORE, SAME, LESS, one="a", other="b"), pair(LESS, LESS, MORE, one="c", other="d")]
    text = verdicts(numbers(rivals=rivals))[ABOVE].text
    assert "a is above b at 1 and below at 1 of 3 depths on citeseer" in text
    assert "c is above d at 1 and below at 2 of 3 depths on citeseer" in text


def test_every_fall_is_told_and_by_how_much_they_differ() -> None:
    lines = [line("Kipf-GCN", STEEP, fall=0.5), line(REFERENCE, GENTLE, LINEAR, fall=0.03), line("other", GENTLE)]
    found = verdicts(numbers(*lines, rivals=[pair(SAME, SAME, SAME, fall=LESS)]))[GRADUAL]
    assert "on citeseer, in points: Kipf-GCN, with ReLU, 50.0; ConfGCN `released`, without ReLU, 3.0." in found.text
    assert "Difference of the falls: this less that on citeseer, −2.0 [−3.0, −1.0]." in found.text


def test_what_the_influences_change_is_told_by_itself() -> None:
    found = verdicts(numbers(line("Kipf-GCN", STEEP, fall=0.5), controls=[pair(SAME, SAME, SAME, fall=FEW)]))
    assert found[CAUSED].text == "Difference of the falls: this less that on citeseer, +2.0."
    assert "Difference of the falls" not in found[GRADUAL].text


def test_a_panel_for_each_activation() -> None:
    pytest.importorskip("matplotlib")
    figure = draw(numbers(line("Kipf-GCN", STEEP), line(REFERENCE, GENTLE), line(REFERENCE, (0.6, None, 0.5), LINEAR)))
    assert figure is not None
    assert [axis.get_title() for axis in figure.axes] == ["citeseer, with ReLU", "citeseer, without ReLU"]
    assert [len(axis.containers) for axis in figure.axes] == [2, 1]
    (gap,) = figure.axes[1].containers
    assert gap[0].get_ydata().tolist() == [60.0, 50.0]


def test_nothing_to_show() -> None:
    nothing = numbers(line("Kipf-GCN", (None, None, None)))
    assert draw(nothing) is None
    assert tables(nothing) == {}
    assert [(verdict.finding, verdict.text) for verdict in verdicts(nothing)] == [(UNKNOWN, "")] * 3
