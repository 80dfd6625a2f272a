"""The processes that train one method together. Alone, a process agrees with itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from confgcn.training.optimiser_rows import numbers_in


class Group(Protocol):
    """What the loop asks of the other processes. Every one of them must ask the same, in the same order."""

    @property
    def rank(self) -> int:
        """The number of this process, from zero."""

    @property
    def size(self) -> int:
        """How many there are."""

    def add(self, numbers: Sequence[float]) -> list[float]:
        """The sums of these numbers over all processes."""

    def add_up(self, tensors: Sequence[Tensor]) -> None:
        """Put the sum over all processes in the place of each tensor."""

    def wait(self) -> None:
        """Until all processes have come so far."""


class Alone:
    """A group of one."""

    rank = 0
    size = 1

    def add(self, numbers: Sequence[float]) -> list[float]:
        return list(numbers)

    def add_up(self, tensors: Sequence[Tensor]) -> None:
        """They are the sums."""

    def wait(self) -> None:
        """There is nobody to wait for."""


ALONE = Alone()


class Sharing:
    """Which parameters every process of a group has as a whole, and of which it has rows of its own."""

    def __init__(self, group: Group, whole: Sequence[Tensor], in_rows: Sequence[Tensor]) -> None:
        self.group, self.whole, self.in_rows = group, whole, in_rows

    def add_gradients(self) -> None:
        """Of what every process has as a whole, the gradients over all parts; one that nothing depends on is zero."""
        if self.group.size == 1:
            return
        for weight in self.whole:
            weight.grad = torch.zeros_like(weight) if weight.grad is None else weight.grad
        self.group.add_up([weight.grad for weight in self.whole if weight.grad is not None])

    def squared_norm(self, weight: Tensor) -> float:
        """Of a parameter, over all of its rows."""
        own = squared_norm(weight)
        return self.group.add([own])[0] if any(weight is other for other in self.in_rows) else own

    def gradient_norm(self) -> Tensor:
        """Of all gradients together."""
        parts = (self.whole, self.in_rows)
        whole, in_rows = ([numbers_in(w.grad) for w in part if w.grad is not None] for part in parts)
        if self.group.size == 1:
            return torch.nn.utils.get_total_norm([*whole, *in_rows])
        rows = self.group.add([float(sum(gradient.double().square().sum() for gradient in in_rows))])[0]
        total: Tensor = (torch.nn.utils.get_total_norm(whole).double().square() + rows).sqrt()
        return total


def squared_norm(weight: Tensor) -> float:
    """Of the rows that this process has."""
    flat = weight.detach().view(-1)
    return float(torch.dot(flat, flat))
