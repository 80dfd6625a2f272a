"""Means, deviations and paired differences of a few runs, computed by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from reproduction.jobs import Job, Variant
from reproduction.results import Results, RunRecord
from reproduction.summaries import (
    FEWEST_PAIRS,
    accuracy_cell,
    all_satisfy,
    bootstrap_interval,
    group_cells,
    has_interval,
    is_above,
    is_below,
    mean_of,
    paired,
    paired_difference,
    paired_groups,
    paired_t,
)

MakeRecord = Callable[..., RunRecord]
Runs = dict[int, RunRecord]

GCN = Variant("Kipf-GCN", "gcn")


@pytest.fixture
def runs(record: MakeRecord) -> Callable[[dict[int, float | None]], Runs]:
    """Runs of these accuracies by seed; None: training diverged."""

    def make(accuracies: dict[int, float | None]) -> Runs:
        return {
            seed: record(Job("demo", GCN, seed), **({} if value is None else {"test_accuracy": value}))
            for seed, value in accuracies.items()
        }

    return make


def test_mean_and_deviation_exclude_diverged_runs(runs: Callable[..., Runs]) -> None:
    cell = accuracy_cell(runs({0: 0.5, 1: None, 2: 0.7, 3: 0.9}))
    assert cell == {"mean": pytest.approx(0.7), "std": pytest.approx(0.2), "runs": 4, "diverged": 1}


def test_a_single_run_has_no_deviation_and_none_has_no_cell(runs: Callable[..., Runs]) -> None:
    assert accuracy_cell(runs({4: 0.5})) == {"mean": 0.5, "std": None, "runs": 1, "diverged": 0}
    assert accuracy_cell({}) is None


def test_where_all_diverged_there_is_no_mean(runs: Callable[..., Runs]) -> None:
    assert accuracy_cell(runs({0: None, 1: None})) == {"mean": None, "std": None, "runs": 2, "diverged": 2}


def test_a_difference_is_over_the_seeds_that_both_have(runs: Callable[..., Runs]) -> None:
    mine = runs({0: 0.8, 1: 0.6, 2: None, 3: 0.9, 4: 0.5, 5: 0.7, 9: 0.1})
    others = runs({5: 0.6, 0: 0.7, 1: 0.7, 2: 0.5, 3: 0.6, 4: 0.5, 8: 0.9})
    difference = paired_difference(mine, others)
    assert difference is not None
    assert (difference["mean"], difference["pairs"]) == (pytest.approx((0.1 - 0.1 + 0.3 + 0.0 + 0.1) / 5), 5)
    assert difference["low"] < difference["mean"] < difference["high"]
    reverse = paired_difference(others, mine)
    assert reverse is not None
    assert reverse["mean"] == pytest.approx(-difference["mean"])


@pytest.mark.parametrize(("pairs", "is_given"), [(1, False), (FEWEST_PAIRS - 1, False), (FEWEST_PAIRS, True)])
def test_few_pairs_have_no_interval(pairs: int, is_given: bool) -> None:
    found = paired(dict.fromkeys(range(pairs), 0.75), dict.fromkeys(range(pairs + 3), 0.5))
    bound = 0.25 if is_given else None
    assert found == {"mean": 0.25, "low": bound, "high": bound, "pairs": pairs}


def test_groups_are_compared_one_by_one(record: MakeRecord) -> None:
    mine = {0: (0.5, 0.5, 0.5, 0.9), 1: None, 2: (0.5, 0.7, 0.5, 0.5), 3: (1.0, 1.0, 1.0, 1.0)}
    theirs = {0: (0.4, 0.5, 0.6, 0.5), 1: (0.0, 0.0, 0.0, 0.0), 2: (0.2, 0.5, 0.6, 0.5)}
    sides = [
        {seed: record(Job("demo", GCN, seed), test_accuracy=0.5, accuracy_by_degree=q) for seed, q in side.items()}
        for side in (mine, theirs)
    ]
    found = paired_groups(*sides, "accuracy_by_degree")
    assert [cell and cell["mean"] for cell in found] == pytest.approx([0.2, 0.1, -0.1, 0.2])
    assert [cell and cell["pairs"] for cell in found] == [2] * 4
    assert paired_groups(*sides, "accuracy_by_entropy") == [None] * 4


def test_without_a_common_seed_there_is_no_difference(runs: Callable[..., Runs]) -> None:
    assert paired_difference(runs({0: 0.5}), runs({1: 0.5})) is None
    assert paired_difference(runs({0: 0.5}), runs({0: None})) is None


def test_the_interval_is_that_of_the_mean_of_resampled_runs() -> None:
    values = np.array([0.0, 1.0])  # drawn twice: means 0, 1/2 and 1 with probability 1/4, 1/2 and 1/4
    assert bootstrap_interval(values) == (0.0, 1.0)
    many = np.random.default_rng(0).normal(size=400)
    low, high = bootstrap_interval(many)
    spread = many.std() / np.sqrt(len(many))
    assert low == pytest.approx(many.mean() - 1.96 * spread, abs=0.1 * spread)
    assert high == pytest.approx(many.mean() + 1.96 * spread, abs=0.1 * spread)


def test_the_interval_is_the_same_every_time_and_holds_the_mean() -> None:
    for seed in range(5):
        values = np.random.default_rng(seed).normal(size=10)
        low, high = bootstrap_interval(values)
        assert (low, high) == bootstrap_interval(values.copy())
        assert low < values.mean() < high


def test_equal_values_leave_an_interval_of_no_width() -> None:
    assert bootstrap_interval(np.full(5, 0.25)) == (0.25, 0.25)
    assert bootstrap_interval(np.array([0.25])) == (0.25, 0.25)


def test_a_measurement_is_averaged_over_the_runs_that_have_it(record: MakeRecord) -> None:
    jobs = [Job("demo", GCN, seed) for seed in range(3)]
    runs = {0: record(jobs[0], neighbours=2.0), 1: record(jobs[1]), 2: record(jobs[2], neighbours=5.0)}
    assert mean_of(runs, "neighbours") == 3.5
    assert mean_of(runs, "mu_accuracy") is None


def test_groups_are_averaged_one_by_one(record: MakeRecord) -> None:
    groups = [(0.1, 0.2, 0.3, 0.4), None, (0.3, 0.2, 0.5, 0.4)]
    runs = {s: record(Job("demo", GCN, s), accuracy_by_entropy=value) for s, value in enumerate(groups)}
    cells = group_cells(runs, "accuracy_by_entropy")
    assert [cell["mean"] for cell in cells] == pytest.approx([0.2, 0.2, 0.4, 0.4])
    assert [cell["std"] for cell in cells] == pytest.approx([0.02**0.5, 0.0, 0.02**0.5, 0.0])


def test_runs_of_a_variant_are_those_of_every_seed(results: Results, keep: Callable[..., None]) -> None:
    keep("demo", GCN, 0.1, None, 0.3)
    keep("demo", GCN.changed("deep", num_layers=3), 0.9)
    found = results.runs("demo", GCN)
    assert [run.measured.test_accuracy for run in found.values()] == [0.1, None, 0.3]


@pytest.mark.parametrize(
    ("low", "high", "above", "below"),
    [
        (0.1, 0.2, True, False),
        (-0.2, -0.1, False, True),
        (-0.1, 0.2, False, False),
        (0.0, 0.2, False, False),
        (-0.2, 0.0, False, False),
        (None, None, False, False),
    ],
    ids=["above", "below", "on both sides", "zero at its low end", "zero at its high end", "of few pairs"],
)
def test_a_difference_is_above_or_below_if_its_interval_excludes_zero(
    low: float | None, high: float | None, above: bool, below: bool
) -> None:
    difference = {"mean": 0.1, "low": low, "high": high}
    assert (is_above(difference), is_below(difference)) == (above, below)


def test_no_difference_is_neither_above_nor_below() -> None:
    assert (is_above(None), is_below(None)) == (False, False)


def test_an_interval_needs_enough_pairs() -> None:
    found = [{"mean": 0.1, "low": 0.0, "high": 0.2}, {"mean": 0.1, "low": None, "high": None}, None]
    assert [has_interval(difference) for difference in found] == [True, False, False]


@pytest.mark.parametrize(
    ("lows", "outcome"),
    [((0.1, 0.2), True), ((0.1, -0.1), False), ((0.1, None), None), ((-0.1, None), False), ((None, None), None)],
)
def test_one_failing_difference_decides_even_if_others_have_no_interval(
    lows: tuple[float | None, ...], outcome: bool | None
) -> None:
    differences = [{"mean": 0.0, "low": low, "high": None if low is None else 0.3} for low in lows]
    assert all_satisfy(differences, is_above) is outcome


def test_the_t_interval_of_paired_differences() -> None:
    found = paired_t({0: 0.5, 1: 0.7, 2: 0.9, 5: 0.0}, {0: 0.4, 1: 0.5, 2: 0.6, 7: 1.0})
    assert found is not None
    assert (found["mean"], found["pairs"]) == (pytest.approx(0.2), 3)
    assert found["high"] - 0.2 == pytest.approx(0.2 - found["low"]) == pytest.approx(4.302653 * 0.1 / 3**0.5)
    assert paired_t({0: 0.5}, {0: 0.25}) == {"mean": 0.25, "low": None, "high": None, "pairs": 1}
    assert paired_t({0: 0.5}, {1: 0.25}) is None
