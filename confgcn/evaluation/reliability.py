"""The numbers of a reliability diagram: accuracy against confidence, and how far chance alone may put it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from confgcn.evaluation.calibration import BINS, width_bin
from confgcn.evaluation.ties import by_confidence

BAND = 0.95


@dataclass(frozen=True)
class Bin:
    """Nodes of similar confidence.

    Attributes:
        count: how many there are.
        confidence: their mean confidence.
        accuracy: the share of them that is right.
        low, high: where that share falls in 95 of 100 cases if the confidence is true.
    """

    count: int
    confidence: float
    accuracy: float
    low: float
    high: float


def reliability(confidence: Tensor, correct: Tensor, bins: int = BINS) -> list[Bin]:
    """The bins of equal width that are not empty, from least to most confident; both arguments are (M,)."""
    confidence, correct = by_confidence(confidence, correct)
    index = width_bin(confidence, bins)
    return [_bin(confidence[index == place], correct[index == place]) for place in index.unique().tolist()]


def _bin(confidence: Tensor, correct: Tensor) -> Bin:
    mean = min(float(confidence.mean()), 1.0)  # a softmax in single precision may exceed one
    return Bin(len(correct), mean, float(correct.mean()), *_chance_band(len(correct), mean))


def _chance_band(count: int, probability: float) -> tuple[float, float]:
    r"""The shares at which the distribution of a share of right answers reaches (1 -+ 0.95) / 2.

    .. math:: P(K = k) = \binom{n}{k} p^k (1 - p)^{n - k}

    Confidences within a bin hardly differ, so their mean stands for all; that makes the band no narrower.
    """
    right = torch.arange(count + 1, dtype=torch.float64)
    wrong = count - right
    log_ways = torch.lgamma(right[-1] + 1) - torch.lgamma(right + 1) - torch.lgamma(wrong + 1)
    log_chance = log_ways + torch.xlogy(right, probability) + torch.xlogy(wrong, 1.0 - probability)
    bounds = torch.tensor([(1 - BAND) / 2, (1 + BAND) / 2], dtype=torch.float64)
    low, high = torch.searchsorted(log_chance.exp().cumsum(0), bounds).tolist()
    return low / count, high / count
