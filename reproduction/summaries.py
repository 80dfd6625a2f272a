"""Means over runs, and paired differences with a bootstrap interval."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from confgcn.evaluation.groups import QUARTILES
from reproduction.results import RunRecord

DRAWS = 10_000
LEVEL = 0.95
FEWEST_PAIRS = 5  # of fewer, resampling gives hardly more than the smallest and the largest
BOOTSTRAP_SEED = 0

Cell = dict[str, Any]


def accuracy_cell(runs: Mapping[int, RunRecord]) -> Cell | None:
    """Accuracy over the runs that ended, how many there were, and how many diverged; None where there is no run."""
    if not runs:
        return None
    values = list(accuracies(runs).values())
    return {**mean_and_std(values), "runs": len(runs), "diverged": len(runs) - len(values)}


def accuracies(runs: Mapping[int, RunRecord]) -> dict[int, float]:
    """Test accuracy by seed, of the runs that did not diverge."""
    found = {seed: record.measured.get("test_accuracy") for seed, record in runs.items()}
    return {seed: value for seed, value in found.items() if value is not None}


def mean_and_std(values: Sequence[float]) -> dict[str, float | None]:
    """The mean, and the standard deviation of a sample, None where it has none."""
    return {
        "mean": statistics.fmean(values) if values else None,
        "std": statistics.stdev(values) if len(values) > 1 else None,
    }


def mean_of(runs: Mapping[int, RunRecord], name: str) -> float | None:
    """The mean of a measurement over the runs that have it."""
    values = [record.measured.get(name) for record in runs.values()]
    present = [value for value in values if value is not None]
    return statistics.fmean(present) if present else None


def quarter_cells(runs: Mapping[int, RunRecord], name: str) -> list[dict[str, float | None]]:
    """Mean and standard deviation of a measurement by quarters."""
    values = [record.measured.get(name) for record in runs.values()]
    return [mean_and_std(quarter) for quarter in zip(*(value for value in values if value is not None), strict=True)]


def paired_difference(runs: Mapping[int, RunRecord], others: Mapping[int, RunRecord]) -> Cell | None:
    """Of the test accuracies; see :func:`paired`."""
    return paired(accuracies(runs), accuracies(others))


def paired_quarters(runs: Mapping[int, RunRecord], others: Mapping[int, RunRecord], name: str) -> list[Cell | None]:
    """Of a measurement, quarter by quarter; see :func:`paired`."""
    sides: list[dict[int, Any]] = [
        {seed: record.measured.get(name) for seed, record in side.items() if record.measured.get(name)}
        for side in (runs, others)
    ]
    return [paired(*({seed: value[q] for seed, value in side.items()} for side in sides)) for q in range(QUARTILES)]


def paired(mine: Mapping[int, float], theirs: Mapping[int, float]) -> Cell | None:
    """Mean of (mine - theirs) over the seeds that both have, None where there is none.

    ``low`` and ``high`` are None where there are too few pairs to say how steady it is.
    """
    differences = np.array([mine[seed] - theirs[seed] for seed in sorted(mine.keys() & theirs.keys())])
    if not len(differences):
        return None
    low, high = bootstrap_interval(differences) if len(differences) >= FEWEST_PAIRS else (None, None)
    return {"mean": float(differences.mean()), "low": low, "high": high, "pairs": len(differences)}


def bootstrap_interval(values: np.ndarray[Any, Any]) -> tuple[float, float]:
    """Percentile interval of the mean over resampled runs, always the same for the same values."""
    drawn = np.random.RandomState(BOOTSTRAP_SEED).randint(len(values), size=(DRAWS, len(values)))
    tail = 100 * (1 - LEVEL) / 2
    low, high = np.percentile(values[drawn].mean(axis=1), [tail, 100 - tail])
    return float(low), float(high)
