"""The risk-coverage curve by hand, and against every order of tied or of all items."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor

from confgcn.evaluation.selective import aurc, excess_aurc, risk_coverage


def area(errors: tuple[int, ...]) -> float:
    """The mean risk of errors in the order in which they are kept."""
    return sum(sum(errors[:k]) / k for k in range(1, len(errors) + 1)) / len(errors)


def predictions(count: int) -> tuple[Tensor, Tensor]:
    return torch.rand(count, dtype=torch.float64), torch.rand(count) < 0.6


def test_four_nodes_by_hand() -> None:
    confidence, correct = torch.tensor([0.6, 0.9, 0.7, 0.8]), torch.tensor([True, True, True, False])
    curve = risk_coverage(confidence, correct)
    assert curve.coverage.tolist() == [0.25, 0.5, 0.75, 1.0]
    assert curve.risk.tolist() == pytest.approx([0, 1 / 2, 1 / 3, 1 / 4])
    assert aurc(confidence, correct) == pytest.approx(13 / 48)
    assert excess_aurc(confidence, correct) == pytest.approx(13 / 48 - 1 / 16)


def test_tied_items_have_the_mean_over_all_their_orders() -> None:
    confidence, correct = torch.tensor([0.5, 0.9, 0.5, 0.5, 0.1]), torch.tensor([True, False, False, True, False])
    orders = [(1, *middle, 1) for middle in itertools.permutations((0, 1, 0))]
    assert aurc(confidence, correct) == pytest.approx(sum(map(area, orders)) / len(orders))
    assert aurc(torch.ones(5), correct) == pytest.approx(3 / 5)


@pytest.mark.parametrize("num_wrong", range(6))
def test_no_order_is_better_than_the_best(num_wrong: int) -> None:
    outcomes = [place >= num_wrong for place in range(5)]
    correct = torch.tensor(outcomes)
    best = min(area(tuple(int(not right) for right in order)) for order in itertools.permutations(outcomes))
    confidence = torch.rand(5)
    assert excess_aurc(confidence, correct) == pytest.approx(aurc(confidence, correct) - best)
    assert excess_aurc(torch.arange(5.0), correct) == 0.0


def test_all_right_all_wrong_and_one_node() -> None:
    confidence = torch.tensor([0.5, 1.0, 1.0])
    for count in (1, 3):
        right, wrong = (torch.full((count,), value) for value in (True, False))
        assert aurc(confidence[:count], right) == excess_aurc(confidence[:count], right) == 0.0
        assert aurc(confidence[:count], wrong) == 1.0
        assert excess_aurc(confidence[:count], wrong) == 0.0


def test_the_order_of_the_nodes_does_not_matter() -> None:
    confidence, correct = predictions(50)
    confidence, order = (confidence * 8).round() / 8, torch.randperm(50)
    assert aurc(confidence[order], correct[order]) == aurc(confidence, correct)


def test_trapezoids_differ_as_documented() -> None:
    confidence, correct = predictions(20)
    curve = risk_coverage(confidence, correct)
    trapezoids = float(torch.trapezoid(curve.risk, curve.coverage)) / (1 - 1 / 20)
    ends = float(curve.risk[0] + curve.risk[-1]) / 2
    assert trapezoids == pytest.approx((20 * aurc(confidence, correct) - ends) / 19)
