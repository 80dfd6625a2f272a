"""Calibration errors by loops, noise floors, bootstrap intervals and reliability diagrams."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import pytest
import torch
from scipy.stats import binom
from sklearn.calibration import calibration_curve
from torch import Tensor

from confgcn.evaluation import calibration_error
from confgcn.evaluation.calibration_error import (
    Bin,
    Binning,
    batch_sizes,
    calibration_interval,
    classwise_calibration_error,
    expected_calibration_error,
    noise_floor,
    percentile_interval,
    reliability,
    resampled,
    width_bin,
)
from confgcn.exceptions import UsageError

BINNINGS = pytest.mark.parametrize("binning", ["width", "mass"])


def predictions(count: int, *, overconfident: float = 0.0) -> tuple[Tensor, Tensor]:
    confidence = 0.3 + 0.7 * torch.rand(count, dtype=torch.float64)
    return confidence, torch.rand(count, dtype=torch.float64) < confidence - overconfident


def by_loops(confidence: Tensor, correct: Tensor, binning: Binning, bins: int) -> float:
    """The definition, node by node; without ties, for bins of equal mass."""
    items = sorted(zip(confidence.tolist(), correct.tolist(), strict=True))
    members: list[list[tuple[float, float]]] = [[] for _ in range(bins)]
    for place, item in enumerate(items):
        index = min(int(item[0] * bins), bins - 1) if binning == "width" else place * bins // len(items)
        members[index].append(item)
    error = 0.0
    for inside in filter(None, members):
        mean, accuracy = (sum(column) / len(inside) for column in zip(*inside, strict=True))
        error += len(inside) / len(items) * abs(mean - accuracy)
    return error


@BINNINGS
@pytest.mark.parametrize(("count", "bins"), [(200, 15), (200, 7), (20, 15), (4, 15), (1, 15)])
def test_error_is_that_of_loops(binning: Binning, count: int, bins: int) -> None:
    confidence, correct = predictions(count)
    found = expected_calibration_error(confidence, correct, binning=binning, bins=bins)
    assert found == pytest.approx(by_loops(confidence, correct, binning, bins))


@pytest.mark.parametrize("overconfident", [0.0, 0.2])
def test_width_agrees_with_torchmetrics(overconfident: float) -> None:
    functional = pytest.importorskip("torchmetrics.functional.classification")
    confidence, correct = predictions(500, overconfident=overconfident)
    probabilities = torch.stack([confidence, 1 - confidence], dim=1)
    confidence, predicted = probabilities.max(1)
    labels = torch.where(correct, predicted, 1 - predicted)
    expected = functional.multiclass_calibration_error(probabilities, labels, num_classes=2, n_bins=15, norm="l1")
    assert expected_calibration_error(confidence, correct) == pytest.approx(float(expected), rel=1e-5)


@BINNINGS
def test_four_nodes_by_hand(binning: Binning) -> None:
    confidence, correct = torch.tensor([0.6, 0.7, 0.9, 1.0]), torch.tensor([True, False, True, True])
    # width: [0.5, 0.75) and [0.75, 1], both binnings have two pairs: |1.3 - 1| and |1.9 - 2|
    assert expected_calibration_error(confidence, correct, binning=binning, bins=4 if binning == "width" else 2) == (
        pytest.approx((0.3 + 0.1) / 4)
    )


def test_a_bin_holds_its_lower_end_and_the_last_one_also_one() -> None:
    assert width_bin(torch.tensor([0.0, 0.24, 0.25, 0.5, 0.99, 1.0, 1.0000001]), 4).tolist() == [0, 0, 1, 2, 3, 3, 3]


@BINNINGS
def test_all_right_and_all_wrong(binning: Binning) -> None:
    confidence = torch.tensor([0.4, 0.8, 1.0, 1.0])
    right, wrong = (torch.full((4,), value) for value in (True, False))
    assert expected_calibration_error(confidence, right, binning=binning) == pytest.approx(0.8 / 4)
    assert expected_calibration_error(confidence, wrong, binning=binning) == pytest.approx(3.2 / 4)
    assert expected_calibration_error(torch.ones(4), right, binning=binning) == 0.0


@BINNINGS
def test_the_order_of_the_nodes_does_not_matter(binning: Binning) -> None:
    confidence, correct = predictions(60)
    confidence = (confidence * 10).round() / 10
    order = torch.randperm(60)
    shuffled = confidence[order], correct[order]
    assert expected_calibration_error(*shuffled, binning=binning) == (
        expected_calibration_error(confidence, correct, binning=binning)
    )
    assert calibration_interval(*shuffled, binning=binning) == (
        calibration_interval(confidence, correct, binning=binning)
    )
    assert noise_floor(shuffled[0], binning=binning) == noise_floor(confidence, binning=binning)


def test_tied_items_count_in_a_bin_by_their_mean() -> None:
    confidence, correct = [0.5, 0.5, 0.5, 0.8], [1, 0, 0, 1]
    gaps = [0.0, 0.0]  # of two bins, as the mean over all orders of the tied
    orders = list(itertools.permutations(correct[:3]))
    for order in orders:
        gaps[0] += (sum(order[:2]) - 1.0) / len(orders)
        gaps[1] += (order[2] + 1 - 1.3) / len(orders)
    found = expected_calibration_error(torch.tensor(confidence), torch.tensor(correct), binning="mass", bins=2)
    assert found == pytest.approx((abs(gaps[0]) + abs(gaps[1])) / 4)


def test_an_unknown_binning_is_named() -> None:
    with pytest.raises(UsageError, match=r"unknown binning 'mas'.*'mass'.*mass, width"):
        expected_calibration_error(torch.ones(2), torch.ones(2), binning="mas")  # type: ignore[arg-type]


def exact_floor(confidence: list[Fraction], groups: list[list[int]]) -> float:
    """The expectation over every outcome there is."""
    total = Fraction(0)
    for outcome in itertools.product((0, 1), repeat=len(confidence)):
        chance = Fraction(1)
        for right, p in zip(outcome, confidence, strict=True):
            chance *= p if right else 1 - p
        total += chance * sum(abs(sum(outcome[i] - confidence[i] for i in group)) for group in groups)
    return float(total / len(confidence))


@BINNINGS
def test_the_floor_is_the_mean_over_every_outcome(binning: Binning) -> None:
    confidence = [Fraction(place, 16) for place in (5, 6, 9, 10, 13, 14)]
    floor = noise_floor(torch.tensor([float(c) for c in confidence]), binning=binning, bins=3, draws=20_000)
    groups = [[0], [1, 2, 3], [4, 5]] if binning == "width" else [[0, 1], [2, 3], [4, 5]]
    assert floor == pytest.approx(exact_floor(confidence, groups), rel=0.02)


def test_the_floor_of_a_thousand_nodes_is_what_a_calibrated_model_gets() -> None:
    errors = [expected_calibration_error(*predictions(1000)) for _ in range(200)]
    assert noise_floor(predictions(1000)[0]) == pytest.approx(sum(errors) / 200, rel=0.05)
    assert noise_floor(torch.ones(10)) == 0.0
    assert noise_floor(torch.tensor([0.5]), draws=3) == 0.5  # right or wrong, it is half off


def test_the_floor_does_not_depend_on_batches_and_leaves_the_default_stream_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    confidence, _ = predictions(100)
    state = torch.get_rng_state()
    floor = noise_floor(confidence, draws=50)
    monkeypatch.setattr(calibration_error, "BATCH_ENTRIES", 700)
    assert noise_floor(confidence, draws=50) == pytest.approx(floor)
    assert noise_floor(confidence, draws=50, seed=1) != pytest.approx(floor)
    assert torch.equal(torch.get_rng_state(), state)


@BINNINGS
def test_the_interval_is_the_centred_one_of_single_draws(binning: Binning) -> None:
    confidence, correct = (column.sort().values for column in predictions(40))  # sorted as the function does it
    error = expected_calibration_error(confidence, correct, binning=binning)
    (positions,) = resampled(40, draws=200, seed=0)
    drawn = [expected_calibration_error(confidence[row], correct[row], binning=binning) for row in positions]
    errors = torch.tensor(drawn, dtype=torch.float64)
    expected = torch.quantile(errors - errors.mean() + error, torch.tensor([0.05, 0.95]).double())
    found = calibration_interval(confidence, correct, binning=binning, draws=200, level=0.9)
    assert found == pytest.approx(expected.clamp(min=0).tolist())


@BINNINGS
@pytest.mark.parametrize("overconfident", [0.0, 0.1])
def test_the_interval_holds_the_mean_error_of_other_nodes(binning: Binning, overconfident: float) -> None:
    errors = [
        expected_calibration_error(*predictions(200, overconfident=overconfident), binning=binning) for _ in range(300)
    ]
    mean, held = sum(errors) / 300, 0
    for _ in range(100):
        low, high = calibration_interval(*predictions(200, overconfident=overconfident), binning=binning, draws=100)
        held += low <= mean <= high
    assert held >= 88  # percentiles that are not centred hold it 80 to 87 times


def test_the_interval_has_no_negative_end() -> None:
    low, high = calibration_interval(torch.full((20,), 0.5), torch.arange(20) < 10)  # an error of zero
    assert low == 0.0
    assert high > 0.05


def test_the_interval_of_one_node_is_its_error() -> None:
    assert calibration_interval(torch.tensor([0.7]), torch.tensor([True])) == pytest.approx((0.3, 0.3))


def test_classwise_is_the_mean_over_classes() -> None:
    probabilities, labels = torch.randn(80, 4).softmax(1), torch.randint(0, 4, (80,))
    expected = [expected_calibration_error(probabilities[:, c], labels == c, bins=6) for c in range(4)]
    assert classwise_calibration_error(probabilities, labels, bins=6) == pytest.approx(sum(expected) / 4)


def test_classwise_by_hand() -> None:
    probabilities = torch.tensor([[0.9, 0.1], [0.4, 0.6]])
    assert classwise_calibration_error(probabilities, torch.tensor([0, 0])) == pytest.approx((0.1 + 0.6) / 2)
    assert classwise_calibration_error(torch.ones(3, 1), torch.zeros(3, dtype=torch.long)) == 0.0


@BINNINGS
def test_the_defaults_are_fifteen_bins_many_draws_and_seed_zero(binning: Binning) -> None:
    confidence, correct = predictions(80)
    error, floor, interval = (
        expected_calibration_error(confidence, correct, binning=binning),
        noise_floor(confidence, binning=binning),
        calibration_interval(confidence, correct, binning=binning),
    )
    assert error == expected_calibration_error(confidence, correct, binning=binning, bins=15)
    assert floor == noise_floor(confidence, binning=binning, bins=15, draws=200, seed=0)
    assert interval == calibration_interval(
        confidence, correct, binning=binning, bins=15, draws=1000, level=0.95, seed=0
    )
    for other in ({"bins": 14}, {"bins": 16}, {"draws": 199}, {"draws": 201}, {"seed": 1}):
        assert noise_floor(confidence, binning=binning, **other) != floor
        assert calibration_interval(confidence, correct, binning=binning, **other) != interval


def test_classes_have_fifteen_bins_too() -> None:
    probabilities, labels = torch.randn(80, 4).softmax(1), torch.randint(0, 4, (80,))
    assert classwise_calibration_error(probabilities, labels) == (
        classwise_calibration_error(probabilities, labels, bins=15)
    )


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
    monkeypatch.setattr(calibration_error, "BATCH_ENTRIES", 100)
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
