"""One rule for items of equal confidence, so that no number depends on the order of the nodes in a file."""

from __future__ import annotations

import torch
from torch import Tensor


def by_confidence(confidence: Tensor, correct: Tensor) -> tuple[Tensor, Tensor]:
    """Both (M,) in double precision, from least to most confident, the wrong before the right among equals."""
    order = correct.to(torch.uint8).argsort(stable=True)
    order = order[confidence[order].argsort(stable=True)]
    return confidence[order].double(), correct[order].double()


def share_ties(confidence: Tensor, outcome: Tensor) -> Tensor:
    """The outcome of each item (..., M) replaced by the mean over the items of its row with the same confidence.

    ``confidence`` (..., M) is sorted within each row. That is the mean over all orders of the tied items.
    """
    group = (confidence.diff(dim=-1, prepend=confidence[..., :1]) != 0).cumsum(-1)
    sums = torch.zeros_like(outcome).scatter_add_(-1, group, outcome)
    sizes = torch.zeros_like(outcome).scatter_add_(-1, group, torch.ones_like(outcome))
    return (sums / sizes).gather(-1, group)
