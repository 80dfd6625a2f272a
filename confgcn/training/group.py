"""The processes that train one method together; a single process is a group of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from confgcn.models.base import AbstractMethod
from confgcn.training.optimiser_rows import gradient_values


class Group(Protocol):
    """What the training loop needs of the other processes. All must make the same calls, in the same order."""

    @property
    def rank(self) -> int:
        """The number of this process, from zero."""

    @property
    def size(self) -> int:
        """The number of processes."""

    def sum(self, numbers: Sequence[float]) -> list[float]:
        """The sums of these numbers over all processes."""

    def sum_tensors(self, tensors: Sequence[Tensor]) -> None:
        """Replace each tensor by its sum over all processes."""

    def wait(self) -> None:
        """Return when all processes have made this call."""


class SingleProcess:
    """A group of one."""

    rank = 0
    size = 1

    def sum(self, numbers: Sequence[float]) -> list[float]:
        return list(numbers)

    def sum_tensors(self, tensors: Sequence[Tensor]) -> None:
        """They are the sums already."""

    def wait(self) -> None:
        """There is no other process."""


SINGLE_PROCESS = SingleProcess()


class SharedParameters:
    """The parameters of a method in several processes.

    Every process has all of the ``common`` ones, and of those ``per_node`` the rows of its own nodes.
    """

    def __init__(self, method: AbstractMethod, group: Group) -> None:
        self.group = group
        self.per_node = [method.get_parameter(name) for name in method.per_node]
        self.common = [weight for name, weight in method.named_parameters() if name not in method.per_node]

    def sum_gradients(self) -> None:
        """Sum the gradients of the common parameters over all processes; a missing gradient is zero."""
        if self.group.size == 1:
            return
        for weight in self.common:
            weight.grad = torch.zeros_like(weight) if weight.grad is None else weight.grad
        self.group.sum_tensors([weight.grad for weight in self.common if weight.grad is not None])

    def squared_norm(self, weight: Tensor) -> float:
        """The squared norm of a parameter, over all of its rows."""
        own = squared_norm(weight)
        return self.group.sum([own])[0] if any(weight is other for other in self.per_node) else own

    def gradient_norm(self) -> Tensor:
        """The norm of all gradients together."""
        common, per_node = (
            [gradient_values(weight.grad) for weight in weights if weight.grad is not None]
            for weights in (self.common, self.per_node)
        )
        if self.group.size == 1:
            return torch.nn.utils.get_total_norm([*common, *per_node])
        rows = self.group.sum([float(sum(gradient.double().square().sum() for gradient in per_node))])[0]
        total: Tensor = (torch.nn.utils.get_total_norm(common).double().square() + rows).sqrt()
        return total


def squared_norm(weight: Tensor) -> float:
    """The squared norm of the rows that this process has."""
    flat = weight.detach().view(-1)
    return float(torch.dot(flat, flat))
