"""Shared outcomes against the mean over every order of the tied."""

from __future__ import annotations

import torch

from confgcn.evaluation.ties import by_confidence, share_ties


def test_tied_items_share_within_their_row() -> None:
    confidence = torch.tensor([[0.2, 0.5, 0.5, 0.5], [0.1, 0.1, 0.3, 0.5]])
    outcome = torch.tensor([[1.0, 1.0, 0.0, 0.5], [1.0, 0.0, 0.0, 1.0]], dtype=torch.float64)
    assert share_ties(confidence, outcome).tolist() == [[1.0, 0.5, 0.5, 0.5], [0.5, 0.5, 0.0, 1.0]]


def test_one_item_keeps_its_outcome() -> None:
    assert share_ties(torch.tensor([0.3]), torch.tensor([1.0])).tolist() == [1.0]


def test_the_order_by_confidence_does_not_depend_on_the_order_of_the_nodes() -> None:
    confidence = torch.tensor([0.5, 0.9, 0.5, 0.2, 0.5])
    correct = torch.tensor([True, False, False, True, True])
    for _ in range(5):
        order = torch.randperm(5)
        confidences, outcomes = by_confidence(confidence[order], correct[order])
        assert torch.equal(confidences, confidence.sort().values.double())
        assert outcomes.tolist() == [1, 0, 1, 1, 0]
