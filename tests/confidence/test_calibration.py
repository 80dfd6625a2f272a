"""Which calibrator is chosen, on labels drawn from a known temperature, and how unlabelled components are flattened."""

from __future__ import annotations

import json
import math
from collections import Counter

import numpy as np
import pytest
import torch
from scipy.stats import binom
from torch import Tensor

from confgcn.confidence.calibration import (
    MAX_FLATTENING,
    RISK,
    Calibration,
    _is_clearly_less,
    choose_calibrator,
    cross_validated_losses,
    fit_calibration,
    fit_flattening,
    flattened,
    stratified_folds,
)
from confgcn.confidence.calibrators import CANDIDATES, UNCALIBRATED, CalibrationInputs, Calibrator, Temperature
from confgcn.exceptions import CorruptFileError, DataError
from confgcn.graph import Graph
from confgcn.models.base import Prediction

BY_DEGREE = "temperature_by_degree"
TEMPERATURES = [Temperature(covariate=name) for name in (None, "degree", "precision")]


def drawn(count: int, log_temperature: Tensor) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    logits = 3 * torch.randn(count, 4, generator=generator)
    probabilities = (logits / log_temperature.exp()[:, None]).softmax(1)
    return logits, torch.multinomial(probabilities, 1, generator=generator).squeeze(1)


def edgeless(labels: Tensor, **splits: list[int]) -> Graph:
    return Graph.build([], np.ones((len(labels), 1)), labels.numpy(), class_names=list("abcd"), **splits)


@pytest.fixture
def degree() -> Tensor:
    return torch.randn(800, generator=torch.Generator().manual_seed(2))


def test_one_temperature_is_chosen_where_the_covariate_does_not_matter(degree: Tensor) -> None:
    logits, labels = drawn(800, torch.full((800,), 0.7))
    inputs = CalibrationInputs(logits, {"degree": degree}).at(slice(600))
    found, losses = choose_calibrator(inputs, labels[:600], candidates=TEMPERATURES)
    assert isinstance(found, Temperature)
    assert found.covariate is None
    assert found.intercept == pytest.approx(0.7, abs=0.15)
    assert set(losses) == {"none", "temperature", BY_DEGREE}
    assert losses["temperature"] < losses["none"]


def test_a_candidate_needs_its_covariates(degree: Tensor) -> None:
    logits, labels = drawn(800, torch.zeros(800))
    without = choose_calibrator(CalibrationInputs(logits), labels, candidates=TEMPERATURES)[1]
    assert set(without) == {"none", "temperature"}
    every = CalibrationInputs(logits, {"degree": degree, "precision": degree.roll(1)})
    assert set(choose_calibrator(every, labels)[1]) == {"none", *(candidate.name for candidate in CANDIDATES)}


def test_the_covariate_is_chosen_where_it_matters_and_lowers_the_loss_of_others(degree: Tensor) -> None:
    logits, labels = drawn(800, 0.8 * degree)
    inputs = CalibrationInputs(logits, {"precision": degree.roll(1), "degree": degree})
    found, log_losses = choose_calibrator(inputs.at(slice(400)), labels[:400])
    assert found.name == BY_DEGREE
    plain, _ = choose_calibrator(CalibrationInputs(logits[:400]), labels[:400])
    others = slice(400, 800)
    losses = [
        float(-fit.log_probabilities(inputs.at(others)).gather(1, labels[others, None]).mean())
        for fit in (found, plain)
    ]
    assert losses[0] < losses[1] - 0.02
    assert log_losses[BY_DEGREE] < log_losses["temperature"]


def test_a_gain_within_its_noise_is_not_enough() -> None:
    logits, labels = drawn(100, torch.zeros(100))
    covariates = torch.randn(40, 100, generator=torch.Generator().manual_seed(0))
    fits = [choose_calibrator(CalibrationInputs(logits, {"degree": degree}), labels) for degree in covariates]
    lower = [losses[BY_DEGREE] < losses["temperature"] for _, losses in fits]
    chosen = [calibrator.name == BY_DEGREE for calibrator, _ in fits]
    assert sum(chosen) <= 40 * 0.16  # a normal variate exceeds one standard deviation
    assert sum(chosen) < sum(lower)


def test_of_several_better_candidates_the_best_is_chosen(degree: Tensor) -> None:
    logits, labels = drawn(800, 0.8 * degree)
    noisy = degree + 0.7 * torch.randn(800, generator=torch.Generator().manual_seed(5))
    inputs = CalibrationInputs(logits, {"degree": noisy, "precision": degree})
    assert choose_calibrator(inputs, labels)[0].name == "temperature_by_precision"
    candidates = (Temperature(), Temperature(covariate="degree"))
    assert choose_calibrator(inputs, labels, candidates=candidates)[0].name == BY_DEGREE


def test_only_held_out_labels_are_used() -> None:
    logits, labels = drawn(80, torch.zeros(80))
    nodes, prediction = torch.arange(30), Prediction(logits)
    hidden = torch.where(torch.arange(80) < 30, labels, -1)
    assert fit_calibration(edgeless(hidden), prediction, nodes) == fit_calibration(edgeless(labels), prediction, nodes)


@pytest.mark.parametrize(("count", "name"), [(0, "none"), (9, "none"), (10, "temperature")])
def test_with_too_few_labels_nothing_is_calibrated(count: int, name: str) -> None:
    logits, labels = drawn(20, torch.full((20,), 2.0))
    found, losses = choose_calibrator(CalibrationInputs(logits[:count]), labels[:count])
    assert found.name == name
    assert bool(losses) is (name != "none")
    unchanged = torch.allclose(found.log_probabilities(CalibrationInputs(logits)), logits.double().log_softmax(1))
    assert unchanged is (name == "none")


def test_a_constant_covariate_is_never_chosen() -> None:
    logits, labels = drawn(100, torch.zeros(100))
    inputs = CalibrationInputs(logits, {"degree": torch.ones(100)})
    assert choose_calibrator(inputs, labels)[0].name == "temperature"


def test_the_order_of_labels_stays(degree: Tensor) -> None:
    logits, labels = drawn(800, 0.8 * degree)
    inputs = CalibrationInputs(logits, {"degree": degree})
    calibrated = choose_calibrator(inputs.at(slice(400)), labels[:400])[0].log_probabilities(inputs)
    assert torch.equal(calibrated.argsort(1), logits.argsort(1))


def test_the_global_random_state_is_not_touched() -> None:
    logits, labels = drawn(50, torch.zeros(50))
    before = torch.get_rng_state()
    choose_calibrator(CalibrationInputs(logits), labels)
    assert torch.equal(torch.get_rng_state(), before)


def test_folds_spread_every_class_evenly() -> None:
    labels = torch.tensor([0] * 11 + [1] * 5 + [2] * 4)
    fold = stratified_folds(labels, 5, seed=0)
    for label in range(3):
        sizes = Counter(fold[labels == label].tolist())
        assert max(sizes.values()) - min(sizes.get(number, 0) for number in range(5)) <= 1
    assert not torch.equal(fold, stratified_folds(labels, 5, seed=1))


def test_json_there_and_back() -> None:
    calibration = Calibration(Temperature(0.1, 0.2, "degree", 3.0, 4.0), 0.25, {"none": 1.0, BY_DEGREE: 0.5}, 12)
    assert Calibration.from_json(json.loads(json.dumps(calibration.to_json()))) == calibration
    assert Calibration.from_json(json.loads(json.dumps(Calibration().to_json()))) == Calibration()


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"more": 1}, "expected the values calibrator, parameters, flattening, log_losses, num_labels"),
        ({"num_labels": "1"}, "expected the values"),
        ({"flattening": -1.0}, "expected flattening from 0 to 8"),
        ({"flattening": math.nan}, "expected flattening from 0 to 8"),
        ({"log_losses": {"none": math.inf}}, "expected finite log_losses"),
        ({"parameters": {"slant": 1}}, "calibrator: expected the values"),
    ],
)
def test_a_record_of_something_else_is_refused(changes: dict[str, object], problem: str) -> None:
    with pytest.raises(CorruptFileError, match=problem):
        Calibration.from_json({**Calibration(Temperature()).to_json(), **changes})


def test_nodes_without_a_label_are_refused() -> None:
    with pytest.raises(DataError, match="expected a label for each of its 2 nodes"):
        fit_calibration(edgeless(torch.tensor([0, -1])), Prediction(torch.zeros(2, 4)), torch.arange(2))


def test_five_folds_are_drawn_from_seed_zero_by_default() -> None:
    logits, labels = drawn(60, torch.full((60,), 0.5))
    inputs = CalibrationInputs(logits)
    found = choose_calibrator(inputs, labels)
    assert found == choose_calibrator(inputs, labels, folds=5, seed=0)
    for other in ({"folds": 4}, {"folds": 6}, {"seed": 1}):
        assert choose_calibrator(inputs, labels, **other)[1] != found[1]


@pytest.mark.parametrize("calibrator", [UNCALIBRATED, *CANDIDATES[:2]], ids=lambda calibrator: calibrator.name)
def test_the_loss_of_a_fold_is_that_of_a_calibrator_fitted_to_the_others(calibrator: Calibrator) -> None:
    logits, labels = drawn(30, torch.full((30,), 0.5))
    inputs = CalibrationInputs(logits, {"degree": torch.randn(30)})
    fold = stratified_folds(labels, 3, seed=0)
    expected = torch.empty(30, dtype=torch.float64)
    for number in range(3):
        rest = (fold != number).nonzero().squeeze(1)
        fitted = calibrator.fit(inputs.at(rest), labels[rest])
        for node in (fold == number).nonzero().squeeze(1).tolist():
            expected[node] = -fitted.log_probabilities(inputs.at(slice(node, node + 1)))[0, labels[node]]
    torch.testing.assert_close(cross_validated_losses(calibrator, inputs, labels, fold), expected)


@pytest.mark.parametrize(("than", "clearly"), [([3.0, 5, 4], True), ([1.0, 9, 2], False), ([3.0, 3, 3], False)])
def test_less_by_more_than_a_standard_error_is_clearly_less(than: list[float], clearly: bool) -> None:
    # gains 0, 2, 1 with a standard error of 1 / sqrt(3); gains -2, 6, -1 of 2.5; and none at all
    assert _is_clearly_less(torch.full((3,), 3.0), torch.tensor(than)) is clearly


@pytest.mark.parametrize(("shift", "clearly"), [(0.99, False), (1.01, True)])
def test_the_standard_error_is_that_of_the_mean_difference(shift: float, clearly: bool) -> None:
    gains = torch.tensor([-3.0, 1, 5, -3], dtype=torch.float64)  # of mean zero
    error = math.sqrt((9 + 1 + 25 + 9) / 3 / 4)
    assert _is_clearly_less(torch.zeros(4), gains + shift * error) is clearly


def test_equal_labels_are_dealt_out_to_the_folds_in_turn() -> None:
    assert sorted(stratified_folds(torch.zeros(7, dtype=torch.long), 3, seed=0).tolist()) == [0, 0, 0, 1, 1, 2, 2]


def test_without_labels_nothing_is_scaled() -> None:
    logits, labels = drawn(6, torch.zeros(6))
    graph = edgeless(labels, train=list(range(6)))
    found = Calibration().probabilities(graph, Prediction(logits))
    torch.testing.assert_close(found, logits.double().softmax(1))
    assert (Calibration().name, Calibration().num_labels, Calibration().log_losses) == ("none", 0, {})


CLASSES = 4


@pytest.fixture
def log_probabilities() -> Tensor:
    """Of forty nodes with high confidences."""
    logits = 9 * torch.randn(40, CLASSES, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    return logits.log_softmax(1)


@pytest.fixture
def unlabelled() -> Tensor:
    return torch.arange(40) >= 20


def labels_of(log_probabilities: Tensor, wrong: list[int]) -> Tensor:
    """As predicted, but for these nodes."""
    labels = log_probabilities.argmax(1)
    labels[wrong] = (labels[wrong] + 1) % CLASSES
    return labels


def flattening_of(log_probabilities: Tensor, labels: Tensor, unlabelled: Tensor, nodes: Tensor) -> float:
    """Fitted to the rows of the mask, with the held-out ``nodes`` among them."""
    rows = unlabelled.nonzero().squeeze(1)
    held_out = torch.isin(rows, nodes).nonzero().squeeze(1)
    return fit_flattening(log_probabilities[rows], labels[rows], held_out)


def mean_confidence(log_probabilities: Tensor) -> float:
    return float(log_probabilities.exp().max(1).values.mean())


def lower_bound(right: int, count: int) -> float:
    """The Clopper-Pearson bound by bisection."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if binom.sf(right - 1, count, middle) < RISK else (low, middle)
    return low


def test_only_components_without_a_training_label_are_flattened() -> None:
    edges = [(0, 1), (1, 2), (3, 4), (6, 7)]  # 5 and 8 isolated
    graph = Graph.build(edges, np.eye(9), [0, 1] * 4 + [0], train=[0, 8], validation=[3], test=[7])
    prediction = Prediction(torch.randn(9, 2))
    raw, flat = (Calibration(flattening=by).probabilities(graph, prediction) for by in (0.0, 1.0))
    assert (raw != flat).any(1).tolist() == [False, False, False, True, True, True, True, True, False]


@pytest.mark.parametrize("wrong", [[], [20, 21], [20, 21, 22, 23]], ids=["all right", "two wrong", "four wrong"])
def test_the_mean_confidence_is_the_lower_bound_of_the_accuracy(
    log_probabilities: Tensor, unlabelled: Tensor, wrong: list[int]
) -> None:
    labels, nodes = labels_of(log_probabilities, wrong), torch.tensor([0, 1, 2, *range(20, 30)])
    bound = lower_bound(10 - len(wrong), 10)
    assert 1 / CLASSES < bound < mean_confidence(log_probabilities[unlabelled])
    flattening = flattening_of(log_probabilities, labels, unlabelled, nodes)
    flat = flattened(log_probabilities, unlabelled, flattening)
    assert 0 < flattening < MAX_FLATTENING
    assert mean_confidence(flat[unlabelled]) <= bound + 1e-12
    assert mean_confidence(flat[unlabelled]) == pytest.approx(bound, abs=1e-6)  # and no more flattening than needed


def test_only_held_out_nodes_of_unlabelled_components_are_used(log_probabilities: Tensor, unlabelled: Tensor) -> None:
    nodes = torch.tensor([0, 1, 2, *range(20, 30)])
    expected = flattening_of(log_probabilities, labels_of(log_probabilities, [20]), unlabelled, nodes)
    elsewhere = labels_of(log_probabilities, [0, 1, 2, 20, *range(30, 40)])
    assert flattening_of(log_probabilities, elsewhere, unlabelled, nodes) == expected
    hidden = torch.full_like(elsewhere, -1).index_copy(0, nodes, elsewhere[nodes])
    assert flattening_of(log_probabilities, hidden, unlabelled, nodes) == expected
    assert flattening_of(log_probabilities, labels_of(log_probabilities, [20, 21]), unlabelled, nodes) > expected


@pytest.mark.parametrize("nodes", [[], [0, 5, 19], [20, 21]], ids=["none", "elsewhere", "all wrong"])
def test_without_correct_held_out_nodes_probabilities_are_uniform(
    log_probabilities: Tensor, unlabelled: Tensor, nodes: list[int]
) -> None:
    labels = labels_of(log_probabilities, [20, 21])
    held_out = torch.tensor(nodes, dtype=torch.long)
    flattening = flattening_of(log_probabilities, labels, unlabelled, held_out)
    flat = flattened(log_probabilities, unlabelled, flattening)[unlabelled].exp()
    torch.testing.assert_close(flat, torch.full_like(flat, 1 / CLASSES), atol=2e-3, rtol=0)


@pytest.mark.parametrize("flattening", [0.0, 0.7, MAX_FLATTENING])
def test_other_nodes_keep_their_bits_and_no_label_changes(
    log_probabilities: Tensor, unlabelled: Tensor, flattening: float
) -> None:
    flat = flattened(log_probabilities, unlabelled, flattening)
    assert torch.equal(flat[~unlabelled], log_probabilities[~unlabelled])
    assert torch.equal(flat[unlabelled], log_probabilities[unlabelled]) is (flattening == 0)
    assert torch.equal(flat.argsort(1), log_probabilities.argsort(1))
    torch.testing.assert_close(flat.exp().sum(1), torch.ones(40, dtype=torch.float64))


def test_flattening_is_by_a_temperature(log_probabilities: Tensor, unlabelled: Tensor) -> None:
    flattening = 0.7
    flat = flattened(log_probabilities, unlabelled, flattening)
    for row, found in zip(log_probabilities[unlabelled], flat[unlabelled], strict=True):
        powers = [float(p) ** np.exp(-flattening) for p in row.exp()]
        assert found.exp().tolist() == pytest.approx([power / sum(powers) for power in powers])


def test_without_unlabelled_components_nothing_is_flattened(log_probabilities: Tensor) -> None:
    nobody = torch.zeros(40, dtype=torch.bool)
    labels = labels_of(log_probabilities, list(range(40)))
    assert flattening_of(log_probabilities, labels, nobody, torch.arange(40)) == 0.0


def test_low_confidences_are_not_flattened(unlabelled: Tensor) -> None:
    low = (0.01 * torch.randn(40, CLASSES, dtype=torch.float64)).log_softmax(1)
    assert flattening_of(low, low.argmax(1), unlabelled, torch.arange(20, 40)) == 0.0


def test_ten_correct_of_ten_give_the_tenth_root_of_the_risk(log_probabilities: Tensor, unlabelled: Tensor) -> None:
    flattening = flattening_of(log_probabilities, log_probabilities.argmax(1), unlabelled, torch.arange(20, 30))
    mean = mean_confidence(flattened(log_probabilities, unlabelled, flattening)[unlabelled])
    assert mean == pytest.approx(0.25 ** (1 / 10), abs=1e-9)


def test_flattening_is_bounded(log_probabilities: Tensor, unlabelled: Tensor) -> None:
    nobody = torch.empty(0, dtype=torch.long)
    assert flattening_of(log_probabilities, log_probabilities.argmax(1), unlabelled, nobody) == MAX_FLATTENING == 8.0


def test_uniform_probabilities_are_not_flattened(unlabelled: Tensor) -> None:
    flat = torch.zeros(40, CLASSES, dtype=torch.float64).log_softmax(1)
    assert flattening_of(flat, flat.argmax(1), unlabelled, torch.empty(0, dtype=torch.long)) == 0.0
