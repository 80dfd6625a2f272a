"""Means over runs, and paired differences with a bootstrap or a t interval."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np
from scipy.stats import t as student_t

from confgcn.evaluation.groups import QUARTILES
from reproduction.results import RunRecord

DRAWS = 10_000
LEVEL = 0.95
FEWEST_PAIRS = 5  # with fewer, resampling yields little more than the smallest and the largest difference
BOOTSTRAP_SEED = 0

Cell = dict[str, Any]
Difference = Mapping[str, Any] | None


def accuracy_cell(runs: Mapping[int, RunRecord]) -> Cell | None:
    """Accuracy over the runs that did not diverge, with the number of runs and of diverged ones; None without runs."""
    if not runs:
        return None
    values = list(accuracies(runs).values())
    return {**mean_and_std(values), "runs": len(runs), "diverged": len(runs) - len(values)}


def accuracies(runs: Mapping[int, RunRecord]) -> dict[int, float]:
    """Test accuracy by seed, of the runs that did not diverge."""
    return values_by_seed(runs, "test_accuracy")


def values_by_seed(runs: Mapping[int, RunRecord], name: str) -> dict[int, Any]:
    """A measurement by seed, of the runs that have it."""
    values = {seed: record.measured.get(name) for seed, record in runs.items()}
    return {seed: value for seed, value in values.items() if value is not None}


def mean_and_std(values: Sequence[float]) -> dict[str, float | None]:
    """Mean and sample standard deviation; None where there are too few values."""
    return {
        "mean": statistics.fmean(values) if values else None,
        "std": statistics.stdev(values) if len(values) > 1 else None,
    }


def mean_of(runs: Mapping[int, RunRecord], name: str) -> float | None:
    """The mean of a measurement over the runs that have it."""
    values = values_by_seed(runs, name).values()
    return statistics.fmean(values) if values else None


def group_cells(runs: Mapping[int, RunRecord], name: str) -> list[dict[str, float | None]]:
    """Mean and standard deviation of a measurement in each quartile group."""
    return [mean_and_std(group) for group in zip(*values_by_seed(runs, name).values(), strict=True)]


def paired_difference(runs: Mapping[int, RunRecord], others: Mapping[int, RunRecord]) -> Cell | None:
    """The paired difference of test accuracies; see :func:`paired`."""
    return paired(accuracies(runs), accuracies(others))


def paired_groups(runs: Mapping[int, RunRecord], others: Mapping[int, RunRecord], name: str) -> list[Cell | None]:
    """The paired difference of a measurement in each quartile group; see :func:`paired`."""
    sides = [values_by_seed(side, name) for side in (runs, others)]
    return [paired(*({seed: value[g] for seed, value in side.items()} for side in sides)) for g in range(QUARTILES)]


def paired(first: Mapping[int, float], second: Mapping[int, float]) -> Cell | None:
    """Mean of (first - second) over the seeds that both have, None where they share none.

    ``low`` and ``high`` bound its confidence interval; they are None with fewer than ``FEWEST_PAIRS`` pairs.
    """
    differences = np.array([first[seed] - second[seed] for seed in sorted(first.keys() & second.keys())])
    if not len(differences):
        return None
    low, high = bootstrap_interval(differences) if len(differences) >= FEWEST_PAIRS else (None, None)
    return {"mean": float(differences.mean()), "low": low, "high": high, "pairs": len(differences)}


def paired_t(first: Mapping[int, float], second: Mapping[int, float]) -> Cell | None:
    """The same with the interval of Student's t distribution; no interval with fewer than two pairs."""
    differences = np.array([first[seed] - second[seed] for seed in sorted(first.keys() & second.keys())])
    if not len(differences):
        return None
    mean, low, high = float(differences.mean()), None, None
    if len(differences) > 1:
        error = float(differences.std(ddof=1)) / len(differences) ** 0.5
        half = float(student_t.ppf((1 + LEVEL) / 2, len(differences) - 1)) * error
        low, high = mean - half, mean + half
    return {"mean": mean, "low": low, "high": high, "pairs": len(differences)}


def bootstrap_interval(values: np.ndarray[Any, Any]) -> tuple[float, float]:
    """Percentile interval of the mean over resampled runs, with a fixed random seed."""
    drawn = np.random.RandomState(BOOTSTRAP_SEED).randint(len(values), size=(DRAWS, len(values)))
    tail = 100 * (1 - LEVEL) / 2
    low, high = np.percentile(values[drawn].mean(axis=1), [tail, 100 - tail])
    return float(low), float(high)


def has_interval(difference: Difference) -> TypeGuard[Mapping[str, Any]]:
    """Does a difference have enough pairs for an interval?"""
    return difference is not None and difference["low"] is not None


def is_above(difference: Difference) -> bool:
    """Does the interval of a difference lie above zero?"""
    return has_interval(difference) and bool(difference["low"] > 0)


def is_below(difference: Difference) -> bool:
    """Does the interval of a difference lie below zero?"""
    return has_interval(difference) and bool(difference["high"] < 0)


def all_satisfy(differences: Sequence[Difference], condition: Callable[[Difference], bool]) -> bool | None:
    """Do all differences satisfy a condition? None if all with an interval do, but some have no interval."""
    known = [condition(difference) for difference in differences if has_interval(difference)]
    if not all(known):
        return False
    return True if len(known) == len(differences) else None
