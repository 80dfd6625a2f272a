"""Accuracy, log loss, Brier score and AUROC by hand and against scikit-learn."""

from __future__ import annotations

import math

import pytest
import torch
from sklearn import metrics

from confgcn.evaluation.metrics import accuracy, auroc, brier_score, log_loss, total_log_loss

LOGITS = torch.tensor([[2.0, 0.0], [0.0, 2.0], [3.0, 1.0]])


def test_accuracy() -> None:
    assert accuracy(LOGITS, torch.tensor([0, 1, 1])) == pytest.approx(2 / 3)


def test_total_log_loss() -> None:
    right, wrong = -math.log(1 / (1 + math.exp(-2))), -math.log(1 / (1 + math.exp(2)))
    assert total_log_loss(LOGITS, torch.tensor([0, 1, 1])) == pytest.approx(2 * right + wrong)


def test_log_loss_agrees_with_scikit_learn_and_with_that_of_the_logits() -> None:
    logits, labels = torch.randn(50, 4, dtype=torch.float64), torch.randint(0, 4, (50,))
    found = log_loss(logits.softmax(1), labels)
    assert found == pytest.approx(metrics.log_loss(labels, logits.softmax(1), labels=range(4)))
    assert found == pytest.approx(total_log_loss(logits, labels) / 50)


def test_log_loss_is_finite_for_a_label_of_probability_zero() -> None:
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


def test_auroc_counts_pairs_and_half_of_the_ties() -> None:
    generator = torch.Generator().manual_seed(0)
    scores = torch.randint(0, 5, (40,), generator=generator).double()
    positive = torch.rand(40, generator=generator) < 0.4
    pairs = [(p, n) for p in scores[positive].tolist() for n in scores[~positive].tolist()]
    expected = sum(1.0 if p > n else 0.5 if p == n else 0.0 for p, n in pairs) / len(pairs)
    assert auroc(scores, positive) == pytest.approx(expected)


def test_auroc_is_undefined_when_all_are_right() -> None:
    assert auroc(torch.tensor([1.0, 2.0]), torch.tensor([True, True])) is None


def test_auroc_is_undefined_when_all_are_wrong_and_where_there_are_none() -> None:
    assert auroc(torch.tensor([1.0, 2.0]), torch.tensor([False, False])) is None
    assert auroc(torch.tensor([]), torch.tensor([], dtype=torch.bool)) is None


def test_auroc_by_hand() -> None:
    positive = torch.tensor([True, False, True, False])
    assert auroc(torch.tensor([4.0, 3, 2, 1]), positive) == 0.75
    assert auroc(torch.tensor([1.0, 1, 1, 1]), positive) == 0.5
    assert auroc(torch.tensor([2.0, 1, 1, 0]), positive) == 0.875
