"""Calibration error of confidences, its noise floor and bootstrap interval, and the reliability diagram.

A confidence is the largest probability of a node, (M,); ``correct`` states whether the predicted label is the true
one, (M,).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from confgcn.evaluation.groups import share_ties, sort_by_confidence
from confgcn.exceptions import unknown_name

Binning = Literal["width", "mass"]

BINS = 15  # Guo et al. 2017, GATS
BAND = 0.95  # of the chance band of a reliability diagram
BATCH_ENTRIES = 2**20  # numbers drawn at once: bounds the memory of many draws


def expected_calibration_error(
    confidence: Tensor, correct: Tensor, *, binning: Binning = "width", bins: int = BINS
) -> float:
    r"""Mean distance of accuracy and confidence over bins of similar confidence (Guo et al. 2017).

    .. math:: \mathrm{ECE} = \sum_b \frac{|B_b|}{M} \left|\mathrm{acc}(B_b) - \mathrm{conf}(B_b)\right|
              = \frac{1}{M} \sum_b \Big|\sum_{i \in B_b} (\mathrm{correct}_i - \mathrm{confidence}_i)\Big|

    ``width``: bins of equal width, see :func:`width_bin`. ``mass``: bins of equal count; the item at position
    i = 0, .., M - 1 from the least confident is in bin floor(i * bins / M), and items of equal confidence share their
    outcomes.
    """
    confidence, correct = sort_by_confidence(confidence, correct)
    return float(_errors(confidence[None], correct[None], binning, bins))


def noise_floor(
    confidence: Tensor, *, binning: Binning = "width", bins: int = BINS, draws: int = 200, seed: int = 0
) -> float:
    r"""The expected error of a perfectly calibrated model with these confidences, above zero for finitely many nodes.

    .. math:: \mathbb{E}\left[\mathrm{ECE}(\mathrm{confidence}, c)\right], \qquad
              c_i \sim \mathrm{Bernoulli}(\mathrm{confidence}_i)
    """
    generator = torch.Generator().manual_seed(seed)
    ordered = confidence.double().sort().values
    total = 0.0
    for size in batch_sizes(draws, len(ordered)):
        chance = torch.rand(size, len(ordered), generator=generator, dtype=torch.float64)
        total += float(_errors(ordered.expand_as(chance), (chance < ordered).double(), binning, bins).sum())
    return total / draws


def calibration_interval(
    confidence: Tensor,
    correct: Tensor,
    *,
    binning: Binning = "width",
    bins: int = BINS,
    draws: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> tuple[float, float]:
    r"""Bootstrap interval over nodes of the expected calibration error.

    .. math:: \left[Q_{(1 - \mathrm{level})/2} - \beta,\ Q_{(1 + \mathrm{level})/2} - \beta\right], \qquad
              \beta = \mathrm{mean}_b\, \mathrm{ECE}_b - \mathrm{ECE}

    Q are percentiles of the errors ECE_b of resampled nodes. A draw repeats nodes, so its error has more noise, and
    noise raises an absolute value: without beta the interval of a well calibrated model often lies above the error
    itself. Like the noise floor, it refers to the error of M nodes, not to the limit of infinitely many.
    """
    confidence, correct = sort_by_confidence(confidence, correct)
    drawn = []
    for positions in resampled(len(confidence), draws=draws, seed=seed):
        ordered = positions.sort(dim=1).values if binning == "mass" else positions
        drawn.append(_errors(confidence[ordered], correct[ordered], binning, bins))
    errors = torch.cat(drawn)
    bias = errors.mean() - _errors(confidence[None], correct[None], binning, bins)
    low, high = percentile_interval(errors - bias, level)
    return max(low, 0.0), high


def classwise_calibration_error(probabilities: Tensor, labels: Tensor, *, bins: int = BINS) -> float:
    r"""The mean over classes of the error of a class's probability, with bins of equal width.

    .. math:: \frac{1}{C} \sum_c \mathrm{ECE}\left(p_{\cdot c}, \mathbb{1}[y = c]\right)

    Shapes: ``probabilities`` (M, C), ``labels`` (M,).
    """
    of_class, order = probabilities.double().T.sort(dim=1)  # (C, M)
    is_class = labels[order] == torch.arange(len(of_class))[:, None]
    return float(_errors(of_class, is_class.double(), "width", bins).mean())


def width_bin(confidence: Tensor, bins: int) -> Tensor:
    """The bin of equal width of each confidence: floor(confidence * bins), a confidence of one in the last."""
    return (confidence * bins).long().clamp(max=bins - 1)


def _errors(confidence: Tensor, correct: Tensor, binning: Binning, bins: int) -> Tensor:
    """The expected calibration error of each row of (D, M); binning by mass needs rows sorted by confidence."""
    if binning == "width":
        index = width_bin(confidence, bins)
    elif binning == "mass":
        num_items = confidence.size(1)
        index = (torch.arange(num_items) * bins // num_items).expand_as(confidence)
        correct = share_ties(confidence, correct)
    else:
        raise unknown_name("binning", binning, get_args(Binning))
    gaps = correct.new_zeros(len(correct), bins).scatter_add_(1, index, correct - confidence)
    return gaps.abs().sum(1) / correct.size(1)


@dataclass(frozen=True)
class Bin:
    """Nodes of similar confidence: one point of a reliability diagram.

    Attributes:
        count: number of nodes.
        confidence: mean confidence.
        accuracy: share of correct predictions.
        low, high: central 95 % interval of the accuracy of a calibrated model.
    """

    count: int
    confidence: float
    accuracy: float
    low: float
    high: float


def reliability(confidence: Tensor, correct: Tensor, bins: int = BINS) -> list[Bin]:
    """The non-empty bins of equal width, from least to most confident; both arguments are (M,)."""
    confidence, correct = sort_by_confidence(confidence, correct)
    index = width_bin(confidence, bins)
    return [_bin(confidence[index == place], correct[index == place]) for place in index.unique().tolist()]


def _bin(confidence: Tensor, correct: Tensor) -> Bin:
    mean = min(float(confidence.mean()), 1.0)  # a softmax in single precision may exceed one
    return Bin(len(correct), mean, float(correct.mean()), *_chance_band(len(correct), mean))


def _chance_band(count: int, probability: float) -> tuple[float, float]:
    r"""The central 95 % interval of K / n for a binomial number K of correct predictions.

    .. math:: P(K = k) = \binom{n}{k} p^k (1 - p)^{n - k}

    One mean confidence p for all nodes of the bin makes the interval no narrower.
    """
    correct = torch.arange(count + 1, dtype=torch.float64)
    wrong = count - correct
    log_ways = torch.lgamma(correct[-1] + 1) - torch.lgamma(correct + 1) - torch.lgamma(wrong + 1)
    log_chance = log_ways + torch.xlogy(correct, probability) + torch.xlogy(wrong, 1.0 - probability)
    bounds = torch.tensor([(1 - BAND) / 2, (1 + BAND) / 2], dtype=torch.float64)
    low, high = torch.searchsorted(log_chance.exp().cumsum(0), bounds).tolist()
    return low / count, high / count


def resampled(num_items: int, *, draws: int, seed: int) -> Iterator[Tensor]:
    """Positions drawn with replacement, in batches (draws in the batch, M); the global random state is not used."""
    generator = torch.Generator().manual_seed(seed)
    for size in batch_sizes(draws, num_items):
        yield torch.randint(num_items, (size, num_items), generator=generator)


def batch_sizes(draws: int, num_items: int) -> list[int]:
    """How many draws of ``num_items`` numbers to hold in memory at once."""
    size = max(1, BATCH_ENTRIES // num_items)
    return [min(size, draws - start) for start in range(0, draws, size)]


def percentile_interval(values: Tensor, level: float) -> tuple[float, float]:
    """The central interval that holds a share of ``level`` of the values."""
    bounds = torch.tensor([(1 - level) / 2, (1 + level) / 2], dtype=torch.float64)
    low, high = torch.quantile(values, bounds).tolist()
    return low, high
