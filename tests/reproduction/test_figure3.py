"""Figure 3's lines: one cell per depth, with and without ReLU, and lines compared seed by seed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from reproduction import figure3
from reproduction.figure3 import (
    CONTROLS,
    DEPTHS,
    LINEAR,
    LINES,
    RELU,
    RIVALS,
    Line,
    deep,
    falls,
    jobs,
    numbers,
)
from reproduction.jobs import Job
from reproduction.results import Results
from reproduction.scope import Scope
from reproduction.table2 import GCN, PAPER, RELEASED, UNIFORM


def test_only_the_depth_and_the_activation_are_changed() -> None:
    for line in LINES:
        for kind, activation in ((RELU, "relu"), (LINEAR, "identity")):
            plain, changed = line.settings("citeseer"), deep((line, kind), 7).settings("citeseer")
            assert changed.model == {**plain.model, "num_layers": 7, "activation": activation}
            assert (changed.recipe, changed.data) == (plain.recipe, plain.data)


def test_two_layers_are_runs_of_table_2() -> None:
    keys = {job.settings_key for job in jobs(Scope(seeds=1))}
    for line in LINES:
        assert Job("citeseer", line, 0).settings_key in keys


def test_every_line_that_is_compared_is_run() -> None:
    wanted = set(jobs(Scope(seeds=1)))
    lines = {line for pair in (*RIVALS, *CONTROLS) for line in pair}
    assert {Job("citeseer", deep(line, depth), 0) for line in lines for depth in DEPTHS} <= wanted


def test_a_rival_is_kipf_gcn_and_a_control_differs_in_the_influence_alone() -> None:
    assert {other[0] for _, other in RIVALS} == {GCN}
    assert {one[0] for one, _ in RIVALS} == {RELEASED, PAPER}
    as_they_are = (RELEASED, LINEAR), (GCN, RELU)
    assert [pair for pair in RIVALS if pair[0][1] != pair[1][1]] == [as_they_are]
    for one, other in CONTROLS:
        own, uniform = deep(one, 4).settings("citeseer"), deep(other, 4).settings("citeseer")
        assert uniform.model == {**own.model, "influence": "uniform"}
    assert {one[1] for one, _ in CONTROLS} == {RELU, LINEAR}


def test_a_cell_stands_at_its_depth(results: Results, keep: Callable[..., None]) -> None:
    keep("citeseer", deep((GCN, LINEAR), 5), 0.6, None)
    found = numbers(Scope(), results)
    assert found["depths"] == list(DEPTHS) == list(range(1, 11))
    lines = {(line["title"], line["activation"]): line for line in found["datasets"]["citeseer"]}
    assert len(lines) == 2 * len(LINES)
    line = lines[GCN.title, LINEAR]
    assert [depth for depth, cell in zip(found["depths"], line["cells"], strict=True) if cell] == [5]
    assert line["cells"][4] == {"mean": 0.6, "std": None, "runs": 2, "diverged": 1}
    assert line["fall"] is None
    assert not any(lines[GCN.title, RELU]["cells"])


def test_a_fall_is_from_the_depth_that_is_best_on_average() -> None:
    # 0.8 is the best of seed 0, but not of the mean
    assert falls([{0: 0.8, 1: 0.6}, {0: 0.7, 1: 0.9}, {0: 0.1, 1: 0.2}]) == pytest.approx({0: 0.6, 1: 0.7})


def test_a_fall_is_of_the_seeds_that_have_both_ends() -> None:
    assert falls([{0: 0.5}, {0: 0.7, 1: 0.7}, {1: 0.4, 2: 0.4}]) == pytest.approx({1: 0.3})
    assert falls([{0: 0.5}, {}, {0: 0.4}]) == {}
    assert falls([{0: 0.5}, {0: 0.5}, {}]) == {}


def test_what_does_not_fall_falls_by_nothing() -> None:
    assert falls([{0: 0.5, 1: 0.5}, {0: 0.7, 1: 0.8}]) == {0: 0.0, 1: 0.0}


@pytest.fixture
def three_deep(monkeypatch: pytest.MonkeyPatch, keep: Callable[..., None]) -> Callable[..., None]:
    """Up to three layers; add five runs of a line, each of the same accuracy, one number for each depth."""
    monkeypatch.setattr(figure3, "DEPTHS", range(1, 4))

    def add(line: Line, *by_depth: float) -> None:
        for depth, accuracy in enumerate(by_depth, start=1):
            keep("demo", deep(line, depth), *[accuracy] * 5)

    return add


def test_lines_are_compared_at_every_depth_and_by_how_far_they_fall(
    results: Results, three_deep: Callable[..., None]
) -> None:
    three_deep((RELEASED, LINEAR), 0.7, 0.8, 0.6)
    three_deep((GCN, RELU), 0.6, 0.8, 0.2)
    three_deep((UNIFORM, LINEAR), 0.7, 0.7, 0.6)
    found = numbers(Scope(datasets=("demo",)), results)
    as_they_are, *others = found["rivals"]["demo"]
    assert as_they_are["one"] == "ConfGCN `released`, without ReLU"
    assert as_they_are["other"] == "Kipf-GCN, with ReLU"
    assert [pair["mean"] for pair in as_they_are["depths"]] == pytest.approx([0.1, 0.0, 0.4])
    assert as_they_are["fall"]["mean"] == pytest.approx((0.8 - 0.6) - (0.8 - 0.2))
    assert (as_they_are["fall"]["pairs"], as_they_are["fall"]["high"]) == (5, pytest.approx(-0.4))
    assert len(others) == len(RIVALS) - 1
    assert all(pair["depths"] == [None] * 3 and pair["fall"] is None for pair in others)
    relu, linear = found["controls"]["demo"]
    assert linear["other"] == "ConfGCN `released`, uniform influence, without ReLU"
    assert [pair["mean"] for pair in linear["depths"]] == pytest.approx([0.0, 0.1, 0.0])
    assert linear["fall"]["mean"] == pytest.approx(0.2 - 0.1)
    assert relu["depths"] == [None] * 3
    lines = {(line["title"], line["activation"]): line["fall"] for line in found["datasets"]["demo"]}
    assert lines[RELEASED.title, LINEAR] == pytest.approx(0.2)
    assert lines[GCN.title, RELU] == pytest.approx(0.6)
    assert lines[PAPER.title, RELU] is None
