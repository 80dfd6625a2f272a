"""Adam, in place. The bookkeeping of a general optimiser takes several times as long as its step on a small graph."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from confgcn import kernels


class Adam:
    r"""Kingma, Ba: Adam, a method for stochastic optimization, ICLR 2015, with their constants.

    .. math:: m \leftarrow \beta_1 m + (1 - \beta_1) g, \quad s \leftarrow \beta_2 s + (1 - \beta_2) g^2, \quad
              w \leftarrow w - \alpha \frac{m / (1 - \beta_1^t)}{\sqrt{s / (1 - \beta_2^t)} + \epsilon}

    Args:
        groups: as a method's ``parameter_groups`` gives them; ``weight_decay`` adds that share of w to g. It is a
            number, or a function of the squared norm of w that gives one.
        learning_rate: :math:`\alpha`.
    """

    MEAN_DECAY, SQUARE_DECAY, EPSILON = 0.9, 0.999, 1e-8  # beta_1, beta_2, epsilon

    def __init__(self, groups: Sequence[Mapping[str, Any]], *, learning_rate: float) -> None:
        decays = [(w, group.get("weight_decay", 0.0)) for group in groups for w in group["params"] if w.requires_grad]
        self.moments = [(w, torch.zeros_like(w), torch.zeros_like(w), decay) for w, decay in decays]
        self.learning_rate = learning_rate
        self.steps = 0

    @torch.no_grad()
    def step(self) -> None:
        """Change every parameter; one that nothing depends on has a gradient of zero."""
        self.steps += 1
        rate = self.learning_rate / (1.0 - self.MEAN_DECAY**self.steps)
        root = math.sqrt(1.0 - self.SQUARE_DECAY**self.steps)
        numbers = (self.MEAN_DECAY, self.SQUARE_DECAY, rate, root, self.EPSILON)
        for weight, mean, square, decay in self.moments:
            gradient = torch.zeros_like(weight) if weight.grad is None else weight.grad
            share = decay(squared_norm(weight)) if callable(decay) else decay
            kernels.active().adam_step(weight, gradient, mean, square, (*numbers, share))

    def state(self) -> dict[str, Tensor]:
        """Both moments of every parameter, and the number of steps taken."""
        means = {f"{number}/mean": mean for number, (_, mean, _, _) in enumerate(self.moments)}
        squares = {f"{number}/square": square for number, (_, _, square, _) in enumerate(self.moments)}
        return {**means, **squares, "steps": torch.tensor(self.steps)}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Go on from a saved state."""
        for name, tensor in self.state().items():
            tensor.copy_(state[name])
        self.steps = int(state["steps"])


def squared_norm(weight: Tensor) -> float:
    """What a weight decay that is a function is given."""
    flat = weight.view(-1)
    return float(torch.dot(flat, flat))
