"""Which predictions can be accepted without review, at a certified error rate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
import torch
from scipy.stats import binom
from torch import Tensor

from confgcn.exceptions import DataError, UsageError

MAX_ERROR, DELTA = 0.05, 0.1  # the usual five percent; the guarantee may fail in one run of ten
NUM_THRESHOLDS = 100
# The first test uses a quarter of the held-out nodes, but at most four times the size that passes without errors: with
# few nodes a single error ends the search, with many the test no longer isolates the most confident ones.
FIRST_SHARE, FIRST_MULTIPLE = 0.25, 4
MAX_LABELS = 10_000  # larger requests for labels are not made
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Decision:
    """Which labels to accept: those predicted with a confidence of at least ``threshold``.

    Attributes:
        threshold: the lowest accepted confidence; None where nothing can be certified.
        accepted: (N,) mask over the candidates; all false without a threshold.
        max_error, delta: with probability 1 - delta the error rate among the accepted nodes is at most max_error.
        held_out_labels: how many labels it was certified with.
        observed_error: error rate of the held-out nodes at or above the threshold.
        labels_needed: without a threshold, about how many more labels of randomly drawn nodes are needed; None where
            no number up to ``MAX_LABELS`` is enough at the observed error rate.
        is_approximate: whether the same labels also chose or calibrated the model, so that nothing is certified.
    """

    threshold: float | None
    accepted: Tensor
    max_error: float
    delta: float
    held_out_labels: int
    observed_error: float | None = None
    labels_needed: int | None = None
    is_approximate: bool = False

    def as_record(self) -> dict[str, float | int | bool | None]:
        """The decision as numbers that JSON can hold."""
        return {
            "max_error": self.max_error,
            "delta": self.delta,
            "certified": self.threshold is not None and not self.is_approximate,
            "approximate": self.is_approximate,
            "threshold": self.threshold,
            "accepted": int(self.accepted.sum()),
            "candidates": len(self.accepted),
            "held_out_labels": self.held_out_labels,
            "observed_error": self.observed_error,
            "labels_needed": self.labels_needed,
        }


def decide(
    held_out_confidence: Tensor,
    held_out_correct: Tensor,
    confidence: Tensor,
    *,
    max_error: float = MAX_ERROR,
    delta: float = DELTA,
) -> Decision:
    r"""Find the lowest confidence threshold whose error rate held-out labels certify.

    With k errors among the n held-out nodes at or above a threshold t, the hypothesis that its error rate exceeds
    ``max_error`` has the p-value

    .. math:: p_t = P(\mathrm{Binomial}(n, \text{max\_error}) \le k)

    Thresholds are tested from high to low, each at level ``delta``, until the first test fails. With probability
    1 - delta no threshold passes wrongly (fixed sequence testing; Angelopoulos, Bates, Candès, Jordan, Lei: Learn then
    test, 2021; Geifman, El-Yaniv, NeurIPS 2017, correct for a search instead). The thresholds are quantiles of the
    confidences of all candidates, and the size of the first test is fixed in advance: labels choose neither.

    The guarantee holds for candidates drawn like the held-out nodes, and for confidences that do not depend on the
    held-out labels.

    Shapes: ``held_out_confidence`` (n,), ``held_out_correct`` (n,), ``confidence`` (N,) of the candidates.
    """
    _check(held_out_confidence, held_out_correct, confidence, max_error, delta)
    candidates, known = confidence.double(), held_out_confidence.double()
    thresholds = candidate_thresholds(candidates)
    sizes = _count_at_least(thresholds, known)
    errors = _count_at_least(thresholds, known[~held_out_correct.bool()])
    last = _last_passed(sizes, errors, first_test_size(len(known), max_error, delta), max_error, delta)
    if last is None:
        shares = _count_at_least(thresholds, candidates) / len(candidates)
        needed = _labels_needed(shares, sizes, errors, max_error, delta)
        nothing = torch.zeros(len(candidates), dtype=torch.bool)
        return Decision(None, nothing, max_error, delta, len(known), labels_needed=needed)
    accepted, observed = candidates >= thresholds[last], float(errors[last] / sizes[last])
    return Decision(float(thresholds[last]), accepted, max_error, delta, len(known), observed)


def candidate_thresholds(confidence: Tensor) -> Tensor:
    """The confidences that 1, 2, ..., 100 percent of the candidates reach, from high to low."""
    places = (torch.arange(1, NUM_THRESHOLDS + 1) * len(confidence) + NUM_THRESHOLDS - 1) // NUM_THRESHOLDS - 1
    thresholds: Tensor = confidence.sort(descending=True).values[places].unique().flip(0)
    return thresholds


def first_test_size(num_labels: int, max_error: float, delta: float) -> float:
    """How many held-out nodes the first test uses: enough to pass, with room for a few errors where there are more."""
    enough = _enough_without_errors(max_error, delta)
    return max(enough, min(FIRST_SHARE * num_labels, FIRST_MULTIPLE * enough))


def fewest_labels(error_rate: float, max_error: float, delta: float) -> int | None:
    """The smallest n at which a test with this error rate passes; None above ``MAX_LABELS``."""
    sizes = _sizes_by_errors(max_error, delta)
    passes = np.floor(error_rate * sizes + ROUNDING) <= np.arange(len(sizes))
    return int(sizes[passes.argmax()]) if passes.any() else None


@cache
def _sizes_by_errors(max_error: float, delta: float) -> npt.NDArray[np.int64]:
    """The smallest n at which a test passes with 0, 1, 2, ... errors."""
    sizes = np.arange(1, MAX_LABELS + 1)
    tolerated = binom.ppf(delta, sizes, max_error) - 1
    return sizes[np.searchsorted(tolerated, np.arange(tolerated[-1] + 1))]


def _last_passed(sizes: Tensor, errors: Tensor, first: float, max_error: float, delta: float) -> int | None:
    """The last threshold before the first failed test; None where that is the first one, or nothing is tested."""
    passes = torch.from_numpy(binom.cdf(errors.numpy(), sizes.numpy(), max_error)) <= delta
    tested = (sizes >= first).nonzero().squeeze(1)
    count = int(passes[tested].long().cumprod(0).sum())
    return int(tested[count - 1]) if count else None


def _enough_without_errors(max_error: float, delta: float) -> int:
    return math.ceil(math.log(delta) / math.log(1 - max_error) - ROUNDING)


def _count_at_least(thresholds: Tensor, confidence: Tensor) -> Tensor:
    """How many of the confidences reach each threshold."""
    return len(confidence) - torch.searchsorted(confidence.sort().values, thresholds)


def _labels_needed(shares: Tensor, sizes: Tensor, errors: Tensor, max_error: float, delta: float) -> int | None:
    """How many more labels of random nodes make the easiest threshold pass the first test at its error rate so far."""
    enough = _enough_without_errors(max_error, delta)
    needed = []
    for share, size, wrong in zip(shares.tolist(), sizes.tolist(), errors.tolist(), strict=True):
        fewest = fewest_labels(wrong / max(size, 1), max_error, delta)
        least = enough if share >= FIRST_SHARE else FIRST_MULTIPLE * enough
        if fewest is not None and max(fewest, least) > size:
            needed.append((max(fewest, least) - size) / share)
    return math.ceil(min(needed) - ROUNDING) if needed else None


def _check(held_out: Tensor, correct: Tensor, confidence: Tensor, max_error: float, delta: float) -> None:
    for name, value in (("max_error", max_error), ("delta", delta)):
        if not 0 < value < 1:
            raise UsageError(f"{name} = {value}: expected a share between 0 and 1, such as 0.05")
    if len(held_out) != len(correct):
        raise DataError(f"expected one confidence per held-out label, {len(correct)}, got {len(held_out)}")
    if not len(confidence):
        raise DataError("confidence: expected one per candidate node, got none")
