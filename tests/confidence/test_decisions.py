"""Tests by counting, words, and the promise over thousands of draws."""

from __future__ import annotations

import math

import pytest
import torch
from scipy.stats import binom
from torch import Tensor

from confgcn.confidence.decisions import candidate_cuts, decide, fewest_labels, first_size
from confgcn.exceptions import DataError, UsageError


def search(confidence: Tensor, correct: Tensor, everyone: Tensor, max_error: float, delta: float) -> float | None:
    """The procedure by loops over plain numbers."""
    ordered = sorted(everyone.tolist(), reverse=True)
    cuts = [ordered[math.ceil(percent * len(ordered) / 100) - 1] for percent in range(1, 101)]
    found = None
    for cut in cuts:
        above = [c for value, c in zip(confidence.tolist(), correct.tolist(), strict=True) if value >= cut]
        if len(above) < first_size(len(confidence), max_error, delta):
            continue
        if binom.cdf(above.count(False), len(above), max_error) > delta:
            break
        found = cut
    return found


@pytest.mark.parametrize("seed", range(6))
def test_the_cut_is_that_of_plain_loops(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    everyone = torch.rand(900, generator=generator, dtype=torch.float64) ** 0.3
    known = everyone[:400]
    correct = torch.rand(400, generator=generator) < known
    decision = decide(known, correct, everyone, max_error=0.1)
    assert decision.cut == search(known, correct, everyone, 0.1, 0.1)
    if decision.cut is not None:
        assert torch.equal(decision.accepted, everyone >= decision.cut)
        assert decision.observed_error == pytest.approx(float((~correct[known >= decision.cut]).double().mean()))


def test_all_right_accepts_all() -> None:
    confidence = torch.rand(200)
    decision = decide(confidence[:100], torch.ones(100, dtype=torch.bool), confidence)
    assert decision.accepted.all()
    assert decision.observed_error == 0.0
    assert decision.message() == "accept 200 of 200 nodes (100 %), error at most 5 % with 90 % certainty"


def test_all_wrong_accepts_none_whatever_the_labels() -> None:
    confidence = torch.rand(200)
    decision = decide(confidence[:100], torch.zeros(100, dtype=torch.bool), confidence)
    assert decision.cut is None
    assert not decision.accepted.any()
    assert decision.needs_labels is None
    assert decision.message().endswith("cannot be certified: at the error observed no 10,000 labels would do")


@pytest.mark.parametrize(("known", "needed"), [(0, 45), (20, 25), (44, 1)])
def test_too_few_labels_say_how_many_are_missing(known: int, needed: int) -> None:
    confidence = torch.rand(2000)
    decision = decide(torch.ones(known), torch.ones(known, dtype=torch.bool), confidence)
    assert (decision.cut, decision.needs_labels) == (None, needed)
    assert decision.message().endswith(f"cannot be certified: needs about {needed} more labels")


def test_ties_are_accepted_together() -> None:
    confidence = torch.tensor([0.9] * 150 + [0.5] * 150)
    correct = torch.tensor([True] * 150 + [False] * 150)
    decision = decide(confidence, correct, confidence)
    assert decision.cut == pytest.approx(0.9)
    assert int(decision.accepted.sum()) == 150
    assert decision.message().startswith("accept 150 of 300 nodes (50 %)")


def test_cuts_are_the_hundredths_of_all_nodes() -> None:
    assert candidate_cuts(torch.arange(200.0)).tolist() == list(range(198, -1, -2))
    assert candidate_cuts(torch.tensor([0.3])).tolist() == pytest.approx([0.3])
    assert candidate_cuts(torch.ones(7)).tolist() == [1.0]


@pytest.mark.parametrize(("labels", "size"), [(0, 45), (100, 45), (400, 100), (5000, 180)])
def test_the_first_test_is_neither_hopeless_nor_too_large(labels: int, size: int) -> None:
    assert first_size(labels, 0.05, 0.1) == size


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
        if decision.cut is not None:
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
    with pytest.raises(DataError, match="expected one confidence per calibration label, 2, got 3"):
        decide(ones, ones[:2], ones)
    with pytest.raises(DataError, match="expected one per node, got none"):
        decide(ones, ones, ones[:0])
