"""Nodes that no label speaks for claim no more than those held out of them vouch for; the others are not touched."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import binom
from torch import Tensor

from confgcn.confidence.caution import LARGEST, RISK, be_cautious, fit_caution, silent_nodes
from confgcn.graph import Graph

CLASSES = 4


@pytest.fixture
def log_probabilities() -> Tensor:
    """Of forty nodes, sure of themselves."""
    logits = 9 * torch.randn(40, CLASSES, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    return logits.log_softmax(1)


@pytest.fixture
def silent() -> Tensor:
    return torch.arange(40) >= 20


def labels_of(log_probabilities: Tensor, wrong: list[int]) -> Tensor:
    """As predicted, but for these nodes."""
    labels = log_probabilities.argmax(1)
    labels[wrong] = (labels[wrong] + 1) % CLASSES
    return labels


def mean_confidence(log_probabilities: Tensor) -> float:
    return float(log_probabilities.exp().max(1).values.mean())


def vouched(right: int, count: int) -> float:
    """The accuracy below which so many right ones would have been a surprise, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if binom.sf(right - 1, count, middle) < RISK else (low, middle)
    return low


def test_silent_are_components_without_a_training_label() -> None:
    edges = [(0, 1), (1, 2), (3, 4), (6, 7)]  # 5 and 8 isolated
    graph = Graph.build(edges, np.eye(9), [0, 1] * 4 + [0], train=[0, 8], validation=[3], test=[7])
    assert silent_nodes(graph).tolist() == [False, False, False, True, True, True, True, True, False]


@pytest.mark.parametrize("wrong", [[], [20, 21], [20, 21, 22, 23]], ids=["all right", "two wrong", "four wrong"])
def test_the_mean_confidence_is_what_the_held_out_ones_vouch_for(
    log_probabilities: Tensor, silent: Tensor, wrong: list[int]
) -> None:
    labels, nodes = labels_of(log_probabilities, wrong), torch.tensor([0, 1, 2, *range(20, 30)])
    bound = vouched(10 - len(wrong), 10)
    assert 1 / CLASSES < bound < mean_confidence(log_probabilities[silent])
    caution = fit_caution(log_probabilities, labels, silent, nodes)
    cautious = be_cautious(log_probabilities, silent, caution)
    assert 0 < caution < LARGEST
    assert mean_confidence(cautious[silent]) <= bound + 1e-12
    assert mean_confidence(cautious[silent]) == pytest.approx(bound, abs=1e-6)  # and no more caution than is needed


def test_only_held_out_silent_nodes_are_looked_at(log_probabilities: Tensor, silent: Tensor) -> None:
    nodes = torch.tensor([0, 1, 2, *range(20, 30)])
    expected = fit_caution(log_probabilities, labels_of(log_probabilities, [20]), silent, nodes)
    elsewhere = labels_of(log_probabilities, [0, 1, 2, 20, *range(30, 40)])
    assert fit_caution(log_probabilities, elsewhere, silent, nodes) == expected
    hidden = torch.full_like(elsewhere, -1).index_copy(0, nodes, elsewhere[nodes])
    assert fit_caution(log_probabilities, hidden, silent, nodes) == expected
    assert fit_caution(log_probabilities, labels_of(log_probabilities, [20, 21]), silent, nodes) > expected


@pytest.mark.parametrize("nodes", [[], [0, 5, 19], [20, 21]], ids=["none", "none of them silent", "all wrong"])
def test_where_nothing_vouches_nothing_is_claimed(log_probabilities: Tensor, silent: Tensor, nodes: list[int]) -> None:
    labels = labels_of(log_probabilities, [20, 21])
    held_out = torch.tensor(nodes, dtype=torch.long)
    caution = fit_caution(log_probabilities, labels, silent, held_out)
    flat = be_cautious(log_probabilities, silent, caution)[silent].exp()
    torch.testing.assert_close(flat, torch.full_like(flat, 1 / CLASSES), atol=2e-3, rtol=0)


@pytest.mark.parametrize("caution", [0.0, 0.7, LARGEST])
def test_the_others_keep_their_bits_and_nobody_changes_its_mind(
    log_probabilities: Tensor, silent: Tensor, caution: float
) -> None:
    cautious = be_cautious(log_probabilities, silent, caution)
    assert torch.equal(cautious[~silent], log_probabilities[~silent])
    assert torch.equal(cautious[silent], log_probabilities[silent]) is (caution == 0)
    assert torch.equal(cautious.argsort(1), log_probabilities.argsort(1))
    torch.testing.assert_close(cautious.exp().sum(1), torch.ones(40, dtype=torch.float64))


def test_flattening_is_by_a_temperature(log_probabilities: Tensor, silent: Tensor) -> None:
    caution = 0.7
    cautious = be_cautious(log_probabilities, silent, caution)
    for row, flat in zip(log_probabilities[silent], cautious[silent], strict=True):
        powers = [float(p) ** np.exp(-caution) for p in row.exp()]
        assert flat.exp().tolist() == pytest.approx([power / sum(powers) for power in powers])


def test_without_silent_nodes_there_is_no_caution(log_probabilities: Tensor) -> None:
    nobody = torch.zeros(40, dtype=torch.bool)
    labels = labels_of(log_probabilities, list(range(40)))
    assert fit_caution(log_probabilities, labels, nobody, torch.arange(40)) == 0.0


def test_who_claims_little_is_not_made_to_claim_less(silent: Tensor) -> None:
    modest = (0.01 * torch.randn(40, CLASSES, dtype=torch.float64)).log_softmax(1)
    assert fit_caution(modest, modest.argmax(1), silent, torch.arange(20, 40)) == 0.0


def test_ten_right_of_ten_vouch_for_the_tenth_root_of_the_risk(log_probabilities: Tensor, silent: Tensor) -> None:
    caution = fit_caution(log_probabilities, log_probabilities.argmax(1), silent, torch.arange(20, 30))
    claimed = mean_confidence(be_cautious(log_probabilities, silent, caution)[silent])
    assert claimed == pytest.approx(0.25 ** (1 / 10), abs=1e-9)


def test_there_is_an_end_to_caution(log_probabilities: Tensor, silent: Tensor) -> None:
    nobody = torch.empty(0, dtype=torch.long)
    assert fit_caution(log_probabilities, log_probabilities.argmax(1), silent, nobody) == LARGEST == 8.0


def test_who_claims_nothing_needs_no_caution(silent: Tensor) -> None:
    flat = torch.zeros(40, CLASSES, dtype=torch.float64).log_softmax(1)
    assert fit_caution(flat, flat.argmax(1), silent, torch.empty(0, dtype=torch.long)) == 0.0
