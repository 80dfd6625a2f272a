"""Does a confidence tell right predictions from wrong ones? A short summary."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Quarter:
    """A quarter of the nodes, by confidence."""

    mean_probability: float
    accuracy: float


@dataclass(frozen=True)
class ConfidenceSummary:
    """``quarters`` from least to most confident; an AUROC of 0.5 is a coin, None where it is undefined."""

    quarters: list[Quarter]
    auroc_probability: float | None
    auroc_precision: float | None


def summarise_confidence(probabilities: Tensor, precision: Tensor | None, labels: Tensor) -> ConfidenceSummary:
    """Judge the largest probability, and the precision of the predicted label, against the truth.

    Shapes: ``probabilities`` (M, C), ``precision`` (M, C) or None, ``labels`` (M,). Ties in the sorting by
    probability are kept in the order of the nodes.
    """
    highest, predicted = probabilities.double().max(-1)
    correct = predicted == labels
    order = torch.argsort(highest, stable=True)
    quarters = [
        Quarter(float(highest[part].mean()), float(correct[part].double().mean()))
        for part in order.tensor_split(4)
        if len(part)
    ]
    of_predicted = None if precision is None else precision.gather(1, predicted[:, None]).squeeze(1)
    return ConfidenceSummary(
        quarters,
        auroc(highest, correct),
        None if of_predicted is None else auroc(of_predicted.double(), correct),
    )


def auroc(scores: Tensor, positive: Tensor) -> float | None:
    """Probability that a positive has a higher score than a negative, ties counting half; None without both."""
    num_positive = int(positive.sum())
    num_negative = len(positive) - num_positive
    if not num_positive or not num_negative:
        return None
    _, inverse, counts = torch.unique(scores, return_inverse=True, return_counts=True)
    last = counts.cumsum(0).double()
    ranks = (last - (counts - 1) / 2.0)[inverse]  # ranks from 1, ties share their mean
    rank_sum = float(ranks[positive].sum())
    return (rank_sum - num_positive * (num_positive + 1) / 2) / (num_positive * num_negative)
