"""Which scaling is chosen, on labels drawn from a known temperature."""

from __future__ import annotations

import json
import math
from collections import Counter

import pytest
import torch
from torch import Tensor

from confgcn.confidence.calibration import (
    NO_CALIBRATION,
    Calibration,
    _clearly_less,
    _out_of_fold,
    covariates_of,
    fit_calibration,
    stratified_folds,
)
from confgcn.confidence.temperature import Temperature, fit_temperature
from confgcn.exceptions import CorruptFileError, DataError
from confgcn.graph import Graph
from confgcn.models.base import Prediction


def drawn(count: int, log_temperature: Tensor) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    logits = 3 * torch.randn(count, 4, generator=generator)
    probabilities = (logits / log_temperature.exp()[:, None]).softmax(1)
    return logits, torch.multinomial(probabilities, 1, generator=generator).squeeze(1)


@pytest.fixture
def degree() -> Tensor:
    return torch.randn(800, generator=torch.Generator().manual_seed(2))


def test_one_temperature_is_chosen_where_the_covariate_says_nothing(degree: Tensor) -> None:
    logits, labels = drawn(800, torch.full((800,), 0.7))
    found = fit_calibration(logits, labels, torch.arange(600), {"degree": degree})
    assert found.name == "temperature"
    assert found.temperature.covariate is None
    assert found.temperature.intercept == pytest.approx(0.7, abs=0.15)
    assert set(found.log_losses) == {"none", "temperature", "degree"}
    assert found.log_losses["temperature"] < found.log_losses["none"]
    assert found.num_nodes == 600


def test_the_covariate_is_chosen_where_it_matters_and_lowers_the_loss_of_others(degree: Tensor) -> None:
    logits, labels = drawn(800, 0.8 * degree)
    covariates = {"noise": degree.roll(1), "degree": degree}
    found = fit_calibration(logits, labels, torch.arange(400), covariates)
    assert found.name == found.temperature.covariate == "degree"
    plain = fit_calibration(logits, labels, torch.arange(400), {})
    others = slice(400, 800)
    losses = [
        float(-fit.apply(logits, covariates)[others].gather(1, labels[others, None]).mean()) for fit in (found, plain)
    ]
    assert losses[0] < losses[1] - 0.02
    assert found.log_losses["degree"] < found.log_losses["temperature"]


def test_a_gain_within_its_noise_is_no_reason_to_choose() -> None:
    logits, labels = drawn(100, torch.zeros(100))
    covariates = torch.randn(40, 100, generator=torch.Generator().manual_seed(0))
    fits = [fit_calibration(logits, labels, torch.arange(100), {"degree": degree}) for degree in covariates]
    lower = [fit.log_losses["degree"] < fit.log_losses["temperature"] for fit in fits]
    chosen = [fit.name == "degree" for fit in fits]
    assert sum(chosen) <= 40 * 0.16  # a normal variate exceeds one deviation
    assert sum(chosen) < sum(lower)


def test_only_held_out_nodes_are_looked_at(degree: Tensor) -> None:
    logits, labels = drawn(800, 0.8 * degree)
    hidden = torch.where(torch.arange(800) < 300, labels, -1)
    nodes = torch.arange(300)
    assert fit_calibration(logits, hidden, nodes, {"degree": degree}) == fit_calibration(
        logits, labels, nodes, {"degree": degree}
    )


@pytest.mark.parametrize(("count", "name"), [(0, "none"), (9, "none"), (10, "temperature")])
def test_too_few_labels_change_nothing(count: int, name: str) -> None:
    logits, labels = drawn(20, torch.full((20,), 2.0))
    found = fit_calibration(logits, labels, torch.arange(count), {})
    assert (found.name, found.num_nodes) == (name, count)
    unchanged = torch.allclose(found.apply(logits, {}), logits.double().log_softmax(1))
    assert unchanged is (name == "none")


def test_a_constant_covariate_is_never_chosen() -> None:
    logits, labels = drawn(100, torch.zeros(100))
    assert fit_calibration(logits, labels, torch.arange(100), {"degree": torch.ones(100)}).name == "temperature"


def test_the_order_of_labels_stays(degree: Tensor) -> None:
    logits, labels = drawn(800, 0.8 * degree)
    found = fit_calibration(logits, labels, torch.arange(400), {"degree": degree})
    calibrated = found.apply(logits, {"degree": degree})
    assert torch.equal(calibrated.argsort(1), logits.argsort(1))
    torch.testing.assert_close(calibrated.exp().sum(1), torch.ones(800, dtype=torch.float64))


def test_the_default_stream_is_not_touched() -> None:
    logits, labels = drawn(50, torch.zeros(50))
    before = torch.get_rng_state()
    fit_calibration(logits, labels, torch.arange(50), {})
    assert torch.equal(torch.get_rng_state(), before)


def test_folds_spread_every_class_evenly() -> None:
    labels = torch.tensor([0] * 11 + [1] * 5 + [2] * 4)
    fold = stratified_folds(labels, 5, seed=0)
    for label in range(3):
        sizes = Counter(fold[labels == label].tolist())
        assert max(sizes.values()) - min(sizes.get(number, 0) for number in range(5)) <= 1
    assert not torch.equal(fold, stratified_folds(labels, 5, seed=1))


def test_covariates(six_nodes: Graph) -> None:
    precision = torch.tensor([[-0.5, 2.0, 0.0]]).repeat(6, 1)
    logits = torch.tensor([[1.0, 0, 0], [0, 1, 0], [0, 0, 1]]).repeat(2, 1)
    found = covariates_of(six_nodes, Prediction(logits, precision=precision))
    assert found["degree"].tolist() == pytest.approx([math.log(1 + d) for d in (2, 3, 2, 2, 1, 0)])
    assert found["precision"].tolist() == pytest.approx([math.asinh(p) for p in (-0.5, 2, 0, -0.5, 2, 0)])
    assert set(covariates_of(six_nodes, Prediction(logits))) == {"degree"}


def test_json_there_and_back() -> None:
    calibration = Calibration("degree", Temperature(0.1, 0.2, "degree", 3.0, 4.0), {"none": 1.0, "degree": 0.5}, 12)
    assert Calibration.from_json(json.loads(json.dumps(calibration.to_json()))) == calibration


@pytest.mark.parametrize("record", [{}, {"name": "none", "temperature": {"slant": 1}}])
def test_a_record_of_something_else_is_refused(record: dict[str, object]) -> None:
    with pytest.raises(CorruptFileError, match="expected the values name, temperature, log_losses, num_nodes"):
        Calibration.from_json(record)


def test_nodes_without_a_label_are_refused() -> None:
    with pytest.raises(DataError, match="expected a label for each of its 2 nodes"):
        fit_calibration(torch.zeros(2, 2), torch.tensor([0, -1]), torch.arange(2), {})


def test_five_folds_are_drawn_from_seed_zero_unless_others_are_asked_for() -> None:
    logits, labels = drawn(60, torch.full((60,), 0.5))
    found = fit_calibration(logits, labels, torch.arange(60), {})
    assert found == fit_calibration(logits, labels, torch.arange(60), {}, folds=5, seed=0)
    for other in ({"folds": 4}, {"folds": 6}, {"seed": 1}):
        assert fit_calibration(logits, labels, torch.arange(60), {}, **other).log_losses != found.log_losses


def test_the_loss_of_a_fold_is_that_of_a_temperature_fitted_to_the_others() -> None:
    logits, labels = drawn(30, torch.full((30,), 0.5))
    degree = torch.randn(30)
    fold = stratified_folds(labels, 3, seed=0)
    for name, covariate in (("none", None), ("temperature", None), ("degree", "degree")):
        expected = torch.empty(30, dtype=torch.float64)
        for number in range(3):
            inside, rest = (fold == number).nonzero().squeeze(1), (fold != number).nonzero().squeeze(1)
            scale = fit_temperature(logits[rest], labels[rest], {"degree": degree[rest]}, covariate=covariate)
            scale = Temperature() if name == "none" else scale
            for node in inside.tolist():
                row = scale.apply(logits[[node]], {"degree": degree[[node]]})
                expected[node] = -row[0, labels[node]]
        torch.testing.assert_close(_out_of_fold(logits, labels, {"degree": degree}, fold, name), expected)


@pytest.mark.parametrize(("than", "clearly"), [([3.0, 5, 4], True), ([1.0, 9, 2], False), ([3.0, 3, 3], False)])
def test_less_by_more_than_a_standard_error_is_clearly_less(than: list[float], clearly: bool) -> None:
    # gains 0, 2, 1 with a standard error of 1 / sqrt(3); gains -2, 6, -1 of 2.5; and none at all
    assert _clearly_less(torch.full((3,), 3.0), torch.tensor(than)) is clearly


@pytest.mark.parametrize(("shift", "clearly"), [(0.99, False), (1.01, True)])
def test_the_standard_error_is_that_of_the_mean_difference(shift: float, clearly: bool) -> None:
    gains = torch.tensor([-3.0, 1, 5, -3], dtype=torch.float64)  # of mean zero
    error = math.sqrt((9 + 1 + 25 + 9) / 3 / 4)
    assert _clearly_less(torch.zeros(4), gains + shift * error) is clearly


def test_equal_labels_are_dealt_out_to_the_folds_in_turn() -> None:
    assert sorted(stratified_folds(torch.zeros(7, dtype=torch.long), 3, seed=0).tolist()) == [0, 0, 0, 1, 1, 2, 2]


def test_without_labels_nothing_is_scaled() -> None:
    logits = torch.randn(4, 3)
    torch.testing.assert_close(NO_CALIBRATION.apply(logits, {}), logits.double().log_softmax(1))
    assert (NO_CALIBRATION.name, NO_CALIBRATION.num_nodes, NO_CALIBRATION.log_losses) == ("none", 0, {})
