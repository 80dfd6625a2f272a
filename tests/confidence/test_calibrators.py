"""The interface over all calibrators; temperatures against a fine grid and with extreme labels."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch
from torch import Tensor

from confgcn.confidence.calibrators import (
    CANDIDATES,
    MAX_STEP,
    UNCALIBRATED,
    CalibrationInputs,
    Calibrator,
    Temperature,
    _objective,
    calibrator_named,
)
from confgcn.exceptions import CorruptFileError, DataError, UsageError
from confgcn.graph import Graph
from confgcn.models.base import Prediction


def drawn(count: int, log_temperature: Tensor | float, *, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Logits, and labels drawn from the softmax of logits over that temperature."""
    generator = torch.Generator().manual_seed(seed)
    logits = 3 * torch.randn(count, 4, generator=generator)
    scale = torch.as_tensor(log_temperature).exp().expand(count)[:, None]
    return logits, torch.multinomial((logits / scale).softmax(1), 1, generator=generator).squeeze(1)


def fit_temperature(
    logits: Tensor, labels: Tensor, covariates: dict[str, Tensor], *, covariate: str | None = None
) -> Temperature:
    return Temperature(covariate=covariate).fit(CalibrationInputs(logits, covariates), labels)


def apply(calibrator: Calibrator, logits: Tensor, covariates: dict[str, Tensor]) -> Tensor:
    return calibrator.log_probabilities(CalibrationInputs(logits, covariates))


def loss(temperature: Temperature, logits: Tensor, labels: Tensor, covariates: dict[str, Tensor]) -> float:
    return float(-apply(temperature, logits, covariates).gather(1, labels[:, None]).mean())


@pytest.mark.parametrize("true", [-1.0, 0.0, 1.2])
def test_the_temperature_is_that_of_a_fine_grid(true: float) -> None:
    logits, labels = drawn(300, true)
    grid = np.arange(true - 1, true + 1, 1e-3)
    losses = [loss(Temperature(value), logits, labels, {}) for value in grid.tolist()]
    found = fit_temperature(logits, labels, {})
    assert found.intercept == pytest.approx(grid[int(np.argmin(losses))], abs=2e-3)
    assert loss(found, logits, labels, {}) <= min(losses) + 1e-12
    assert (found.slope, found.covariate) == (0.0, None)


def test_the_scale_of_logits_moves_the_temperature_and_nothing_else() -> None:
    logits, labels = drawn(200, 0.5)
    one, other = fit_temperature(logits, labels, {}), fit_temperature(logits / 1000, labels, {})
    torch.testing.assert_close(apply(one, logits, {}), apply(other, logits / 1000, {}), atol=1e-4, rtol=0)


def test_apply_divides_by_the_temperature_of_the_node() -> None:
    temperature = Temperature(0.1, -0.5, "degree", centre=2.0, spread=4.0)
    logits = torch.tensor([[1.0, 2, 3], [0, 0, 5]])
    found = apply(temperature, logits, {"degree": torch.tensor([6.0, -1000])})
    for row, z in enumerate((1.0, -3.0)):  # the second is clipped
        expected = (logits[row].double() / math.exp(0.1 - 0.5 * z)).log_softmax(0)
        torch.testing.assert_close(found[row], expected)


def test_a_slope_is_found_where_there_is_one() -> None:
    z = torch.randn(4000)
    logits, labels = drawn(4000, 0.3 + 0.6 * z.clamp(-3, 3))
    found = fit_temperature(logits, labels, {"degree": 10 + 5 * z}, covariate="degree")
    assert found.slope == pytest.approx(0.6, abs=0.1)
    assert found.intercept == pytest.approx(0.3, abs=0.1)
    assert found.centre == pytest.approx(10, abs=0.3)


def test_few_nodes_keep_the_slope_small() -> None:
    z = torch.tensor([-1.0, 1, -1, 1])
    logits, labels = torch.tensor([[4.0, 0]] * 4), torch.tensor([0, 1, 0, 1])  # right where z is low
    few = fit_temperature(logits, labels, {"z": z}, covariate="z")
    many = fit_temperature(logits.repeat(50, 1), labels.repeat(50), {"z": z.repeat(50)}, covariate="z")
    assert 0 < few.slope < many.slope


def test_labels_that_are_all_right_or_all_wrong_give_a_finite_temperature() -> None:
    logits = torch.tensor([[1.0, -1], [-1, 1], [1, -1]])  # of spread one
    right, wrong = (fit_temperature(logits, labels, {}) for labels in (logits.argmax(1), logits.argmin(1)))
    assert -MAX_STEP <= right.intercept < -2.0  # down to where the loss is zero
    assert wrong.intercept == pytest.approx(MAX_STEP)
    assert torch.isfinite(apply(right, logits, {})).all()


@pytest.mark.parametrize("logits", [torch.zeros(5, 3), torch.randn(5, 1)], ids=["equal logits", "one class"])
def test_uninformative_logits_keep_their_softmax(logits: Tensor) -> None:
    found = fit_temperature(logits, torch.zeros(5, dtype=torch.long), {"z": torch.ones(5)}, covariate="z")
    torch.testing.assert_close(apply(found, logits, {"z": torch.ones(5)}), logits.double().log_softmax(1))


def test_a_covariate_that_is_not_there_or_of_the_wrong_length() -> None:
    temperature = Temperature(covariate="degree")
    with pytest.raises(UsageError, match="unknown covariate 'degree': choose from precision"):
        apply(temperature, torch.zeros(3, 2), {"precision": torch.ones(3)})
    with pytest.raises(DataError, match=r"expected one number per node, 3, got \(2,\)"):
        apply(temperature, torch.zeros(3, 2), {"degree": torch.ones(2)})


def test_the_gradient_of_the_loss_is_that_of_finite_differences() -> None:
    random = np.random.default_rng(0)
    logits, labels, z = random.normal(size=(9, 3)), random.integers(0, 3, size=9), random.normal(size=9)
    at = np.array([0.3, -0.4])
    _, gradient = _objective(at, logits, labels, z)
    for place, step in enumerate(np.eye(2) * 1e-6):
        ends = [_objective(at + sign * step, logits, labels, z)[0] for sign in (1, -1)]
        assert gradient[place] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-6)


def test_the_loss_is_the_mean_log_loss_and_the_prior_of_the_slope() -> None:
    logits, labels, z = torch.randn(7, 3, dtype=torch.float64), torch.randint(0, 3, (7,)), torch.randn(7).double()
    found, _ = _objective(np.array([0.3, -0.4]), logits.numpy(), labels.numpy(), z.numpy())
    mean = loss(Temperature(0.3, -0.4, "z"), logits, labels, {"z": z.clamp(-3, 3)})
    assert found == pytest.approx(mean + 0.4**2 / 2 / 7)


def test_a_covariate_is_standardised_by_its_mean_and_deviation() -> None:
    logits, labels = drawn(4, 0.0)
    found = fit_temperature(logits, labels, {"degree": torch.tensor([1.0, 3, 5, 11])}, covariate="degree")
    assert (found.covariate, found.centre) == ("degree", 5.0)
    assert found.spread == pytest.approx(math.sqrt((16 + 4 + 0 + 36) / 4))


def test_the_step_is_bounded_from_the_spread_of_the_logits() -> None:
    logits = 3 * torch.tensor([[2.0, -1, -1], [-1, 2, -1]])  # of deviation 3 sqrt(2)
    wrong = fit_temperature(logits, torch.tensor([1, 0]), {})
    assert wrong.intercept == pytest.approx(4.0 + math.log(3 * math.sqrt(2)))


@pytest.mark.parametrize("sign", [1, -1])
def test_the_slope_is_bounded_by_one_whichever_its_sign(sign: int) -> None:
    z = torch.tensor([-1.0, 1.0]).repeat(500)
    logits = torch.tensor([[9.0, 0]]).repeat(1000, 1)
    labels = (sign * z > 0).long() * torch.arange(2).repeat_interleave(2).repeat(250)  # half wrong at one end
    found = fit_temperature(logits, labels, {"z": z}, covariate="z")
    assert found.slope == pytest.approx(sign)


def test_without_a_temperature_nothing_is_scaled() -> None:
    logits = torch.randn(4, 3)
    torch.testing.assert_close(apply(Temperature(), logits, {}), logits.double().log_softmax(1))
    degree = {"degree": torch.tensor([1.0, -2, 0, 3])}
    scaled = apply(Temperature(slope=0.5, covariate="degree"), logits, degree)  # as it comes, neither moved nor scaled
    expected = logits.double() / (0.5 * degree["degree"].double()).exp()[:, None]
    torch.testing.assert_close(scaled, expected.log_softmax(1))


@pytest.mark.parametrize("z", [2.9, 3.0, 3.5, 1000.0])
def test_a_score_beyond_three_deviations_counts_as_three(z: float) -> None:
    temperature = Temperature(covariate="degree")
    for sign in (1, -1):
        found = temperature.standardised(CalibrationInputs(torch.zeros(1, 2), {"degree": torch.tensor([sign * z])}))
        assert float(found) == pytest.approx(sign * min(z, 3.0))


@pytest.fixture(params=[UNCALIBRATED, *CANDIDATES], ids=lambda calibrator: calibrator.name)
def fitted(request: pytest.FixtureRequest) -> Calibrator:
    """Every calibrator, fitted to eighty labels."""
    logits, labels = drawn(80, 0.5)
    fitted: Calibrator = request.param.fit(inputs_of(logits), labels)
    return fitted


def inputs_of(logits: Tensor) -> CalibrationInputs:
    """With every covariate there is."""
    generator = torch.Generator().manual_seed(3)
    return CalibrationInputs(logits, {k: torch.rand(len(logits), generator=generator) for k in ("degree", "precision")})


def test_every_calibrator_gives_probabilities_in_double_precision(fitted: Calibrator) -> None:
    log_probabilities = fitted.log_probabilities(inputs_of(drawn(80, 0.5)[0]))
    assert log_probabilities.dtype == torch.float64
    torch.testing.assert_close(log_probabilities.exp().sum(1), torch.ones(80, dtype=torch.float64))


def test_every_calibrator_keeps_the_predicted_label(fitted: Calibrator) -> None:
    logits = drawn(80, 0.5)[0]
    assert torch.equal(fitted.log_probabilities(inputs_of(logits)).argmax(1), logits.argmax(1))


def test_every_calibrator_survives_json_to_the_last_bit(fitted: Calibrator) -> None:
    inputs = inputs_of(drawn(30, 0.5)[0])
    again = calibrator_named(fitted.name).from_json(json.loads(json.dumps(fitted.to_json())))
    assert torch.equal(again.log_probabilities(inputs), fitted.log_probabilities(inputs))


def test_every_calibrator_refuses_parameters_that_are_not_its_own(fitted: Calibrator) -> None:
    with pytest.raises(CorruptFileError, match="calibrator: expected the values"):
        fitted.from_json({**fitted.to_json(), "slant": 1.0})


def test_every_calibrator_treats_each_node_by_itself(fitted: Calibrator) -> None:
    inputs = inputs_of(drawn(30, 0.5)[0])
    rows = torch.tensor([4, 7])
    torch.testing.assert_close(fitted.log_probabilities(inputs.at(rows)), fitted.log_probabilities(inputs)[rows])


def test_names_of_calibrators_are_unique_and_known() -> None:
    names = [calibrator.name for calibrator in (UNCALIBRATED, *CANDIDATES)]
    assert len(set(names)) == len(names)
    assert {"none", "temperature", "temperature_by_degree", "temperature_by_precision"} <= set(names)  # in saved runs
    with pytest.raises(UsageError, match="unknown calibrator 'beta'"):
        calibrator_named("beta")


@pytest.mark.parametrize("value", [math.nan, "1", True, None, 301.0, -301.0])
def test_parameters_out_of_range_are_refused(value: object) -> None:
    with pytest.raises(CorruptFileError, match="expected intercept between -300 and 300"):
        Temperature().from_json({**Temperature().to_json(), "intercept": value})


def test_covariates(six_nodes: Graph) -> None:
    precision = torch.tensor([[-0.5, 2.0, 0.0]]).repeat(6, 1)
    logits = torch.tensor([[1.0, 0, 0], [0, 1, 0], [0, 0, 1]]).repeat(2, 1)
    found = CalibrationInputs.of(six_nodes, Prediction(logits, precision=precision)).covariates
    assert found["degree"].tolist() == pytest.approx([math.log(1 + d) for d in (2, 3, 2, 2, 1, 0)])
    assert found["precision"].tolist() == pytest.approx([math.asinh(p) for p in (-0.5, 2, 0, -0.5, 2, 0)])
    assert set(CalibrationInputs.of(six_nodes, Prediction(logits)).covariates) == {"degree"}
