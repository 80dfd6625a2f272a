"""Records of runs that nobody ran, and variants that take no time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from confgcn.experiments.paper.jobs import Job, Variant
from confgcn.experiments.paper.measurements import Measurements
from confgcn.experiments.paper.results import Results, RunRecord

MakeRecord = Callable[..., RunRecord]


@pytest.fixture
def record() -> MakeRecord:
    """The record of a job with these measurements; without any its training diverged."""

    def make(job: Job, **measured: Any) -> RunRecord:
        return RunRecord(
            run=f"{job.dataset}/{job.settings_key}/{job.seed}",
            settings=job.settings_key,
            graph="0" * 16,
            environment="e" * 16,
            date="2026-11-16",
            dataset=job.dataset,
            method=job.variant.method,
            preset=job.variant.preset,
            changes=job.variant.changes_text,
            seed=job.seed,
            outcome="finished" if measured else "diverged",
            measured=Measurements(**measured),
        )

    return make


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """An empty folder of results."""
    (tmp_path / "results").mkdir()
    return Results(tmp_path / "results")


@pytest.fixture
def keep(results: Results, record: MakeRecord) -> Callable[..., None]:
    """Add runs of a variant on a data set to the results, one for each test accuracy; None: it diverged."""

    def add(dataset: str, variant: Variant, *accuracies: float | None, **measured: Any) -> None:
        for seed, accuracy in enumerate(accuracies):
            found = {} if accuracy is None else {"test_accuracy": accuracy, **measured}
            results.add(record(Job(dataset, variant, seed), **found), {"e" * 16: {}})

    return add
