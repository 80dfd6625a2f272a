"""Everything optional in a training is a callback; the base class does nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from confgcn.training.loop import TrainingLoop


class Callback:
    """Methods are called in this order; override those you need."""

    def on_setup(self, loop: TrainingLoop) -> None:
        """Before the method's setup, which can take long."""

    def on_start(self, loop: TrainingLoop) -> None:
        """Before the first epoch, or the first after a resume."""

    def on_epoch(self, loop: TrainingLoop) -> None:
        """After each epoch; ``loop.history[-1]`` is its record."""

    def on_end(self, loop: TrainingLoop) -> None:
        """After the last epoch, with the selected weights restored."""
