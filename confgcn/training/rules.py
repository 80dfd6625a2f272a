"""Which epoch's weights are kept and when training ends: small rules over the history, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Record = dict[str, Any]  # one epoch of the history


def _better_accuracy(record: Record, best: Record) -> bool:
    return bool(record["validation_accuracy"] > best["validation_accuracy"])


def _better_loss(record: Record, best: Record) -> bool:
    return bool(record["validation_loss"] < best["validation_loss"])


def _last(record: Record, best: Record) -> bool:
    return True


# Is this epoch better than the best so far? Strictly: of equal epochs the first is kept.
SELECTION: dict[str, Callable[[Record, Record], bool]] = {
    "best_validation_accuracy": _better_accuracy,
    "best_validation_loss": _better_loss,
    "last": _last,
}


def _never(history: Sequence[Record], patience: int) -> bool:
    return False


def _no_improvement(history: Sequence[Record], patience: int) -> bool:
    """The lowest validation loss is ``patience`` or more epochs old."""
    losses = [record["validation_loss"] for record in history]
    return len(losses) - 1 - losses.index(min(losses)) >= patience


def _rising_loss(history: Sequence[Record], patience: int) -> bool:
    """The validation loss is above the mean of the ``patience`` epochs before it (Kipf and Welling's code)."""
    losses = [record["validation_loss"] for record in history]
    before = losses[-patience - 1 : -1]
    return len(before) == patience and losses[-1] > sum(before) / patience


STOPPING: dict[str, Callable[[Sequence[Record], int], bool]] = {
    "never": _never,
    "no_improvement": _no_improvement,
    "rising_loss": _rising_loss,
}


def needs_validation(select: str, stop: str) -> bool:
    """Does either rule look at the validation set?"""
    return select != "last" or stop != "never"
