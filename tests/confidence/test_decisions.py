"""Thresholds by counting, records, and the guarantee over thousands of draws."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from scipy.stats import binom
from torch import Tensor

from confgcn.confidence.decisions import (
    _count_at_least,
    _labels_needed,
    _last_passed,
    candidate_thresholds,
    decide,
    fewest_labels,
    first_test_size,
)
from confgcn.exceptions import DataError, UsageError


def search(confidence: Tensor, correct: Tensor, everyone: Tensor, max_error: float, delta: float) -> float | None:
    """The procedure by loops over plain numbers."""
    ordered = sorted(everyone.tolist(), reverse=True)
    cuts = [ordered[math.ceil(percent * len(ordered) / 100) - 1] for percent in range(1, 101)]
    found = None
    for cut in cuts:
        above = [c for value, c in zip(confidence.tolist(), correct.tolist(), strict=True) if value >= cut]
        if len(above) < first_test_size(len(confidence), max_error, delta):
            continue
        if binom.cdf(above.count(False), len(above), max_error) > delta:
            break
        found = cut
    return found


@pytest.mark.parametrize("seed", range(6))
def test_the_threshold_is_that_of_plain_loops(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    everyone = torch.rand(900, generator=generator, dtype=torch.float64) ** 0.3
    known = everyone[:400]
    correct = torch.rand(400, generator=generator) < known
    decision = decide(known, correct, everyone, max_error=0.1)
    assert decision.threshold == search(known, correct, everyone, 0.1, 0.1)
    if decision.threshold is not None:
        assert torch.equal(decision.accepted, everyone >= decision.threshold)
        assert decision.observed_error == pytest.approx(float((~correct[known >= decision.threshold]).double().mean()))


def test_all_right_accepts_all() -> None:
    confidence = torch.rand(200)
    decision = decide(confidence[:100], torch.ones(100, dtype=torch.bool), confidence)
    assert decision.accepted.all()
    assert decision.observed_error == 0.0
    assert decision.as_record() == {
        "max_error": 0.05,
        "delta": 0.1,
        "certified": True,
        "approximate": False,
        "threshold": decision.threshold,
        "accepted": 200,
        "candidates": 200,
        "held_out_labels": 100,
        "observed_error": 0.0,
        "labels_needed": None,
    }


def test_a_decision_by_labels_that_chose_the_model_is_approximate_and_not_certified() -> None:
    confidence = torch.rand(200)
    decision = replace(decide(confidence[:100], torch.ones(100, dtype=torch.bool), confidence), is_approximate=True)
    record = decision.as_record()
    assert (record["certified"], record["approximate"], record["accepted"]) == (False, True, 200)


def test_all_wrong_accepts_none_whatever_the_labels() -> None:
    confidence = torch.rand(200)
    decision = decide(confidence[:100], torch.zeros(100, dtype=torch.bool), confidence)
    assert decision.threshold is None
    assert not decision.accepted.any()
    assert decision.labels_needed is None
    assert (decision.as_record()["certified"], decision.as_record()["accepted"]) == (False, 0)


@pytest.mark.parametrize(("known", "needed"), [(0, 45), (20, 25), (44, 1)])
def test_too_few_labels_say_how_many_are_missing(known: int, needed: int) -> None:
    confidence = torch.rand(2000)
    decision = decide(torch.ones(known), torch.ones(known, dtype=torch.bool), confidence)
    assert (decision.threshold, decision.labels_needed) == (None, needed)
    assert decision.as_record()["labels_needed"] == needed


def test_ties_are_accepted_together() -> None:
    confidence = torch.tensor([0.9] * 150 + [0.5] * 150)
    correct = torch.tensor([True] * 150 + [False] * 150)
    decision = decide(confidence, correct, confidence)
    assert decision.threshold == pytest.approx(0.9)
    assert int(decision.accepted.sum()) == 150
    assert (decision.as_record()["accepted"], decision.as_record()["candidates"]) == (150, 300)


def test_thresholds_are_the_percentiles_of_all_nodes() -> None:
    assert candidate_thresholds(torch.arange(200.0)).tolist() == list(range(198, -1, -2))
    assert candidate_thresholds(torch.tensor([0.3])).tolist() == pytest.approx([0.3])
    assert candidate_thresholds(torch.ones(7)).tolist() == [1.0]


@pytest.mark.parametrize(("labels", "size"), [(0, 45), (100, 45), (400, 100), (5000, 180)])
def test_the_first_test_is_neither_hopeless_nor_too_large(labels: int, size: int) -> None:
    assert first_test_size(labels, 0.05, 0.1) == size


@pytest.mark.parametrize(("rate", "max_error", "delta"), [(0.0, 0.05, 0.1), (0.02, 0.05, 0.1), (0.1, 0.2, 0.01)])
def test_the_fewest_labels_are_the_first_that_pass(rate: float, max_error: float, delta: float) -> None:
    passing = (n for n in range(1, 2000) if binom.cdf(math.floor(rate * n + 1e-9), n, max_error) <= delta)
    assert fewest_labels(rate, max_error, delta) == next(passing)
    if not rate:
        assert fewest_labels(rate, max_error, delta) == math.ceil(math.log(delta) / math.log(1 - max_error))


def test_no_number_of_labels_helps_against_too_many_errors() -> None:
    assert fewest_labels(0.06, 0.05, 0.1) is None


@pytest.mark.parametrize(
    ("lowest", "highest", "least"),
    [(0.0505, 0.0505, 0.06), (0.08, 0.0, 0.35), (0.0, 0.3, 0.0)],
    ids=["just over", "falling", "upside down"],
)
def test_the_error_is_kept_in_all_but_a_tenth_of_draws(lowest: float, highest: float, least: float) -> None:
    """The error goes from the first share at the least confidence to the second at the highest."""
    generator = torch.Generator().manual_seed(0)
    broken = certified = 0
    max_error, delta, draws = 0.05, 0.1, 2000
    everyone = torch.linspace(0, 1, 501, dtype=torch.float64)
    error = lowest + (highest - lowest) * everyone
    for _ in range(draws):
        known = torch.randint(501, (100,), generator=generator)
        correct = torch.rand(100, generator=generator, dtype=torch.float64) >= error[known]
        decision = decide(everyone[known], correct, everyone, max_error=max_error, delta=delta)
        if decision.threshold is not None:
            certified += 1
            broken += float(error[decision.accepted].mean()) > max_error
    assert broken / draws <= delta + 2 * math.sqrt(delta * (1 - delta) / draws)
    assert certified / draws >= least  # a promise is easily kept by one who accepts nothing


def test_what_can_not_be_decided() -> None:
    ones = torch.ones(3)
    with pytest.raises(UsageError, match="max_error = 5: expected a share between 0 and 1"):
        decide(ones, ones, ones, max_error=5)
    with pytest.raises(UsageError, match="delta = 0"):
        decide(ones, ones, ones, delta=0)
    with pytest.raises(DataError, match="expected one confidence per held-out label, 2, got 3"):
        decide(ones, ones[:2], ones)
    with pytest.raises(DataError, match="expected one per candidate node, got none"):
        decide(ones, ones, ones[:0])


@pytest.mark.parametrize("value", [-0.1, 0, 1, 1.5])
@pytest.mark.parametrize("name", ["max_error", "delta"])
def test_a_share_that_is_none_is_refused_by_name(name: str, value: float) -> None:
    with pytest.raises(UsageError, match=f"{name} = {value}: expected a share between 0 and 1"):
        decide(torch.ones(3), torch.ones(3), torch.ones(3), **{name: value})


def labels_needed(confidence: Tensor, correct: Tensor, everyone: Tensor, max_error: float, delta: float) -> int | None:
    """How many more labels the easiest cut wants, by loops over plain numbers."""
    enough = math.ceil(math.log(delta) / math.log(1 - max_error) - 1e-9)
    needed = []
    for cut in {float(cut) for cut in candidate_thresholds(everyone)}:
        above = [c for value, c in zip(confidence.tolist(), correct.tolist(), strict=True) if value >= cut]
        share = sum(value >= cut for value in everyone.tolist()) / len(everyone)
        fewest = fewest_labels(above.count(False) / len(above) if above else 0.0, max_error, delta)
        least = enough if share >= 0.25 else 4 * enough
        if fewest is not None and max(fewest, least) > len(above):
            needed.append((max(fewest, least) - len(above)) / share)
    return math.ceil(min(needed) - 1e-9) if needed else None


@pytest.mark.parametrize("error", [0.0, 0.02, 0.2])
@pytest.mark.parametrize("known", [3, 20, 41])
def test_the_labels_that_are_missing_are_those_of_plain_loops(known: int, error: float) -> None:
    generator = torch.Generator().manual_seed(known)
    everyone = torch.rand(1000, generator=generator, dtype=torch.float64)
    correct = torch.rand(known, generator=generator) >= error
    decision = decide(everyone[:known], correct, everyone)
    assert decision.threshold is None
    assert decision.labels_needed == labels_needed(everyone[:known], correct, everyone, 0.05, 0.1)


def test_a_quarter_of_the_nodes_needs_enough_to_pass_and_fewer_need_four_times_as_many() -> None:
    nothing = torch.zeros(1, dtype=torch.long)
    for share, needed in ((0.25, 45 / 0.25), (0.24, 4 * 45 / 0.24)):
        shares = torch.tensor([share], dtype=torch.float64)
        assert _labels_needed(shares, nothing, nothing, 0.05, 0.1) == math.ceil(needed - 1e-9)


def test_the_defaults_are_five_percent_error_at_ninety_percent_certainty() -> None:
    confidence = torch.linspace(0, 1, 300)
    correct = confidence > 0.05
    decision = decide(confidence, correct, confidence)
    assert (decision.max_error, decision.delta) == (0.05, 0.1)
    assert (
        decision.threshold == decide(confidence, correct, confidence, max_error=0.05, delta=0.1).threshold is not None
    )


@pytest.mark.parametrize(
    ("sizes", "errors", "last"),
    [
        ([40, 50, 60, 70], [0, 0, 0, 9], 2),
        ([40, 50, 60, 70], [0, 3, 0, 0], None),  # the first that is tested fails, and the search is over
        ([40, 44, 44, 44], [0, 0, 0, 0], None),
        ([45, 45, 80, 90], [0, 0, 4, 0], 1),
    ],
)
def test_the_last_threshold_before_one_fails_is_taken(sizes: list[int], errors: list[int], last: int | None) -> None:
    assert _last_passed(torch.tensor(sizes), torch.tensor(errors), 45.0, 0.05, 0.1) == last


def test_a_confidence_equal_to_a_threshold_reaches_it() -> None:
    found = _count_at_least(torch.tensor([0.9, 0.5, 0.1]), torch.tensor([0.5, 0.95, 0.2, 0.5]))
    assert found.tolist() == [1, 3, 4]


@pytest.mark.parametrize(
    ("max_error", "delta", "count"), [(0.5, 0.25, 2), (0.5, 0.125, 3), (0.1, 0.9, 1), (0.05, 0.1, 45), (0.2, 0.5, 4)]
)
def test_enough_without_errors_is_the_first_power_down_to_the_level(max_error: float, delta: float, count: int) -> None:
    assert first_test_size(0, max_error, delta) == count  # powers of one half have no rounding to hide behind
