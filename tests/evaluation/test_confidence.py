"""The confidence summary against counting every pair."""

from __future__ import annotations

import pytest
import torch

from confgcn.evaluation.confidence import auroc, summarise_confidence


def test_auroc_counts_pairs_and_half_of_the_ties() -> None:
    generator = torch.Generator().manual_seed(0)
    scores = torch.randint(0, 5, (40,), generator=generator).double()
    positive = torch.rand(40, generator=generator) < 0.4
    pairs = [(p, n) for p in scores[positive].tolist() for n in scores[~positive].tolist()]
    expected = sum(1.0 if p > n else 0.5 if p == n else 0.0 for p, n in pairs) / len(pairs)
    assert auroc(scores, positive) == pytest.approx(expected)


def test_auroc_is_undefined_when_all_are_right() -> None:
    assert auroc(torch.tensor([1.0, 2.0]), torch.tensor([True, True])) is None


def test_summary() -> None:
    highest = torch.tensor([0.6, 0.9, 0.7, 0.8])
    probabilities = torch.stack([highest, 1 - highest], dim=1)
    precision = torch.tensor([[4.0, 0], [1, 0], [2, 0], [3, 0]])
    summary = summarise_confidence(probabilities, precision, torch.tensor([1, 0, 0, 0]))
    assert [quarter.accuracy for quarter in summary.quarters] == [0.0, 1.0, 1.0, 1.0]
    assert [quarter.mean_probability for quarter in summary.quarters] == pytest.approx([0.6, 0.7, 0.8, 0.9])
    assert summary.auroc_probability == 1.0
    assert summary.auroc_precision == 0.0


def test_summary_without_precision() -> None:
    summary = summarise_confidence(torch.tensor([[0.9, 0.1]]), None, torch.tensor([0]))
    assert summary.auroc_precision is None
    assert len(summary.quarters) == 1


def test_auroc_is_undefined_when_all_are_wrong_and_where_there_are_none() -> None:
    assert auroc(torch.tensor([1.0, 2.0]), torch.tensor([False, False])) is None
    assert auroc(torch.tensor([]), torch.tensor([], dtype=torch.bool)) is None


def test_auroc_by_hand() -> None:
    positive = torch.tensor([True, False, True, False])
    assert auroc(torch.tensor([4.0, 3, 2, 1]), positive) == 0.75
    assert auroc(torch.tensor([1.0, 1, 1, 1]), positive) == 0.5
    assert auroc(torch.tensor([2.0, 1, 1, 0]), positive) == 0.875


def test_quarters_of_tied_nodes_go_by_their_order() -> None:
    probabilities = torch.tensor([[0.7, 0.3]] * 8)
    summary = summarise_confidence(probabilities, None, torch.tensor([0, 0, 1, 1, 0, 1, 1, 0]))
    assert [quarter.accuracy for quarter in summary.quarters] == [1.0, 0.0, 0.5, 0.5]


def test_precision_is_that_of_the_predicted_label() -> None:
    probabilities = torch.tensor([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    precision = torch.tensor([[3.0, 0], [9, 1], [2, 9]])  # 3, 1 and 2
    summary = summarise_confidence(probabilities, precision, torch.tensor([0, 0, 0]))
    assert summary.auroc_precision == 1.0
