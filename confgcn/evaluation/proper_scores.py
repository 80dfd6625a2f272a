"""Scores that no one can better by saying anything but the truth: they judge the whole distribution over labels."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def log_loss(probabilities: Tensor, labels: Tensor) -> float:
    r"""Mean negative log-probability of the label.

    .. math:: \mathrm{NLL} = - \frac{1}{M} \sum_i \log p_{i y_i}

    A probability below the smallest normal number of double precision counts as that one, so a label said to be
    impossible costs 708 and not infinity. Shapes: ``probabilities`` (M, C), ``labels`` (M,).
    """
    tiny = torch.finfo(torch.float64).tiny
    return float(functional.nll_loss(probabilities.double().clamp(min=tiny).log(), labels))


def brier_score(probabilities: Tensor, labels: Tensor) -> float:
    r"""Mean squared distance from the row with a single one: from 0 to 2.

    .. math:: \mathrm{Brier} = \frac{1}{M} \sum_i \sum_c \left(p_{ic} - \mathbb{1}[y_i = c]\right)^2

    Some authors divide by C, or take the root of each row (GPN): their figures are others.
    """
    truth = functional.one_hot(labels, probabilities.size(1))
    return float((probabilities.double() - truth).square().sum(1).mean())
