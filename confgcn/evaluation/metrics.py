"""Metrics of predicted labels and probabilities: accuracy, balanced accuracy, proper scores, AUROC.

All are written in torch: ``confgcn train`` needs some of them, and importing scikit-learn takes as long as torch.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

IMBALANCE = 3.0  # labels of the largest class over the mean of the others: above it, accuracy alone is misleading


def accuracy(logits: Tensor, labels: Tensor) -> float:
    """Share of rows (M, C) whose largest logit is at the label (M,)."""
    return float((logits.argmax(-1) == labels).double().mean())


def balanced_accuracy(logits: Tensor, labels: Tensor) -> float | None:
    r"""Mean over classes of the share of correct predictions among the nodes of the class.

    .. math:: \frac{1}{|K|} \sum_{c \in K} \frac{|\{i : \hat{y}_i = y_i = c\}|}{|\{i : y_i = c\}|}

    K are the classes among the labels; None for fewer than two. A constant prediction has the value 1 / |K|. Shapes:
    ``logits`` or probabilities (M, C), ``labels`` (M,).
    """
    counts = torch.bincount(labels, minlength=logits.size(1))
    found = torch.bincount(labels[logits.argmax(-1) == labels], minlength=logits.size(1))
    is_present = counts > 0
    return float((found[is_present] / counts[is_present].double()).mean()) if is_present.sum() > 1 else None


def roc_auc(probabilities: Tensor, labels: Tensor) -> float | None:
    """Probability that a node of class 1 has a higher probability of class 1 than a node of class 0 (ties: half).

    None unless there are two classes, C = 2, and labels of both. Shapes: ``probabilities`` (M, C), ``labels`` (M,).
    """
    return auroc(probabilities[:, 1].double(), labels == 1) if probabilities.size(1) == 2 else None


def is_imbalanced(labels: Tensor, num_classes: int) -> bool:
    """Does the largest class have more than ``IMBALANCE`` times as many labels as the other classes on average?

    The labels (M,) are of ``num_classes`` classes. Of two classes the larger then has more than 75 % of the labels, of
    three 60 %, of ten 25 %.
    """
    if num_classes < 2 or not len(labels):
        return False
    largest = int(torch.bincount(labels).max())
    return largest * (num_classes - 1) > IMBALANCE * (len(labels) - largest)


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
