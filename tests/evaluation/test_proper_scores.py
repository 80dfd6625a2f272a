"""Log loss against scikit-learn, the Brier score against loops, both by hand."""

from __future__ import annotations

import math

import pytest
import torch
from sklearn import metrics

from confgcn.evaluation.accuracy import mean_log_loss
from confgcn.evaluation.proper_scores import brier_score, log_loss


def test_log_loss_agrees_with_scikit_learn_and_with_that_of_the_logits() -> None:
    logits, labels = torch.randn(50, 4, dtype=torch.float64), torch.randint(0, 4, (50,))
    found = log_loss(logits.softmax(1), labels)
    assert found == pytest.approx(metrics.log_loss(labels, logits.softmax(1), labels=range(4)))
    assert found == pytest.approx(mean_log_loss(logits, labels))


def test_log_loss_is_finite_where_the_label_was_said_to_be_impossible() -> None:
    certain = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    assert log_loss(certain, torch.tensor([0, 0])) == 0.0
    assert log_loss(certain, torch.tensor([1, 0])) == pytest.approx(-math.log(2.0**-1022) / 2)


def test_brier_score_is_that_of_loops() -> None:
    probabilities, labels = torch.randn(20, 3, dtype=torch.float64).softmax(1), torch.randint(0, 3, (20,))
    rows = zip(probabilities.tolist(), labels.tolist(), strict=True)
    expected = sum((p - (c == label)) ** 2 for row, label in rows for c, p in enumerate(row)) / 20
    assert brier_score(probabilities, labels) == pytest.approx(expected)


def test_brier_score_of_two_classes_is_twice_that_of_one_of_them() -> None:
    probabilities, labels = torch.randn(30, 2).double().softmax(1), torch.randint(0, 2, (30,))
    expected = metrics.brier_score_loss(labels, probabilities[:, 1])
    assert brier_score(probabilities, labels) == pytest.approx(2 * expected)


def test_brier_score_by_hand() -> None:
    assert brier_score(torch.tensor([[0.5, 0.3, 0.2]]), torch.tensor([0])) == pytest.approx(0.25 + 0.09 + 0.04)
    assert brier_score(torch.eye(2), torch.tensor([0, 1])) == 0.0
    assert brier_score(torch.eye(2), torch.tensor([1, 0])) == 2.0
    assert brier_score(torch.ones(3, 1), torch.zeros(3, dtype=torch.long)) == 0.0
