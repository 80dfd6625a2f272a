"""The diagram's numbers against scikit-learn and the binomial distribution of scipy."""

from __future__ import annotations

import pytest
import torch
from scipy.stats import binom
from sklearn.calibration import calibration_curve

from confgcn.evaluation.calibration import expected_calibration_error
from confgcn.evaluation.reliability import Bin, reliability


def test_bins_agree_with_scikit_learn_and_add_up_to_the_calibration_error() -> None:
    confidence = 0.3 + 0.7 * torch.rand(300, dtype=torch.float64)
    correct = torch.rand(300) < confidence
    found = reliability(confidence, correct, bins=15)
    accuracy, mean = calibration_curve(correct.numpy(), confidence.numpy(), n_bins=15)
    assert [b.accuracy for b in found] == pytest.approx(accuracy.tolist())
    assert [b.confidence for b in found] == pytest.approx(mean.tolist())
    assert sum(b.count for b in found) == 300
    error = sum(b.count * abs(b.accuracy - b.confidence) for b in found) / 300
    assert error == pytest.approx(expected_calibration_error(confidence, correct))


@pytest.mark.parametrize(("count", "probability"), [(1, 0.4), (5, 0.9), (30, 0.97), (1000, 0.5), (40_000, 0.9)])
def test_the_band_is_that_of_the_binomial_distribution(count: int, probability: float) -> None:
    (found,) = reliability(torch.full((count,), probability, dtype=torch.float64), torch.ones(count))
    low, high = binom.ppf([0.025, 0.975], count, found.confidence) / count
    assert (found.low, found.high) == pytest.approx((low, high))


def test_three_nodes_by_hand() -> None:
    found = reliability(torch.tensor([1.0, 0.5, 1.0]), torch.tensor([True, True, False]))
    assert found == [Bin(1, 0.5, 1.0, 0.0, 1.0), Bin(2, 1.0, 0.5, 1.0, 1.0)]


def test_a_confidence_that_rounding_put_above_one_counts_as_one() -> None:
    assert reliability(torch.tensor([1.0000001]), torch.tensor([True])) == [Bin(1, 1.0, 1.0, 1.0, 1.0)]
