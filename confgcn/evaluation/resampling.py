"""What a number would be on other nodes: the percentile bootstrap."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

BATCH_ENTRIES = 2**20  # numbers drawn at a time: many draws of few nodes are fast, few of many still fit in memory


def bootstrap_interval(
    statistic: Callable[[Tensor], float], num_items: int, *, draws: int = 1000, level: float = 0.95, seed: int = 0
) -> tuple[float, float]:
    r"""Percentile interval of a statistic of items that are drawn anew, as many, with replacement.

    .. math:: \left[Q_{(1 - \mathrm{level})/2},\ Q_{(1 + \mathrm{level})/2}\right] \text{ of }
              \{\mathrm{statistic}(\pi_b)\}_{b=1}^{\mathrm{draws}}, \qquad \pi_{bi} \sim \mathrm{U}\{0, .., M - 1\}

    ``statistic`` takes the positions of the drawn items, (M,).
    """
    values = [statistic(row) for rows in resampled(num_items, draws=draws, seed=seed) for row in rows]
    return percentile_interval(torch.tensor(values, dtype=torch.float64), level)


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
