"""Metrics of predicted labels and probabilities: accuracy, proper scores, AUROC.

All are written in torch: ``confgcn train`` needs some of them, and importing scikit-learn takes as long as torch.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def accuracy(logits: Tensor, labels: Tensor) -> float:
    """Share of rows (M, C) whose largest logit is at the label (M,)."""
    return float((logits.argmax(-1) == labels).double().mean())


def count_correct(logits: Tensor, labels: Tensor) -> int:
    """Number of rows (M, C) whose largest logit is at the label (M,)."""
    return int((logits.argmax(-1) == labels).sum())


def total_log_loss(logits: Tensor, labels: Tensor) -> float:
    """Sum of the negative log-probabilities of the labels (M,), for logits (M, C)."""
    return float(functional.cross_entropy(logits.double(), labels, reduction="sum"))


def log_loss(probabilities: Tensor, labels: Tensor) -> float:
    r"""Mean negative log-probability of the label.

    .. math:: \mathrm{NLL} = - \frac{1}{M} \sum_i \log p_{i y_i}

    Probabilities are clipped at the smallest normal number of double precision, so a label of probability zero costs
    708 and not infinity; scikit-learn clips at 2e-16, which hides overconfidence. Shapes: ``probabilities`` (M, C),
    ``labels`` (M,).
    """
    tiny = torch.finfo(torch.float64).tiny
    return float(functional.nll_loss(probabilities.double().clamp(min=tiny).log(), labels))


def brier_score(probabilities: Tensor, labels: Tensor) -> float:
    r"""Mean squared distance from the one-hot label, from 0 to 2.

    .. math:: \mathrm{Brier} = \frac{1}{M} \sum_i \sum_c \left(p_{ic} - \mathbb{1}[y_i = c]\right)^2

    Some authors divide by C, or take the root of each row (GPN); their values differ from these.
    """
    truth = functional.one_hot(labels, probabilities.size(1))
    return float((probabilities.double() - truth).square().sum(1).mean())


def auroc(scores: Tensor, positive: Tensor) -> float | None:
    """Probability that a positive has a higher score than a negative, ties counting half; None without both.

    0.5 = random, 1 = perfect ranking. Shapes: ``scores`` (M,), ``positive`` (M,) mask.
    """
    num_positive = int(positive.sum())
    num_negative = len(positive) - num_positive
    if not num_positive or not num_negative:
        return None
    _, inverse, counts = torch.unique(scores, return_inverse=True, return_counts=True)
    last = counts.cumsum(0).double()
    ranks = (last - (counts - 1) / 2.0)[inverse]  # ranks from 1; ties share their mean rank
    rank_sum = float(ranks[positive].sum())
    return (rank_sum - num_positive * (num_positive + 1) / 2) / (num_positive * num_negative)
