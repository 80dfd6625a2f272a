"""Temperature and offsets by hand, against a general minimiser, and where logits separate nothing or everything."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from torch import Tensor

from confgcn.evaluation import logit_scaling
from confgcn.evaluation.logit_scaling import (
    OFFSET_DEVIATION,
    SCALE_RANGE,
    LogitScaling,
    fit_logit_scaling,
    scaled_log_loss,
)
from confgcn.evaluation.metrics import total_log_loss

SCALES = [1e-3, 1.0, 1e3, 1e30]
BOUNDS = math.exp(-SCALE_RANGE), math.exp(SCALE_RANGE)

Case = tuple[Tensor, Tensor]


def noise() -> Case:
    generator = torch.Generator().manual_seed(4)
    return torch.randn(60, 4, dtype=torch.double, generator=generator), torch.randint(4, (60,), generator=generator)


def informative() -> Case:
    logits, labels = noise()
    logits[torch.arange(30), labels[:30]] += 2.0
    return logits, labels


def misleading() -> Case:
    """The best 1/T is negative, so the fitted one is at its lower bound."""
    logits, labels = noise()
    logits[torch.arange(60), labels] -= 2.0
    return logits, labels


def one_class() -> Case:
    logits, labels = noise()
    return logits - torch.eye(4)[0], torch.zeros_like(labels)


def separated(count: int, num_classes: int) -> Case:
    labels = torch.arange(count) % num_classes
    return torch.eye(num_classes)[labels], labels


CASES = {f.__name__: f for f in (noise, informative, misleading, one_class)}


@pytest.fixture(params=list(CASES))
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]()


def spread_of(logits: Tensor) -> float:
    """The mean standard deviation of a row."""
    return float(np.std(logits.double().numpy(), axis=1).mean())


def objective(point: Tensor, logits: Tensor, labels: Tensor) -> Tensor:
    """The documented objective at 1/T, o_1 .. o_C, with loops over its sums."""
    p = (point[0] * logits + point[1:]).softmax(1)
    count, num_classes = p.shape
    loss = (point[1:] ** 2).sum() / (2 * OFFSET_DEVIATION**2)
    for row, label in zip(p, labels.tolist(), strict=True):
        loss = loss - row[label].log() - sum(row[c].log() for c in range(num_classes)) / (count * num_classes)
    return loss


def gradient(point: Tensor, logits: Tensor, labels: Tensor) -> Tensor:
    point = point.detach().requires_grad_()
    return torch.autograd.grad(objective(point, logits, labels), point)[0]


def standardised(found: LogitScaling, logits: Tensor) -> Tensor:
    """1/T in units of one over the spread of the logits, and the offsets."""
    return torch.cat([torch.tensor([found.inverse_temperature * spread_of(logits)]).double(), found.offsets])


def minimum(logits: Tensor, labels: Tensor) -> tuple[Tensor, float]:
    """Of a general minimiser over the same range, in the same units."""
    values = logits / spread_of(logits)

    def loss_and_gradient(numbers: Any) -> tuple[float, Any]:
        point = torch.from_numpy(numbers)
        return float(objective(point, values, labels)), gradient(point, values, labels).numpy()

    start = np.array([1.0] + [0.0] * logits.shape[1])
    bounds = [BOUNDS] + [(None, None)] * logits.shape[1]
    found = minimize(
        loss_and_gradient, start, jac=True, bounds=bounds, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-9}
    )
    return torch.from_numpy(found.x), float(found.fun)


# The minimum


def test_the_minimum_is_that_of_a_general_minimiser(case: Case) -> None:
    logits, labels = case
    point, lowest = minimum(logits, labels)
    found = standardised(fit_logit_scaling(logits, labels), logits)
    assert float(objective(found, logits / spread_of(logits), labels)) == pytest.approx(lowest, abs=1e-7)
    torch.testing.assert_close(found, point, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("scale", SCALES)
def test_logits_in_other_units_have_the_same_probabilities(case: Case, scale: float) -> None:
    logits, labels = case
    expected, found = fit_logit_scaling(logits, labels), fit_logit_scaling(scale * logits, labels)
    assert found.inverse_temperature * scale == pytest.approx(expected.inverse_temperature, rel=1e-6)
    torch.testing.assert_close(found.offsets, expected.offsets, rtol=1e-6, atol=1e-9)
    torch.testing.assert_close(found.log_probabilities(scale * logits), expected.log_probabilities(logits))


def test_float32_logits_are_scaled_in_double_precision() -> None:
    logits, labels = informative()
    found = fit_logit_scaling(logits.float(), labels)
    assert found.offsets.dtype == found.log_probabilities(logits.float()).dtype == torch.double
    torch.testing.assert_close(found.offsets, fit_logit_scaling(logits, labels).offsets, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("build", [noise, informative], ids=["noise", "informative"])
def test_the_gradient_is_zero_at_the_minimum(build: Any) -> None:
    logits, labels = build()
    found = standardised(fit_logit_scaling(logits, labels), logits)
    assert BOUNDS[0] < found[0] < BOUNDS[1]
    assert gradient(found, logits / spread_of(logits), labels).abs().max() < 1e-3


def test_at_the_bound_of_the_temperature_the_gradient_of_the_offsets_is_zero() -> None:
    logits, labels = misleading()
    found = standardised(fit_logit_scaling(logits, labels), logits)
    slope = gradient(found, logits / spread_of(logits), labels)
    assert float(found[0]) == pytest.approx(BOUNDS[0])
    assert slope[0] > 0  # a lower 1/T would be better
    assert slope[1:].abs().max() < 1e-3


def test_at_the_upper_bound_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logit_scaling, "SCALE_RANGE", 0.5)
    labels = torch.tensor([0] * 50 + [1] * 8 + [2] * 2)
    logits = torch.eye(3, dtype=torch.double)[labels] + 0.1 * noise()[0][:, :3]
    found = standardised(fit_logit_scaling(logits, labels), logits)
    slope = gradient(found, logits / spread_of(logits), labels)
    assert float(found[0]) == pytest.approx(math.exp(0.5))
    assert slope[0] < 0
    assert slope[1:].abs().max() < 1e-3


def test_steps_are_compared_by_the_documented_objective(case: Case) -> None:
    point = torch.tensor([0.7, 0.4, -0.3, 0.2, 0.1], dtype=torch.double)
    assert logit_scaling._objective(point, *case) == pytest.approx(float(objective(point, *case)))


def test_the_objective_is_not_above_that_of_the_start(case: Case) -> None:
    logits, labels = case
    values = logits / spread_of(logits)
    start = torch.tensor([1.0, 0.0, 0.0, 0.0, 0.0], dtype=torch.double)
    found = standardised(fit_logit_scaling(logits, labels), logits)
    assert objective(found, values, labels) <= objective(start, values, labels)


@pytest.mark.parametrize("factor", [0.1, 1.0, 10.0])
def test_the_scaled_loss_is_not_above_that_of_the_logits(case: Case, factor: float) -> None:
    logits, labels = case
    assert scaled_log_loss(factor * logits, labels) <= total_log_loss(factor * logits, labels) / 60


def test_the_scaled_loss_is_the_mean_log_loss_of_the_scaled_logits() -> None:
    logits, labels = informative()
    found = fit_logit_scaling(logits, labels)
    scaled = found.inverse_temperature * logits + found.offsets
    assert scaled_log_loss(logits, labels) == pytest.approx(total_log_loss(scaled, labels) / 60)


def test_log_probabilities_by_hand() -> None:
    scaling = LogitScaling(0.5, torch.tensor([0.0, math.log(2)], dtype=torch.double))
    found = scaling.log_probabilities(torch.tensor([[0.0, 0.0], [math.log(16), 0.0]]))
    torch.testing.assert_close(found.exp(), torch.tensor([[1 / 3, 2 / 3], [2 / 3, 1 / 3]], dtype=torch.double))


# Offsets


def test_offsets_move_predictions_towards_classes_that_are_frequent() -> None:
    generator = torch.Generator().manual_seed(0)
    labels = torch.tensor([0] * 160 + [1] * 30 + [2] * 10)
    logits = torch.eye(3)[labels] + torch.randn(200, 3, generator=generator)  # as of labels drawn class by class
    found = fit_logit_scaling(logits, labels)
    first, second, third = found.offsets.tolist()
    assert first > second > third
    frequencies = torch.tensor([0.8, 0.15, 0.05])
    before = logits.softmax(1).mean(0) - frequencies
    after = found.log_probabilities(logits).exp().mean(0) - frequencies
    assert after.abs().sum() < 0.1 * before.abs().sum()
    assert scaled_log_loss(logits, labels) < 0.8 * total_log_loss(logits, labels) / 200


def test_offsets_shrink_to_zero_where_classes_are_balanced() -> None:
    block = torch.tensor([[2.0, 1.0, 0.0], [0.0, 2.0, 1.0], [1.0, 0.0, 2.0]])
    wrong = torch.tensor([1, 2, 0])  # a third of the labels: the second highest logit
    logits, labels = block.repeat(3, 1), torch.cat([torch.arange(3), torch.arange(3), wrong])
    assert fit_logit_scaling(logits, labels).offsets.abs().max() < 1e-9


def test_offsets_sum_to_zero(case: Case) -> None:
    assert float(fit_logit_scaling(*case).offsets.sum()) == pytest.approx(0.0, abs=1e-8)


# Nothing or everything is separated


@pytest.mark.parametrize("value", [0.0, 0.1, -7.7])
def test_equal_logits_have_the_offsets_of_the_class_frequencies(value: float) -> None:
    labels = torch.tensor([0, 0, 0, 1])
    logits = torch.full((4, 2), value)
    found = fit_logit_scaling(logits, labels)
    assert math.isfinite(found.inverse_temperature)
    # with o_1 = -o_0: 5 p_0 - 3.5 + o_0 = 0 for p_0 = 1 / (1 + exp(-2 o_0))
    p, offset = float(found.log_probabilities(logits)[0, 0].exp()), float(found.offsets[0])
    assert 0.5 < p < 0.75
    assert p == pytest.approx(1 / (1 + math.exp(-2 * offset)))
    assert 5 * p - 3.5 + offset == pytest.approx(0.0, abs=1e-4)


def test_equal_logits_and_balanced_labels_have_the_loss_of_a_uniform_guess() -> None:
    assert scaled_log_loss(torch.zeros(6, 3), torch.arange(6) % 3) == pytest.approx(math.log(3))


@pytest.mark.parametrize("count", [12, 120, 1200])
@pytest.mark.parametrize("num_classes", [2, 4])
@pytest.mark.parametrize("scale", [1.0, 1e30])
def test_with_n_labels_that_are_all_right_the_mean_wrong_probability_is_about_one_over_n(
    count: int, num_classes: int, scale: float
) -> None:
    logits, labels = separated(count, num_classes)
    found = fit_logit_scaling(scale * logits, labels)
    assert math.isfinite(found.inverse_temperature)
    right = found.log_probabilities(scale * logits).exp()[torch.arange(count), labels]
    assert float(1 - right.mean()) == pytest.approx((1 - 1 / num_classes) / (count + 1), rel=1e-3)


def test_a_single_label_is_scaled_to_finite_probabilities() -> None:
    found = fit_logit_scaling(torch.tensor([[3.0, 0.0, -1.0]]), torch.tensor([0]))
    assert found.log_probabilities(torch.tensor([[3.0, 0.0, -1.0]])).isfinite().all()
