"""Callbacks of the command line during training: a progress bar on stderr, and the use of memory."""

from __future__ import annotations

import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from confgcn.io.allocator import keep_freed_memory
from confgcn.training.callbacks import Callback
from confgcn.training.loop import TrainingLoop

SECONDS_BETWEEN = 0.1  # two drawings


class ProgressBar(Callback):
    """One bar per run, with the best validation accuracy so far. The trainings inside a run, such as the candidates of
    a search, have a title each and share a line.

    It is drawn between epochs and not by a thread, for which memory may be missing.
    """

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
            auto_refresh=False,
        )
        self.last_drawn = 0.0
        self.task, self.is_inside_run = TaskID(0), False

    def on_setup(self, loop: TrainingLoop) -> None:
        self.run += not loop.title
        self.progress.start()
        if self.is_inside_run:
            self.progress.remove_task(self.task)
        self.is_inside_run = bool(loop.title)
        title = f"{self.title}, {loop.title or f'run {self.run}'}"
        self.task = self.progress.add_task(title, total=None, best="preparing")
        self.progress.refresh()

    def on_start(self, loop: TrainingLoop) -> None:
        self.progress.update(self.task, total=loop.recipe.epochs, completed=len(loop.history), best="")

    def on_epoch(self, loop: TrainingLoop) -> None:
        best = loop.best.get("validation_accuracy") if loop.best else None
        shown = "" if best is None else f"best validation {best:.1%}"
        self.progress.update(self.task, completed=len(loop.history), best=shown, refresh=self._is_due())

    def on_end(self, loop: TrainingLoop) -> None:
        self.progress.update(self.task, total=max(len(loop.history), 1), completed=max(len(loop.history), 1))

    def _is_due(self) -> bool:
        now = time.monotonic()
        if now - self.last_drawn < SECONDS_BETWEEN:
            return False
        self.last_drawn = now
        return True

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self.progress.tasks:
            self.progress.stop()


class KeepFreedMemory(Callback):
    """Changes how this process uses memory when training starts, not while the graph is read."""

    def on_start(self, loop: TrainingLoop) -> None:
        keep_freed_memory()
