"""Figure 3: one cell per depth with and without ReLU, and the claims of Q3."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from reproduction import figure3
from reproduction.artefacts import ARTEFACTS
from reproduction.figure3 import (
    BASELINES,
    CONTROLS,
    DEPTHS,
    LINEAR,
    RELU,
    VARIANTS,
    Line,
    check_claims,
    draw,
    drops,
    jobs,
    numbers,
    tables,
    with_depth,
)
from reproduction.jobs import Job, Scope
from reproduction.rendering import FAILS, HOLDS, PARTLY, UNKNOWN
from reproduction.results import Results
from reproduction.table2 import GCN, PAPER, RELEASED, UNIFORM


def test_only_the_depth_and_the_activation_are_changed() -> None:
    for line in VARIANTS:
        for kind, activation in ((RELU, "relu"), (LINEAR, "identity")):
            plain, changed = line.settings("citeseer"), with_depth((line, kind), 7).settings("citeseer")
            assert changed.model == {**plain.model, "num_layers": 7, "activation": activation}
            assert (changed.recipe, changed.data) == (plain.recipe, plain.data)


def test_two_layers_are_runs_of_table_2() -> None:
    keys = {job.settings_key for job in jobs(Scope(seeds=1))}
    for line in VARIANTS:
        assert Job("citeseer", line, 0).settings_key in keys


def test_every_compared_line_has_jobs() -> None:
    wanted = set(jobs(Scope(seeds=1)))
    lines = {line for pair in (*BASELINES, *CONTROLS) for line in pair}
    assert {Job("citeseer", with_depth(line, depth), 0) for line in lines for depth in DEPTHS} <= wanted


def test_baselines_are_kipf_gcn_and_controls_differ_only_in_the_influence() -> None:
    assert {other[0] for _, other in BASELINES} == {GCN}
    assert {one[0] for one, _ in BASELINES} == {RELEASED, PAPER}
    as_they_are = (RELEASED, LINEAR), (GCN, RELU)
    assert [pair for pair in BASELINES if pair[0][1] != pair[1][1]] == [as_they_are]
    for one, other in CONTROLS:
        own, uniform = with_depth(one, 4).settings("citeseer"), with_depth(other, 4).settings("citeseer")
        assert uniform.model == {**own.model, "influence": "uniform"}
    assert {one[1] for one, _ in CONTROLS} == {RELU, LINEAR}


def test_a_cell_is_at_its_depth(results: Results, keep: Callable[..., None]) -> None:
    keep("citeseer", with_depth((GCN, LINEAR), 5), 0.6, None)
    found = numbers(Scope(), results)
    assert found["depths"] == list(DEPTHS) == list(range(1, 11))
    lines = {(line["title"], line["activation"]): line for line in found["datasets"]["citeseer"]}
    assert len(lines) == 2 * len(VARIANTS)
    line = lines[GCN.title, LINEAR]
    assert [depth for depth, cell in zip(found["depths"], line["cells"], strict=True) if cell] == [5]
    assert line["cells"][4] == {"mean": 0.6, "std": None, "runs": 2, "diverged": 1}
    assert line["drop"] is None
    assert not any(lines[GCN.title, RELU]["cells"])


def test_a_drop_starts_at_the_depth_with_the_best_mean() -> None:
    # 0.8 is the best of seed 0, but not of the mean
    assert drops([{0: 0.8, 1: 0.6}, {0: 0.7, 1: 0.9}, {0: 0.1, 1: 0.2}]) == pytest.approx({0: 0.6, 1: 0.7})


def test_a_drop_uses_the_seeds_that_both_depths_have() -> None:
    assert drops([{0: 0.5}, {0: 0.7, 1: 0.7}, {1: 0.4, 2: 0.4}]) == pytest.approx({1: 0.3})
    assert drops([{0: 0.5}, {}, {0: 0.4}]) == {}
    assert drops([{0: 0.5}, {0: 0.5}, {}]) == {}


def test_without_a_drop_the_drop_is_zero() -> None:
    assert drops([{0: 0.5, 1: 0.5}, {0: 0.7, 1: 0.8}]) == {0: 0.0, 1: 0.0}


@pytest.fixture
def three_deep(monkeypatch: pytest.MonkeyPatch, keep: Callable[..., None]) -> Callable[..., None]:
    """Up to three layers; add five runs of a line, each of the same accuracy, one number for each depth."""
    monkeypatch.setattr(figure3, "DEPTHS", range(1, 4))

    def add(line: Line, *by_depth: float) -> None:
        for depth, accuracy in enumerate(by_depth, start=1):
            keep("demo", with_depth(line, depth), *[accuracy] * 5)

    return add


def test_lines_are_compared_at_every_depth_and_by_their_drop(results: Results, three_deep: Callable[..., None]) -> None:
    three_deep((RELEASED, LINEAR), 0.7, 0.8, 0.6)
    three_deep((GCN, RELU), 0.6, 0.8, 0.2)
    three_deep((UNIFORM, LINEAR), 0.7, 0.7, 0.6)
    found = numbers(Scope(datasets=("demo",)), results)
    as_they_are, *others = found["baselines"]["demo"]
    assert as_they_are["first"] == "ConfGCN `released`, without ReLU"
    assert as_they_are["second"] == "Kipf-GCN, with ReLU"
    assert [pair["mean"] for pair in as_they_are["depths"]] == pytest.approx([0.1, 0.0, 0.4])
    assert as_they_are["drop"]["mean"] == pytest.approx((0.8 - 0.6) - (0.8 - 0.2))
    assert (as_they_are["drop"]["pairs"], as_they_are["drop"]["high"]) == (5, pytest.approx(-0.4))
    assert len(others) == len(BASELINES) - 1
    assert all(pair["depths"] == [None] * 3 and pair["drop"] is None for pair in others)
    relu, linear = found["controls"]["demo"]
    assert linear["second"] == "ConfGCN `released`, uniform influence, without ReLU"
    assert [pair["mean"] for pair in linear["depths"]] == pytest.approx([0.0, 0.1, 0.0])
    assert linear["drop"]["mean"] == pytest.approx(0.2 - 0.1)
    assert relu["depths"] == [None] * 3
    lines = {(line["title"], line["activation"]): line["drop"] for line in found["datasets"]["demo"]}
    assert lines[RELEASED.title, LINEAR] == pytest.approx(0.2)
    assert lines[GCN.title, RELU] == pytest.approx(0.6)
    assert lines[PAPER.title, RELU] is None


ABOVE, GRADUAL, CAUSED = range(3)
STEEP, GENTLE = (0.6, 0.7, 0.2), (0.65, 0.71, 0.68)
MORE, SAME, LESS = (0.01, 0.02, 0.03), (-0.01, 0.0, 0.01), (-0.03, -0.02, -0.01)
FEW = (None, 0.02, None)  # of too few seeds to say how steady it is
Difference = tuple[float | None, float, float | None]


def line(
    title: str, means: Sequence[float | None], activation: str = RELU, drop: float | None = None
) -> dict[str, Any]:
    cells = [None if mean is None else {"mean": mean, "std": 0.01, "runs": 10, "diverged": 0} for mean in means]
    return {"title": title, "activation": activation, "cells": cells, "drop": drop}


def difference(found: Difference | None) -> dict[str, Any] | None:
    return None if found is None else dict(zip(("low", "mean", "high"), found, strict=True))


def pair(
    *depths: Difference | None, drop: Difference | None = SAME, one: str = "this", other: str = "that"
) -> dict[str, Any]:
    return {"first": one, "second": other, "depths": list(map(difference, depths)), "drop": difference(drop)}


def numbers_of(*lines: dict[str, Any], baselines: Sequence[Any] = (), controls: Sequence[Any] = ()) -> dict[str, Any]:
    return {
        "depths": [1, 2, 3],
        "datasets": {"citeseer": list(lines)},
        "baselines": {"citeseer": list(baselines)},
        "controls": {"citeseer": list(controls)},
    }


def test_printed_numbers_are_the_measured_ones() -> None:
    deep = line(RELEASED.title, (0.71, 0.7049, 0.65), LINEAR)
    deep["cells"][1] |= {"diverged": 3}
    deep["cells"][2] = {"mean": None, "std": None, "runs": 10, "diverged": 10}
    found = json.loads(json.dumps(numbers_of(line("Kipf-GCN", (0.6, None, 0.2)), deep)))
    lines = ARTEFACTS["figure3"].texts(found)["figure3.md"].decode().splitlines()
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
    ("baselines", "outcome"),
    [
        ([pair(MORE, MORE, MORE), pair(MORE, MORE, MORE)], HOLDS),
        ([pair(MORE, MORE, MORE), pair(MORE, SAME, MORE)], PARTLY),
        ([pair(MORE, MORE, SAME), pair(LESS, LESS, LESS)], FAILS),
        ([pair(FEW, FEW, FEW)], UNKNOWN),
        ([pair(MORE, FEW, MORE), pair(LESS, LESS, LESS)], FAILS),
        ([pair(MORE, None, MORE)], UNKNOWN),
        ([pair(MORE, MORE, MORE), pair(None, None, None, drop=None)], HOLDS),
        ([pair(MORE, MORE, MORE, drop=None)], UNKNOWN),
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
def test_the_claim_to_be_above_needs_every_depth(baselines: list[dict[str, Any]], outcome: str) -> None:
    assert check_claims(numbers_of(baselines=baselines))[ABOVE].outcome == outcome


@pytest.mark.parametrize(
    ("drops", "outcome"),
    [
        ([LESS, LESS], HOLDS),
        ([LESS, SAME], PARTLY),
        ([SAME, MORE], FAILS),
        ([FEW], UNKNOWN),
        ([FEW, LESS], HOLDS),
        ([], UNKNOWN),
    ],
    ids=["less", "one of two", "not less", "few seeds", "one of few seeds", "not run"],
)
def test_the_claims_about_the_drop_need_a_smaller_drop(drops: list[Difference], outcome: str) -> None:
    pairs = [pair(SAME, SAME, SAME, drop=drop) for drop in drops]
    of_rivals, of_controls = check_claims(numbers_of(baselines=pairs)), check_claims(numbers_of(controls=pairs))
    assert (of_rivals[GRADUAL].outcome, of_rivals[CAUSED].outcome) == (outcome, UNKNOWN)
    assert (of_controls[GRADUAL].outcome, of_controls[CAUSED].outcome) == (UNKNOWN, outcome)


def test_depths_are_counted_for_each_pair() -> None:
    baselines = [pair(MORE, SAME, LESS, one="a", other="b"), pair(LESS, LESS, MORE, one="c", other="d")]
    text = check_claims(numbers_of(baselines=baselines))[ABOVE].evidence
    assert "a is above b at 1 and below at 1 of 3 depths on citeseer" in text
    assert "c is above d at 1 and below at 2 of 3 depths on citeseer" in text


def test_the_evidence_names_drops_and_their_differences() -> None:
    lines = [line("Kipf-GCN", STEEP, drop=0.5), line(RELEASED.title, GENTLE, LINEAR, drop=0.03), line("other", GENTLE)]
    found = check_claims(numbers_of(*lines, baselines=[pair(SAME, SAME, SAME, drop=LESS)]))[GRADUAL]
    assert "on citeseer, in points: Kipf-GCN, with ReLU, 50.0; ConfGCN `released`, without ReLU, 3.0." in found.evidence
    assert "Differences of the drops: this minus that on citeseer, −2.0 [−3.0, −1.0]." in found.evidence


def test_the_evidence_for_the_cause_names_the_controls_only() -> None:
    found = check_claims(numbers_of(line("Kipf-GCN", STEEP, drop=0.5), controls=[pair(SAME, SAME, SAME, drop=FEW)]))
    assert found[CAUSED].evidence == "Differences of the drops: this minus that on citeseer, +2.0."
    assert "Differences of the drops" not in found[GRADUAL].evidence


def test_a_panel_for_each_activation() -> None:
    pytest.importorskip("matplotlib")
    figure = draw(
        numbers_of(
            line("Kipf-GCN", STEEP), line(RELEASED.title, GENTLE), line(RELEASED.title, (0.6, None, 0.5), LINEAR)
        )
    )
    assert figure is not None
    assert [axis.get_title() for axis in figure.axes] == ["citeseer, with ReLU", "citeseer, without ReLU"]
    assert [len(axis.containers) for axis in figure.axes] == [2, 1]
    (gap,) = figure.axes[1].containers
    assert gap[0].get_ydata().tolist() == [60.0, 50.0]


def test_without_runs_there_is_no_picture_and_no_table() -> None:
    nothing = numbers_of(line("Kipf-GCN", (None, None, None)))
    assert draw(nothing) is None
    assert tables(nothing) == {}
    assert [(check.outcome, check.evidence) for check in check_claims(nothing)] == [(UNKNOWN, "")] * 3
