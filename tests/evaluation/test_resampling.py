"""The percentile bootstrap on a statistic whose spread is known."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from confgcn.evaluation import resampling
from confgcn.evaluation.resampling import batch_sizes, percentile_interval, resampled


def bootstrap_interval(
    statistic: Callable[[Tensor], float], num_items: int, *, draws: int = 1000, level: float = 0.95, seed: int = 0
) -> tuple[float, float]:
    values = [statistic(row) for rows in resampled(num_items, draws=draws, seed=seed) for row in rows]
    return percentile_interval(torch.tensor(values, dtype=torch.float64), level)


def test_the_interval_of_a_mean_is_two_standard_errors_wide_on_either_side() -> None:
    values = torch.randn(400, dtype=torch.float64)
    low, high = bootstrap_interval(lambda items: float(values[items].mean()), 400, draws=2000)
    error = float(values.std()) / math.sqrt(400)
    assert low == pytest.approx(float(values.mean()) - 1.96 * error, abs=0.2 * error)
    assert high == pytest.approx(float(values.mean()) + 1.96 * error, abs=0.2 * error)


def test_a_lower_level_is_narrower() -> None:
    def share(items: Tensor) -> float:
        return float((items < 20).double().mean())

    wide, narrow = (bootstrap_interval(share, 50, draws=300, level=level) for level in (0.95, 0.5))
    assert wide[0] < narrow[0] < 0.4 < narrow[1] < wide[1]


def test_draws_are_of_all_items_with_replacement() -> None:
    (positions,) = resampled(30, draws=100, seed=0)
    assert positions.shape == (100, 30)
    assert positions.unique().tolist() == list(range(30))
    assert all(len(row.unique()) < 30 for row in positions)


def test_the_seed_decides_and_the_default_stream_is_left_alone() -> None:
    state = torch.get_rng_state()
    first, again, other = (bootstrap_interval(lambda items: float(items.sum()), 9, seed=seed) for seed in (0, 0, 1))
    assert first == again != other
    assert torch.equal(torch.get_rng_state(), state)


def test_batches_bound_the_memory_and_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resampling, "BATCH_ENTRIES", 100)
    assert batch_sizes(7, 30) == [3, 3, 1]
    assert batch_sizes(2, 1000) == [1, 1]
    assert [len(rows) for rows in resampled(30, draws=7, seed=0)] == [3, 3, 1]


def test_percentiles() -> None:
    assert percentile_interval(torch.arange(101.0).double(), 0.9) == pytest.approx((5.0, 95.0))


def test_about_a_million_numbers_are_drawn_at_a_time() -> None:
    assert batch_sizes(1000, 2**11) == [512, 488]
    assert batch_sizes(3, 2**20) == [1, 1, 1]
    assert batch_sizes(3, 2**21) == [1, 1, 1]
    assert batch_sizes(3, 2**19) == [2, 1]
    assert batch_sizes(0, 7) == []
