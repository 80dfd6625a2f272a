"""How often a prediction is right."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional


def accuracy(logits: Tensor, labels: Tensor) -> float:
    """Share of rows (M, C) whose largest logit is at the label (M,)."""
    return float((logits.argmax(-1) == labels).double().mean())


def count_correct(logits: Tensor, labels: Tensor) -> int:
    """How many rows have their largest logit at the label."""
    return int((logits.argmax(-1) == labels).sum())


def total_log_loss(logits: Tensor, labels: Tensor) -> float:
    """The sum of the negative log-probabilities of the labels."""
    return float(functional.cross_entropy(logits.double(), labels, reduction="sum"))


def mean_log_loss(logits: Tensor, labels: Tensor) -> float:
    """Mean negative log-probability of the label."""
    return float(functional.cross_entropy(logits.double(), labels))
