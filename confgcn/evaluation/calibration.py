"""Is a confidence of 0.8 right in eight of ten cases? How far off it is, and how far off chance alone would be.

A confidence is the largest probability of a node, (M,); ``correct`` says whether that label is the true one, (M,).
"""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor

from confgcn.evaluation.resampling import batch_sizes, percentile_interval, resampled
from confgcn.evaluation.ties import by_confidence, share_ties
from confgcn.exceptions import unknown_name

Binning = Literal["width", "mass"]

BINS = 15  # Guo et al. 2017, GATS


def expected_calibration_error(
    confidence: Tensor, correct: Tensor, *, binning: Binning = "width", bins: int = BINS
) -> float:
    r"""Mean distance of accuracy from confidence over bins of similar confidence (Guo et al. 2017).

    .. math:: \mathrm{ECE} = \sum_b \frac{|B_b|}{M} \left|\mathrm{acc}(B_b) - \mathrm{conf}(B_b)\right|
              = \frac{1}{M} \sum_b \Big|\sum_{i \in B_b} (\mathrm{correct}_i - \mathrm{confidence}_i)\Big|

    ``width``: bins of equal width, see :func:`width_bin`. ``mass``: bins of equal count; the item at place i = 0, ..,
    M - 1 from the least confident is in bin floor(i * bins / M), and items of equal confidence share their outcomes.
    """
    confidence, correct = by_confidence(confidence, correct)
    return float(_errors(confidence[None], correct[None], binning, bins))


def noise_floor(
    confidence: Tensor, *, binning: Binning = "width", bins: int = BINS, draws: int = 200, seed: int = 0
) -> float:
    r"""The mean error of a perfectly calibrated model with these confidences: it is not zero with finitely many nodes.

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
    r"""Bootstrap interval over nodes of the expected calibration error, many draws at a time.

    .. math:: \left[Q_{(1 - \mathrm{level})/2} - \beta,\ Q_{(1 + \mathrm{level})/2} - \beta\right], \qquad
              \beta = \mathrm{mean}_b\, \mathrm{ECE}_b - \mathrm{ECE}

    Q are percentiles of the errors ECE_b of nodes drawn anew. A draw repeats nodes, so its error has more noise, and
    noise adds to an absolute value: without beta the interval lies too high, at a good calibration often above the
    error itself. Like the noise floor it is about the mean error of M nodes, not about that of infinitely many.
    """
    confidence, correct = by_confidence(confidence, correct)
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
    """The expected calibration error of each row of (D, M); bins of equal mass want rows sorted by confidence."""
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
