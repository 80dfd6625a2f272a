"""A progress bar over epochs, on stderr."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from confgcn.training.callbacks import Callback
from confgcn.training.loop import TrainingLoop


class ProgressBar(Callback):
    """One bar per run, with the best validation accuracy so far."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.run = 0
        self.progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[best]}", markup=False),
            console=Console(stderr=True),
        )

    def on_setup(self, loop: TrainingLoop) -> None:
        self.run += not loop.title
        self.progress.start()
        title = f"{self.title}, {loop.title or f'run {self.run}'}"
        self.task = self.progress.add_task(title, total=None, best="preparing")

    def on_start(self, loop: TrainingLoop) -> None:
        self.progress.update(self.task, total=loop.recipe.epochs, completed=len(loop.history), best="")

    def on_epoch(self, loop: TrainingLoop) -> None:
        best = loop.best.get("validation_accuracy") if loop.best else None
        shown = "" if best is None else f"best validation {best:.1%}"
        self.progress.update(self.task, completed=len(loop.history), best=shown)

    def on_end(self, loop: TrainingLoop) -> None:
        self.progress.update(self.task, total=max(len(loop.history), 1), completed=max(len(loop.history), 1))

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self.progress.tasks:
            self.progress.stop()
