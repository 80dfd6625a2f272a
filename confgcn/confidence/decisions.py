"""Which predictions may be accepted without a look, at an error that is certified, and which need review."""

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

NUM_CUTS = 100
# The first test has a quarter of the calibration nodes, but not more than four times what passes without errors: among
# few nodes a single error ends the search, among many the best of them are no longer told from the rest.
FIRST_SHARE, FIRST_MULTIPLE = 0.25, 4
MOST_LABELS = 10_000  # that are asked for; beyond it labels are no way
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Decision:
    """The nodes to accept, those at or above ``cut``.

    Attributes:
        cut: the least confidence that is accepted; None where nothing can be certified.
        accepted: (N,), none where there is no cut.
        max_error, delta: with probability 1 - delta the error among the accepted is at most max_error.
        observed_error: share of errors among the calibration nodes at or above the cut.
        needs_labels: without a cut, about how many more labels of nodes drawn at random are needed; None where no
            number of labels up to ``MOST_LABELS`` will do at the error observed.
    """

    cut: float | None
    accepted: Tensor
    max_error: float
    delta: float
    observed_error: float | None
    needs_labels: int | None

    def message(self) -> str:
        """The decision in plain words."""
        count, total = int(self.accepted.sum()), len(self.accepted)
        promise = f"error at most {_percent(self.max_error)} with {_percent(1 - self.delta)} certainty"
        if self.cut is not None:
            return f"accept {count:,} of {total:,} nodes ({_percent(count / total)}), {promise}"
        if self.needs_labels is not None:
            beyond = ", which is more than there are nodes" if self.needs_labels > total else ""
            return f"{promise} cannot be certified: needs about {self.needs_labels:,} more labels{beyond}"
        return f"{promise} cannot be certified: at the error observed no {MOST_LABELS:,} labels would do"


def decide(
    calibration_confidence: Tensor,
    calibration_correct: Tensor,
    confidence: Tensor,
    *,
    max_error: float = 0.05,
    delta: float = 0.1,
) -> Decision:
    r"""The lowest cut whose error is certified by labels that the model has not seen.

    With k errors among the n calibration nodes at or above a cut t, that its error exceeds ``max_error`` has p-value

    .. math:: p_t = P(\mathrm{Binomial}(n, \text{max\_error}) \le k)

    Cuts are tested from high to low, each at level ``delta``, up to the first that fails; then no false cut is passed
    with probability 1 - delta (fixed sequence testing; Angelopoulos, Bates, Candès, Jordan, Lei: Learn then test, 2021;
    Geifman, El-Yaniv, NeurIPS 2017, pay for a search instead). The cuts are quantiles of the confidences of all nodes,
    and the first holds a number of calibration nodes that is fixed beforehand: labels choose neither.

    It holds for nodes drawn like the calibration nodes, and for confidences that owe nothing to these nodes' labels.

    Shapes: ``calibration_confidence`` (n,), ``calibration_correct`` (n,), ``confidence`` (N,).
    """
    _check(calibration_confidence, calibration_correct, confidence, max_error, delta)
    everyone, known = confidence.double(), calibration_confidence.double()
    cuts = candidate_cuts(everyone)
    sizes, errors = _count_at_least(cuts, known), _count_at_least(cuts, known[~calibration_correct.bool()])
    last = _last_passed(sizes, errors, first_size(len(known), max_error, delta), max_error, delta)
    if last is None:
        shares = _count_at_least(cuts, everyone) / len(everyone)
        needed = _labels_needed(shares, sizes, errors, max_error, delta)
        return Decision(None, torch.zeros(len(confidence), dtype=torch.bool), max_error, delta, None, needed)
    observed = float(errors[last] / sizes[last])
    return Decision(float(cuts[last]), everyone >= cuts[last], max_error, delta, observed, None)


def candidate_cuts(confidence: Tensor) -> Tensor:
    """The confidences that one, two, ... hundred per cent of the nodes have or exceed, from high to low."""
    places = (torch.arange(1, NUM_CUTS + 1) * len(confidence) + NUM_CUTS - 1) // NUM_CUTS - 1
    cuts: Tensor = confidence.sort(descending=True).values[places].unique().flip(0)
    return cuts


def first_size(num_labels: int, max_error: float, delta: float) -> float:
    """How many calibration nodes the first test is to have: enough to pass, and to bear a few errors if there are."""
    enough = _enough_without_errors(max_error, delta)
    return max(enough, min(FIRST_SHARE * num_labels, FIRST_MULTIPLE * enough))


def fewest_labels(error_rate: float, max_error: float, delta: float) -> int | None:
    """The least n at which a test passes that finds this share of errors; None where many labels would not do."""
    sizes = _sizes_that_bear(max_error, delta)
    passes = np.floor(error_rate * sizes + ROUNDING) <= np.arange(len(sizes))
    return int(sizes[passes.argmax()]) if passes.any() else None


@cache
def _sizes_that_bear(max_error: float, delta: float) -> npt.NDArray[np.int64]:
    """The least n at which a test passes with no error, with one, with two, ..."""
    sizes = np.arange(1, MOST_LABELS + 1)
    borne = binom.ppf(delta, sizes, max_error) - 1
    return sizes[np.searchsorted(borne, np.arange(borne[-1] + 1))]


def _last_passed(sizes: Tensor, errors: Tensor, first: float, max_error: float, delta: float) -> int | None:
    """The last cut before one fails, of those that are tested; None where there is none or the first fails."""
    passes = torch.from_numpy(binom.cdf(errors.numpy(), sizes.numpy(), max_error)) <= delta
    tested = (sizes >= first).nonzero().squeeze(1)
    count = int(passes[tested].long().cumprod(0).sum())
    return int(tested[count - 1]) if count else None


def _enough_without_errors(max_error: float, delta: float) -> int:
    return math.ceil(math.log(delta) / math.log(1 - max_error) - ROUNDING)


def _count_at_least(cuts: Tensor, confidence: Tensor) -> Tensor:
    """How many of the confidences reach each cut."""
    return len(confidence) - torch.searchsorted(confidence.sort().values, cuts)


def _labels_needed(shares: Tensor, sizes: Tensor, errors: Tensor, max_error: float, delta: float) -> int | None:
    """How many more nodes, drawn at random, make the easiest cut pass the first test if its share of errors stays."""
    enough = _enough_without_errors(max_error, delta)
    needed = []
    for share, size, wrong in zip(shares.tolist(), sizes.tolist(), errors.tolist(), strict=True):
        fewest = fewest_labels(wrong / max(size, 1), max_error, delta)
        least = enough if share >= FIRST_SHARE else FIRST_MULTIPLE * enough
        if fewest is not None and max(fewest, least) > size:
            needed.append((max(fewest, least) - size) / share)
    return math.ceil(min(needed) - ROUNDING) if needed else None


def _check(calibration_confidence: Tensor, correct: Tensor, confidence: Tensor, max_error: float, delta: float) -> None:
    for name, value in (("max_error", max_error), ("delta", delta)):
        if not 0 < value < 1:
            raise UsageError(f"{name} = {value}: expected a share between 0 and 1, such as 0.05")
    if len(calibration_confidence) != len(correct):
        raise DataError(
            f"expected one confidence per calibration label, {len(correct)}, got {len(calibration_confidence)}"
        )
    if not len(confidence):
        raise DataError("confidence: expected one per node, got none")


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
