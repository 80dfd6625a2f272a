"""Accuracy, balanced accuracy, ROC AUC, log loss, Brier score and AUROC by hand and against scikit-learn."""

from __future__ import annotations

import math

import pytest
import torch
from sklearn import metrics

from confgcn.evaluation.metrics import (
    accuracy,
    auroc,
    balanced_accuracy,
    brier_score,
    is_imbalanced,
    log_loss,
    roc_auc,
    total_log_loss,
)

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


@pytest.mark.parametrize("num_classes", [2, 5])
def test_balanced_accuracy_is_that_of_scikit_learn(num_classes: int) -> None:
    logits, labels = torch.randn(60, num_classes), torch.randint(0, num_classes, (60,))
    expected = metrics.balanced_accuracy_score(labels, logits.argmax(1))
    assert balanced_accuracy(logits, labels) == pytest.approx(expected)


def test_balanced_accuracy_by_hand() -> None:
    logits = torch.eye(3)[[0, 0, 0, 1, 0]]
    assert balanced_accuracy(logits, torch.tensor([0, 0, 0, 1, 1])) == 0.75  # class 2 has no label
    assert balanced_accuracy(torch.eye(3)[[0] * 5], torch.tensor([0, 0, 0, 1, 2])) == pytest.approx(1 / 3)


def test_balanced_accuracy_is_undefined_for_labels_of_one_class() -> None:
    assert balanced_accuracy(LOGITS, torch.tensor([1, 1, 1])) is None
    assert balanced_accuracy(LOGITS[:0], torch.tensor([], dtype=torch.long)) is None


@pytest.mark.parametrize("digits", [1, 6])
def test_roc_auc_is_that_of_scikit_learn_with_and_without_ties(digits: int) -> None:
    probabilities, labels = torch.randn(80, 2).double().softmax(1), torch.randint(0, 2, (80,))
    rounded = (probabilities * 10**digits).round() / 10**digits
    assert roc_auc(rounded, labels) == pytest.approx(metrics.roc_auc_score(labels, rounded[:, 1]))


def test_roc_auc_by_hand() -> None:
    of_one = torch.tensor([0.9, 0.4, 0.4, 0.1])
    probabilities = torch.stack([1 - of_one, of_one], 1)
    assert roc_auc(probabilities, torch.tensor([1, 1, 0, 0])) == 0.875
    assert roc_auc(torch.full((4, 2), 0.5), torch.tensor([1, 1, 0, 0])) == 0.5


def test_roc_auc_is_undefined_for_more_classes_and_for_labels_of_one() -> None:
    assert roc_auc(torch.eye(3), torch.tensor([0, 1, 2])) is None
    assert roc_auc(torch.eye(2), torch.tensor([1, 1])) is None


@pytest.mark.parametrize(
    ("counts", "is_uneven"), [([3, 1], False), ([4, 1], True), ([3, 1, 1], False), ([4, 1, 1], True), ([3, 1, 0], True)]
)
def test_classes_are_imbalanced_if_the_largest_exceeds_three_times_the_mean_of_the_others(
    counts: list[int], is_uneven: bool
) -> None:
    labels = torch.repeat_interleave(torch.arange(len(counts)), torch.tensor(counts))
    assert is_imbalanced(labels, len(counts)) == is_uneven


def test_no_labels_and_a_single_class_are_not_imbalanced() -> None:
    assert not is_imbalanced(torch.tensor([], dtype=torch.long), 2)
    assert not is_imbalanced(torch.tensor([0, 0]), 1)
