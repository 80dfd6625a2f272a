"""Adam, in place. The bookkeeping of a general optimiser takes several times as long as its step on a small graph."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from confgcn import kernels
from confgcn.training.group import squared_norm
from confgcn.training.optimiser_rows import gradient_rows, gradient_values

SquaredNorm = Callable[[Tensor], float]


class Adam:
    r"""Kingma, Ba: Adam, a method for stochastic optimization, ICLR 2015, with their constants.

    .. math:: m \leftarrow \beta_1 m + (1 - \beta_1) g, \quad s \leftarrow \beta_2 s + (1 - \beta_2) g^2, \quad
              w \leftarrow w - \alpha \frac{m / (1 - \beta_1^t)}{\sqrt{s / (1 - \beta_2^t)} + \epsilon}

    With a sparse gradient (``training.optimiser_rows``) only its rows and their moments change, decay included; t
    counts all steps, also those that did not change a row.

    Args:
        groups: a method's ``parameter_groups``. ``weight_decay`` is a number, or a function of the squared norm of w
            that gives one; that multiple of w is added to g. ``learning_rate`` of a group replaces the general one.
        learning_rate: :math:`\alpha` of the other groups.
        norm: the squared norm of w, of which this process may have only some rows.
    """

    MEAN_DECAY, SQUARE_DECAY, EPSILON = 0.9, 0.999, 1e-8  # beta_1, beta_2, epsilon

    def __init__(
        self, groups: Sequence[Mapping[str, Any]], *, learning_rate: float, norm: SquaredNorm = squared_norm
    ) -> None:
        self.squared_norm = norm
        self.moments = [(w, torch.zeros_like(w), torch.zeros_like(w)) for w in _trained(groups)]
        self.decays = [group.get("weight_decay", 0.0) for group in groups for _ in _trained([group])]
        self.rates = [group.get("learning_rate", learning_rate) for group in groups for _ in _trained([group])]
        self.steps = 0

    @torch.no_grad()
    def step(self) -> None:
        """Change every parameter; a missing gradient is zero."""
        self.steps += 1
        growth, root = 1.0 - self.MEAN_DECAY**self.steps, math.sqrt(1.0 - self.SQUARE_DECAY**self.steps)
        for state, decay, rate in zip(self.moments, self.decays, self.rates, strict=True):
            weight, mean, square = state
            gradient = torch.zeros_like(weight) if weight.grad is None else weight.grad
            share = decay(self.squared_norm(weight)) if callable(decay) else decay
            numbers = (self.MEAN_DECAY, self.SQUARE_DECAY, rate / growth, root, self.EPSILON, share)
            if gradient.is_sparse:
                _step_rows(state, gradient, numbers)
            else:
                kernels.kernels_for(weight).adam_step(weight, gradient, mean, square, numbers)

    def state(self) -> dict[str, Tensor]:
        """Both moments of every parameter, and the number of steps taken."""
        means = {f"{number}/mean": mean for number, (_, mean, _) in enumerate(self.moments)}
        squares = {f"{number}/square": square for number, (_, _, square) in enumerate(self.moments)}
        return {**means, **squares, "steps": torch.tensor(self.steps)}

    def state_of(self, weights: Sequence[Tensor]) -> list[str]:
        """The names of the entries of :meth:`state` that belong to these parameters."""
        chosen = [n for n, (weight, _, _) in enumerate(self.moments) if any(weight is other for other in weights)]
        return [f"{number}/{moment}" for number in chosen for moment in ("mean", "square")]

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Continue from a saved state."""
        for name, tensor in self.state().items():
            tensor.copy_(state[name])
        self.steps = int(state["steps"])


def _step_rows(state: tuple[Tensor, Tensor, Tensor], gradient: Tensor, numbers: Sequence[float]) -> None:
    """One step of the rows of a sparse gradient."""
    rows = gradient_rows(gradient)
    weight, mean, square = changed = tuple(table.index_select(0, rows) for table in state)
    kernels.kernels_for(weight).adam_step(weight, gradient_values(gradient), mean, square, numbers)
    for table, new in zip(state, changed, strict=True):
        table.index_copy_(0, rows, new)


def _trained(groups: Sequence[Mapping[str, Any]]) -> list[Tensor]:
    return [weight for group in groups for weight in group["params"] if weight.requires_grad]
