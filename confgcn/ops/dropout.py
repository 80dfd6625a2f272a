"""Dropout whose masks are computed from a seed: a backward pass computes a mask again instead of keeping it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from confgcn.kernels import kernels_for
from confgcn.ops.autograd import HandDerived
from confgcn.sparse import SparseMatrix

LEVELS = 2**16  # a value is kept if its sixteen random bits are below a threshold: rates are multiples of 1 / 65536


@dataclass(frozen=True)
class Mask:
    """Which values are kept. They are multiplied by ``scale``, so that the mean stays the same."""

    seed: int
    threshold: int
    scale: float

    @classmethod
    def draw(cls, rate: float) -> Mask:
        """A new mask, its seed drawn from torch's default generator."""
        if not 0.0 <= rate < 1.0:
            raise ValueError(f"dropout: expected a rate from 0 to below 1, got {rate}")
        kept = max(1, round((1.0 - rate) * LEVELS))
        seed = int(torch.empty((), dtype=torch.long, device="cpu").random_(-(2**63), None))
        return cls(seed, kept, LEVELS / kept)

    def apply(self, values: Tensor, start: int = 0) -> Tensor:
        """The values that are kept, scaled, and zero for the others.

        ``values`` may be a block of a larger tensor that begins at element ``start``, a multiple of four.
        """
        return kernels_for(values).drop(values, self.seed, start, self.threshold, self.scale)


def dropout(features: Tensor | SparseMatrix, rate: float, *, training: bool) -> Tensor | SparseMatrix:
    """Dropout; on sparse features it is applied to the stored non-zeros."""
    if not training or rate == 0.0:
        return features
    if isinstance(features, SparseMatrix):
        return features.with_values(dropout_dense(features.values, rate))
    return dropout_dense(features, rate)


def dropout_dense(values: Tensor, rate: float) -> Tensor:
    """Dropout of a tensor in training."""
    if rate == 0.0:
        return values
    dropped: Tensor = _Dropout.of(values, rate)
    return dropped


class _Dropout(HandDerived):
    """The gradient is masked and scaled like the values."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, rate: float) -> Tensor:
        mask = ctx.mask = Mask.draw(rate)
        return mask.apply(values)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        HandDerived.refuse_second_derivative()
        return ctx.mask.apply(gradient), None
