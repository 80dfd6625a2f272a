"""Gradient descent, with the interface of Adam."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from confgcn.training.adam import SquaredNorm
from confgcn.training.group import squared_norm
from confgcn.training.optimiser_rows import gradient_rows, gradient_values


class SGD:
    r"""One step down the gradient of the objective, :math:`w \leftarrow w - \alpha (g + \lambda w)`.

    With a sparse gradient only its rows change.

    Args:
        groups: a method's ``parameter_groups``. ``weight_decay`` is :math:`\lambda`, a number or a function of the
            squared norm of w that gives one; ``learning_rate`` of a group replaces the general one.
        learning_rate: :math:`\alpha` of the other groups.
        norm: the squared norm of w, of which this process may have only some rows.
    """

    def __init__(
        self, groups: Sequence[Mapping[str, Any]], *, learning_rate: float, norm: SquaredNorm = squared_norm
    ) -> None:
        self.squared_norm = norm
        self.weights = [
            (weight, group.get("weight_decay", 0.0), group.get("learning_rate", learning_rate))
            for group in groups
            for weight in group["params"]
            if weight.requires_grad
        ]

    @torch.no_grad()
    def step(self) -> None:
        """Change every parameter with a gradient; any other is unchanged and does not decay."""
        for weight, decay, rate in self.weights:
            if weight.grad is not None:
                share = decay(self.squared_norm(weight)) if callable(decay) else decay
                _step(weight, weight.grad, share, rate)

    def state(self) -> dict[str, Tensor]:
        """Empty: a step depends on no earlier step."""
        return {}

    def state_of(self, weights: Sequence[Tensor]) -> list[str]:
        """Empty."""
        return []

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Nothing was saved."""


def _step(weight: Tensor, gradient: Tensor, decay: float, rate: float) -> None:
    if not gradient.is_sparse:
        weight.sub_(gradient + decay * weight, alpha=rate)
        return
    rows = gradient_rows(gradient)
    changed = weight.index_select(0, rows)
    weight.index_copy_(0, rows, changed.sub(gradient_values(gradient) + decay * changed, alpha=rate))
