"""The tables of parameters of single nodes."""

from __future__ import annotations

import pytest
import torch

from confgcn.models.base import Shape
from confgcn.models.confgcn import label_distribution
from confgcn.models.confgcn.label_distribution import SMALLEST_PRECISION, LabelDistribution, covariance


def drawn(num_nodes: int) -> LabelDistribution:
    distribution = LabelDistribution(Shape(num_nodes, 0, 3)).double()
    for parameter in distribution.parameters():
        torch.nn.init.normal_(parameter)
    return distribution


def test_initial_values() -> None:
    distribution = LabelDistribution(Shape(6, 4, 3))
    assert (distribution.raw_precision == 1).all()
    assert 0 < distribution.raw_mu.abs().max() <= (6 / (6 + 3)) ** 0.5


def test_rows_may_be_in_any_order() -> None:
    distribution = drawn(4)
    rows = torch.tensor([3, 1])
    for some, table in zip(distribution(rows), distribution.parameters(), strict=True):
        assert torch.equal(some, table[rows])


def test_all_rows_are_the_parameters_themselves() -> None:
    distribution = drawn(4)
    for rows, table in zip(distribution(slice(0, 4)), distribution.parameters(), strict=True):
        assert rows is table


def test_a_shard_starts_with_the_rows_it_has_in_the_whole_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(label_distribution, "ROWS_PER_DRAW", 4)
    own = torch.tensor([1, 2, 5, 9])
    torch.manual_seed(3)
    all_nodes = LabelDistribution(Shape(10, 0, 2, torch.arange(10)))
    torch.manual_seed(3)
    shard = LabelDistribution(Shape(10, 0, 2, own))
    assert torch.equal(shard.raw_mu, all_nodes.raw_mu[own])
    assert shard.raw_precision.shape == (4, 2)


def test_new_rows_leave_the_known_ones_as_they_are() -> None:
    known = drawn(4)
    larger = known.with_rows(6)
    for table, before in zip(larger.parameters(), known.parameters(), strict=True):
        assert table.shape == (6, 3)
        assert torch.equal(table[:4], before)


def test_covariance_is_the_inverse_and_finite_at_zero() -> None:
    precision = torch.tensor([2.0, -4.0, 0.0, 1e-30, -1e-30], dtype=torch.float64)
    result = covariance(precision)
    torch.testing.assert_close(result[:2], torch.tensor([0.5, -0.25], dtype=torch.float64))
    assert torch.isfinite(result).all()
    assert result[4] < 0 < result[3]


def test_covariance_is_linear_below_the_smallest_precision() -> None:
    assert float(covariance(torch.tensor(SMALLEST_PRECISION))) == pytest.approx(1 / SMALLEST_PRECISION)
    assert float(covariance(torch.tensor(-SMALLEST_PRECISION / 2))) == pytest.approx(-1 / SMALLEST_PRECISION / 2)
