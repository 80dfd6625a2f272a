"""Which epoch's weights are kept and when training ends: rules that see every validation check once.

A validation check is the record of an epoch after which the validation set was evaluated. A rule keeps what it needs
of the earlier checks; for a resumed run it is rebuilt from the history.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

Record = dict[str, Any]  # one epoch of the history
CALIBRATED_LOSS = "validation_calibrated_loss"  # after scaling by evaluation.logit_scaling


class SelectionRule(Protocol):
    """Decides which weights are kept."""

    def is_best(self, check: Record) -> bool:
        """Are the weights of this check the ones to keep so far?"""


class BestAccuracy:
    """The highest validation accuracy; the first of equals."""

    def __init__(self) -> None:
        self.best: float | None = None

    def is_best(self, check: Record) -> bool:
        accuracy = check["validation_accuracy"]
        if self.best is not None and accuracy <= self.best:
            return False
        self.best = accuracy
        return True


class BestLoss:
    """The lowest validation loss; the first of equals. ``key``: the loss, as it is or calibrated."""

    def __init__(self, key: str = "validation_loss") -> None:
        self.key = key
        self.best: float | None = None

    def is_best(self, check: Record) -> bool:
        loss = check[self.key]
        if self.best is not None and loss >= self.best:
            return False
        self.best = loss
        return True


class BestOfBoth:
    """Neither accuracy nor loss was ever better; the last of equals (code of Velickovic and others for GAT)."""

    def __init__(self) -> None:
        self.accuracy, self.loss = float("-inf"), float("inf")

    def is_best(self, check: Record) -> bool:
        accuracy, loss = check["validation_accuracy"], check["validation_loss"]
        is_best = accuracy >= self.accuracy and loss <= self.loss
        self.accuracy, self.loss = max(accuracy, self.accuracy), min(loss, self.loss)
        return bool(is_best)


class Last:
    """The weights of the last check. Needs no validation set."""

    def is_best(self, check: Record) -> bool:
        return True


class StoppingRule(Protocol):
    """Decides when training ends."""

    def stops(self, check: Record) -> bool:
        """Does training end after this check?"""


class Never:
    """Training runs for all epochs. Needs no validation set."""

    def __init__(self, patience: int) -> None:
        """``patience`` has no effect."""

    def stops(self, check: Record) -> bool:
        return False


class NoImprovement:
    """The lowest validation loss is ``patience`` or more checks old. ``key``: the loss, as it is or calibrated."""

    def __init__(self, patience: int, key: str = "validation_loss") -> None:
        self.patience, self.age, self.key = patience, 0, key
        self.lowest: float | None = None

    def stops(self, check: Record) -> bool:
        loss = check[self.key]
        if self.lowest is None or loss < self.lowest:
            self.lowest, self.age = loss, 0
        else:
            self.age += 1
        return self.age >= self.patience


class NeitherImproves:
    """``patience`` checks in a row were below the best accuracy and above the lowest loss so far (code of GAT)."""

    def __init__(self, patience: int) -> None:
        self.patience, self.age = patience, 0
        self.accuracy, self.loss = float("-inf"), float("inf")

    def stops(self, check: Record) -> bool:
        accuracy, loss = check["validation_accuracy"], check["validation_loss"]
        self.age = 0 if accuracy >= self.accuracy or loss <= self.loss else self.age + 1
        self.accuracy, self.loss = max(accuracy, self.accuracy), min(loss, self.loss)
        return self.age >= self.patience


class RisingLoss:
    """The validation loss is above the mean of the ``patience`` checks before it (Kipf and Welling's code)."""

    def __init__(self, patience: int) -> None:
        self.patience = patience
        self.before: deque[float] = deque(maxlen=patience)

    def stops(self, check: Record) -> bool:
        loss = check["validation_loss"]
        is_rising = len(self.before) == self.patience and loss > sum(self.before) / self.patience
        self.before.append(loss)
        return bool(is_rising)


SELECTION_RULES: dict[str, Callable[[], SelectionRule]] = {
    "best_validation_accuracy": BestAccuracy,
    "best_validation_loss": BestLoss,
    "best_calibrated_loss": partial(BestLoss, CALIBRATED_LOSS),
    "best_of_both": BestOfBoth,
    "last": Last,
}
STOPPING_RULES: dict[str, Callable[[int], StoppingRule]] = {
    "never": Never,
    "no_improvement": NoImprovement,
    "no_calibrated_improvement": partial(NoImprovement, key=CALIBRATED_LOSS),
    "neither_improves": NeitherImproves,
    "rising_loss": RisingLoss,
}


def needs_calibrated_loss(select: str, stop: str) -> bool:
    """Does either rule use the calibrated loss?"""
    return select == "best_calibrated_loss" or stop == "no_calibrated_improvement"


def needs_validation(select: str, stop: str) -> bool:
    """Does either rule need a validation set?"""
    return select != "last" or stop != "never"
