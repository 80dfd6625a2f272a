"""Held-out labels are divided into two halves of equal class shares, the same ones every time."""

from __future__ import annotations

import pytest
import torch

from confgcn.data.held_out import FEWEST_TO_DIVIDE, divide

NODES = torch.arange(5, 5 + 3 * 61, 3)  # 61 nodes
LABELS = torch.tensor([0] * 40 + [1] * 15 + [2] * 5 + [3])


def test_every_node_is_in_one_half_and_the_halves_are_sorted() -> None:
    choosing, certifying = divide(NODES, LABELS)
    assert (len(choosing), len(certifying)) == (31, 30)
    assert torch.equal(torch.cat([choosing, certifying]).sort().values, NODES)
    for half in (choosing, certifying):
        assert torch.equal(half, half.sort().values)


def test_each_class_is_halved_to_within_one_node() -> None:
    label_of = dict(zip(NODES.tolist(), LABELS.tolist(), strict=True))
    counts = [
        torch.bincount(torch.tensor([label_of[n] for n in half.tolist()]), minlength=4)
        for half in divide(NODES, LABELS)
    ]
    assert torch.equal(counts[0] + counts[1], torch.tensor([40, 15, 5, 1]))
    assert ((counts[0] - counts[1]).abs() <= 1).all()


def test_the_division_is_drawn_and_always_the_same() -> None:
    torch.manual_seed(7)
    first = divide(NODES, LABELS)
    torch.manual_seed(8)
    assert torch.equal(first.certifying, divide(NODES, LABELS).certifying)
    # Written down, because a run that is loaded again must find the labels that certified it.
    assert divide(torch.arange(60), torch.zeros(60, dtype=torch.long)).certifying[:8].tolist() == [
        1,
        2,
        3,
        6,
        7,
        10,
        13,
        15,
    ]


@pytest.mark.parametrize(("count", "divided"), [(FEWEST_TO_DIVIDE - 1, False), (FEWEST_TO_DIVIDE, True), (0, False)])
def test_fewer_than_sixty_labels_are_used_whole(count: int, divided: bool) -> None:
    choosing, certifying = divide(NODES[:count], LABELS[:count])
    assert len(certifying) == (count // 2 if divided else 0)
    assert len(choosing) == count - len(certifying)


def test_all_choose_where_they_are_used_whole() -> None:
    choosing, certifying = divide(NODES, LABELS, "whole")
    assert torch.equal(choosing, NODES)
    assert not len(certifying)
