"""The progress bar and the notices of a reproduction."""

from __future__ import annotations

import pytest

from reproduction.jobs import Job, Variant
from reproduction.measurements import Measurements
from reproduction.progress import ProgressBar
from reproduction.tasks import Diverged, Failure

JOB = Job("demo", Variant("Kipf-GCN", "gcn"), 3)


def test_the_plan_and_failed_or_diverged_runs_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    bar = ProgressBar()
    bar.on_plan(total=12, finished=9)
    bar.on_run(JOB, Measurements(test_accuracy=0.5))
    bar.on_run(JOB, Diverged())
    bar.on_run(JOB, Failure("no space [left] on device", 4))
    bar.close()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "note: runs needed: 12, already recorded: 9" in captured.err
    assert "note: demo gcn default seed 3: training diverged" in captured.err
    assert "note: demo gcn default seed 3: failed, no space [left] on device" in captured.err
    assert "3/3" in captured.err


def test_notices_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    ProgressBar().on_notice("computing figure1")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "note: computing figure1\n")


def test_without_missing_runs_there_is_no_bar(capsys: pytest.CaptureFixture[str]) -> None:
    bar = ProgressBar()
    bar.on_plan(total=12, finished=12)
    bar.close()
    assert capsys.readouterr().err.strip() == "note: runs needed: 12, already recorded: 12"


def test_a_bar_that_never_started_can_be_closed(capsys: pytest.CaptureFixture[str]) -> None:
    ProgressBar().close()
    assert capsys.readouterr().err.strip() == ""
