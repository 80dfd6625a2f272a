"""Which epoch's weights are kept and when training ends: small rules over the looks at the validation set, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Record = dict[str, Any]  # one epoch of the history
History = Sequence[Record]


def _better_accuracy(looks: History) -> bool:
    *before, now = _accuracies(looks)
    return now > max(before)


def _better_loss(looks: History) -> bool:
    *before, now = _losses(looks)
    return now < min(before)


def _best_of_both(looks: History) -> bool:
    """Neither accuracy nor loss was ever better (Velickovic and others' code for GAT)."""
    (*accuracies, accuracy), (*losses, loss) = _accuracies(looks), _losses(looks)
    return accuracy >= max(accuracies) and loss <= min(losses)


def _last(looks: History) -> bool:
    return True


# Is the last of these looks, two or more, at the weights to keep so far? Where it is strict, the first of equals stays.
SELECTION: dict[str, Callable[[History], bool]] = {
    "best_validation_accuracy": _better_accuracy,
    "best_validation_loss": _better_loss,
    "best_of_both": _best_of_both,
    "last": _last,
}


def _never(looks: History, patience: int) -> bool:
    return False


def _no_improvement(looks: History, patience: int) -> bool:
    """The lowest validation loss is ``patience`` or more looks old."""
    losses = _losses(looks)
    return len(losses) - 1 - losses.index(min(losses)) >= patience


def _neither_improves(looks: History, patience: int) -> bool:
    """``patience`` looks in a row were below the best accuracy and above the lowest loss so far (code of GAT)."""
    losses, accuracies = _losses(looks), _accuracies(looks)
    recent = _last_place(losses, min(losses)), _last_place(accuracies, max(accuracies))
    return len(looks) - 1 - max(recent) >= patience


def _rising_loss(looks: History, patience: int) -> bool:
    """The validation loss is above the mean of the ``patience`` looks before it (Kipf and Welling's code)."""
    losses = _losses(looks)
    before = losses[-patience - 1 : -1]
    return len(before) == patience and losses[-1] > sum(before) / patience


STOPPING: dict[str, Callable[[History, int], bool]] = {
    "never": _never,
    "no_improvement": _no_improvement,
    "neither_improves": _neither_improves,
    "rising_loss": _rising_loss,
}


def needs_validation(select: str, stop: str) -> bool:
    """Does either rule look at the validation set?"""
    return select != "last" or stop != "never"


def _losses(looks: History) -> list[float]:
    return [record["validation_loss"] for record in looks]


def _accuracies(looks: History) -> list[float]:
    return [record["validation_accuracy"] for record in looks]


def _last_place(values: list[float], value: float) -> int:
    return len(values) - 1 - values[::-1].index(value)
