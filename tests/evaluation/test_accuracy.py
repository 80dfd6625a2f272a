"""Accuracy and log loss on three rows counted by hand."""

from __future__ import annotations

import math

import pytest
import torch

from confgcn.evaluation.accuracy import accuracy, mean_log_loss

LOGITS = torch.tensor([[2.0, 0.0], [0.0, 2.0], [3.0, 1.0]])


def test_accuracy() -> None:
    assert accuracy(LOGITS, torch.tensor([0, 1, 1])) == pytest.approx(2 / 3)


def test_mean_log_loss() -> None:
    right, wrong = -math.log(1 / (1 + math.exp(-2))), -math.log(1 / (1 + math.exp(2)))
    assert mean_log_loss(LOGITS, torch.tensor([0, 1, 1])) == pytest.approx((2 * right + wrong) / 3)
