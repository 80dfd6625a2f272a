"""Figure 3: depth, with and without ReLU, and what the influences have to do with it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from confgcn.reporting.figure3 import draw, tables, verdicts
from confgcn.reporting.render import texts_of
from confgcn.reporting.table2 import CONTROL, REFERENCE
from confgcn.reporting.verdict import FAILS, HOLDS, IN_PART, UNKNOWN

RELU, LINEAR = "with ReLU", "without ReLU"
ABOVE, GRADUAL, CAUSED = range(3)
DEPTHS = [1, 2, 3]


def line(title: str, means: Sequence[float | None], activation: str = RELU) -> dict[str, Any]:
    cells = [None if mean is None else {"mean": mean, "std": 0.01, "runs": 10, "diverged": 0} for mean in means]
    return {"title": title, "activation": activation, "cells": cells}


def numbers(*lines: dict[str, Any]) -> dict[str, Any]:
    return {"depths": DEPTHS, "datasets": {"citeseer": list(lines)}}


STEEP, GENTLE = (0.6, 0.7, 0.2), (0.65, 0.71, 0.68)


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
    ("own", "above", "gradual"),
    [
        (GENTLE, HOLDS, HOLDS),
        ((0.5, 0.6, 0.5), IN_PART, HOLDS),
        ((0.5, 0.69, 0.1), FAILS, FAILS),
        ((0.65, 0.71, None), UNKNOWN, UNKNOWN),
    ],
    ids=["above and gentle", "gentle", "below and steep", "a depth is missing"],
)
def test_confgcn_as_released_against_gcn(own: Sequence[float | None], above: str, gradual: str) -> None:
    found = verdicts(numbers(line("Kipf-GCN", STEEP), line(REFERENCE, own, LINEAR)))
    assert (found[ABOVE].finding, found[GRADUAL].finding) == (above, gradual)
    assert found[CAUSED].finding == UNKNOWN


def test_a_fair_comparison_is_asked_for_too() -> None:
    lines = [line("Kipf-GCN", STEEP), line("Kipf-GCN", (0.66, 0.72, 0.7), LINEAR), line(REFERENCE, GENTLE, LINEAR)]
    found = verdicts(numbers(*lines))
    assert (found[ABOVE].finding, found[GRADUAL].finding) == (IN_PART, IN_PART)
    assert "3 of 3 depths" in found[ABOVE].text
    assert "0 of 3 depths" in found[ABOVE].text
    for title, fall in (("Kipf-GCN, with ReLU", "50.0"), ("Kipf-GCN, without ReLU", "2.0"), (REFERENCE, "3.0")):
        assert title in found[GRADUAL].text
        assert fall in found[GRADUAL].text


@pytest.mark.parametrize(
    ("controls", "finding"),
    [
        ({RELU: STEEP, LINEAR: STEEP}, HOLDS),
        ({RELU: STEEP, LINEAR: GENTLE}, IN_PART),
        ({LINEAR: (0.65, 0.71, 0.675)}, FAILS),  # by less than a standard deviation
        ({}, UNKNOWN),
    ],
    ids=["both fall without", "one does", "within the spread", "not run"],
)
def test_are_the_influences_the_reason(controls: dict[str, Sequence[float]], finding: str) -> None:
    own = [line(REFERENCE, GENTLE, activation) for activation in (RELU, LINEAR)]
    others = [line(CONTROL, means, activation) for activation, means in controls.items()]
    assert verdicts(numbers(*own, *others))[CAUSED].finding == finding


def test_how_far_uniform_influences_move_it_is_said() -> None:
    found = verdicts(numbers(line(REFERENCE, GENTLE, LINEAR), line(CONTROL, (0.65, 0.7, 0.66), LINEAR)))
    assert "at most 2.0 points" in found[CAUSED].text
    assert "1.0" in found[CAUSED].text


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
    assert [verdict.finding for verdict in verdicts(nothing)] == [UNKNOWN] * 3
