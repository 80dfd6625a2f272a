"""Dropout: how much is kept, that masks are random and come from torch's stream, and that gradients share them."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from confgcn.ops import dropout
from confgcn.ops.dropout import Mask
from confgcn.sparse import SparseMatrix, SparseStructure

pytestmark = pytest.mark.usefixtures("each_kernels")

COUNT = 100_000


def kept(rate: float, *, seed: int | None = None) -> Tensor:
    """Which of so many ones stay."""
    if seed is not None:
        torch.manual_seed(seed)
    return dropout(torch.ones(COUNT), rate, training=True) > 0


def correlation(one: Tensor, other: Tensor) -> float:
    return float(torch.corrcoef(torch.stack([one, other]).double())[0, 1])


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.8, 0.99])
def test_the_share_that_is_kept_is_within_binomial_bounds(rate: float) -> None:
    deviation = math.sqrt(COUNT * rate * (1 - rate))
    assert abs(float(kept(rate).sum()) - COUNT * (1 - rate)) < 4 * deviation


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.8, 0.99])
def test_values_that_stay_are_scaled_up_so_that_the_mean_does(rate: float) -> None:
    values = 1 + torch.rand(COUNT, dtype=torch.float64)
    dropped = dropout(values, rate, training=True)
    stay = dropped > 0
    torch.testing.assert_close(dropped[stay], values[stay] / (1 - rate), rtol=1e-3, atol=0)
    deviation = math.sqrt(float(values.square().mean()) * rate / (1 - rate) / COUNT)
    assert abs(float(dropped.mean() - values.mean())) < 4 * deviation


@pytest.mark.parametrize("rate", [1 - 1e-9, 1e-9], ids=["nearly all", "nearly nothing"])
def test_an_extreme_rate_gives_finite_values_of_the_right_mean(rate: float) -> None:
    dropped = dropout(torch.ones(COUNT), rate, training=True)
    assert torch.isfinite(dropped).all()
    assert torch.all(dropped == 1) if rate < 0.5 else dropped.mean() < 10


def test_one_seed_gives_one_mask_and_two_give_two() -> None:
    assert torch.equal(kept(0.5, seed=1), kept(0.5, seed=1))
    assert not torch.equal(kept(0.5, seed=1), kept(0.5, seed=2))


def test_masks_of_one_step_and_the_next_are_independent() -> None:
    masks = [kept(0.5) for _ in range(8)]
    bound = 5 / math.sqrt(COUNT)
    pairs = [(i, j) for i in range(8) for j in range(i)]
    assert max(abs(correlation(masks[i], masks[j])) for i, j in pairs) < bound


@pytest.mark.parametrize("lag", [1, 2, 3, 4, 5, 64, 256])
def test_neighbours_in_a_mask_are_independent(lag: int) -> None:
    mask = kept(0.5)
    assert abs(correlation(mask[lag:], mask[:-lag])) < 5 / math.sqrt(COUNT)


@pytest.mark.parametrize("seed", range(4))
def test_masks_of_neighbouring_seeds_are_independent(seed: int) -> None:
    assert abs(correlation(kept(0.5, seed=seed), kept(0.5, seed=seed + 1))) < 5 / math.sqrt(COUNT)


def test_the_gradient_is_dropped_by_the_mask_of_the_values() -> None:
    values = torch.randn(7, 5, dtype=torch.float64, requires_grad=True)
    dropped = dropout(values, 0.4, training=True)
    (gradient,) = torch.autograd.grad(dropped.sum(), values)
    torch.testing.assert_close(gradient * values, dropped)
    assert 0 < int((gradient == 0).sum()) < 35


def test_dropout_of_sparse_features_falls_on_stored_values_and_keeps_the_structure() -> None:
    structure = SparseStructure(torch.tensor([0, 10_000]), torch.arange(10_000), (1, 10_000))
    matrix = SparseMatrix(structure, torch.ones(10_000))
    dropped = dropout(matrix, 0.75, training=True)
    assert isinstance(dropped, SparseMatrix)
    assert dropped.structure is structure
    assert set(dropped.values.unique().tolist()) == {0.0, 4.0}
    assert abs(float((dropped.values > 0).float().mean()) - 0.25) < 0.02


def test_dropout_does_nothing_outside_training() -> None:
    features = torch.ones(3, 2)
    assert dropout(features, 0.5, training=False) is features
    assert dropout(features, 0.0, training=True) is features


@pytest.mark.parametrize("rate", [-0.1, 1.0, 1.5, float("nan")])
def test_a_rate_that_is_none_is_refused(rate: float) -> None:
    with pytest.raises(ValueError, match="from 0 to below 1"):
        dropout(torch.ones(3), rate, training=True)


def test_seeds_have_all_their_bits() -> None:
    seeds = [Mask.draw(0.5).seed for _ in range(200)]
    assert len(set(seeds)) == 200
    assert -(2**63) <= min(seeds) < -(2**62)
    assert 2**62 < max(seeds) < 2**63
    for bit in range(64):
        assert 0.3 < sum(seed >> bit & 1 for seed in seeds) / 200 < 0.7


@pytest.mark.parametrize(
    ("rate", "threshold"), [(0.0, 65536), (0.5, 32768), (0.75, 16384), (1e-9, 65536), (1 - 1e-9, 1), (0.3, 45875)]
)
def test_the_rate_is_met_to_one_in_65536(rate: float, threshold: int) -> None:
    mask = Mask.draw(rate)
    assert mask.threshold == threshold
    assert mask.scale == 65536 / threshold


def test_a_part_of_a_mask_is_the_mask_of_a_part() -> None:
    mask = Mask.draw(0.5)
    values = torch.randn(40)
    assert torch.equal(mask.apply(values[12:], start=12), mask.apply(values)[12:])
    assert torch.equal(mask.apply(values, start=0), mask.apply(values))
