"""What a number would be on other nodes: the percentile bootstrap."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

BATCH_ENTRIES = 2**20  # numbers drawn at a time: many draws of few nodes are fast, few of many still fit in memory


def resampled(num_items: int, *, draws: int, seed: int) -> Iterator[Tensor]:
    """Positions drawn with replacement, in batches (draws in the batch, M); torch's own stream is left alone."""
    generator = torch.Generator().manual_seed(seed)
    for size in batch_sizes(draws, num_items):
        yield torch.randint(num_items, (size, num_items), generator=generator)


def batch_sizes(draws: int, num_items: int) -> list[int]:
    """How many draws of ``num_items`` numbers to hold in memory at a time."""
    size = max(1, BATCH_ENTRIES // num_items)
    return [min(size, draws - start) for start in range(0, draws, size)]


def percentile_interval(values: Tensor, level: float) -> tuple[float, float]:
    """The middle part of the values that holds a share of ``level`` of them."""
    bounds = torch.tensor([(1 - level) / 2, (1 + level) / 2], dtype=torch.float64)
    low, high = torch.quantile(values, bounds).tolist()
    return low, high
