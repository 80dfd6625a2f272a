"""A progress bar over the runs of a reproduction, on stderr."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from confgcn.cli.console import notice, one_line
from reproduction.jobs import Job
from reproduction.reproduce import Observer
from reproduction.tasks import Diverged, Failure, Outcome

SECONDS_FOR_ESTIMATE = 3600.0  # of the past, for estimating the remaining time; a run may take minutes


class ProgressBar(Observer):
    """One bar over all runs, with elapsed and remaining time; failed and diverged runs are reported at once."""

    def __init__(self) -> None:
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("remaining"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            speed_estimate_period=SECONDS_FOR_ESTIMATE,
        )

    def on_notice(self, text: str) -> None:
        notice(text)

    def on_plan(self, total: int, finished: int) -> None:
        notice(f"runs needed: {total}, already recorded: {finished}")
        if total > finished:
            self.progress.start()
            self.task = self.progress.add_task("runs", total=total - finished)

    def on_run(self, job: Job, outcome: Outcome) -> None:
        if isinstance(outcome, Diverged | Failure):
            reason = f"failed, {outcome.reason}" if isinstance(outcome, Failure) else "training diverged"
            self.progress.console.print(one_line(f"note: {job}: {reason}"), markup=False, soft_wrap=True)
        self.progress.update(self.task, advance=1, description=str(job))

    def close(self) -> None:
        """Restore the terminal."""
        if self.progress.tasks:
            self.progress.stop()
