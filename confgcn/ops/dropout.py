"""Dropout whose masks are seeded from torch's default stream: the seed of a run is the seed of its masks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from confgcn.kernels import kernels_for
from confgcn.ops.function import HandDerived
from confgcn.sparse import SparseMatrix

LEVELS = 2**16  # a value is kept if its sixteen bits are below a threshold: the rate is met to 1 / 65536


@dataclass(frozen=True)
class Mask:
    """Which values stay; those are scaled up, so that their mean does. The bits are made anew from the seed."""

    seed: int
    threshold: int
    scale: float

    @classmethod
    def draw(cls, rate: float) -> Mask:
        """A new mask, its seed drawn from torch's default stream."""
        if not 0.0 <= rate < 1.0:
            raise ValueError(f"dropout: expected a rate from 0 to below 1, got {rate}")
        kept = max(1, round((1.0 - rate) * LEVELS))
        seed = int(torch.empty((), dtype=torch.long).random_(-(2**63), None))
        return cls(seed, kept, LEVELS / kept)

    def apply(self, values: Tensor, start: int = 0) -> Tensor:
        """The values that stay, zero for the others; of a part that begins at ``start``, a multiple of four."""
        return kernels_for(values).drop(values, self.seed, start, self.threshold, self.scale)


def dropout(features: Tensor | SparseMatrix, rate: float, *, training: bool) -> Tensor | SparseMatrix:
    """Dropout; on sparse features it falls on the stored non-zeros and the structure stays."""
    if not training or rate == 0.0:
        return features
    if isinstance(features, SparseMatrix):
        return features.with_values(_Dropout.of(features.values, rate))
    dropped: Tensor = _Dropout.of(features, rate)
    return dropped


class _Dropout(HandDerived):
    """The gradient is dropped and scaled by the mask of the values."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, rate: float) -> Tensor:
        mask = ctx.mask = Mask.draw(rate)
        return mask.apply(values)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        HandDerived.refuse_second_derivative()
        return ctx.mask.apply(gradient), None
