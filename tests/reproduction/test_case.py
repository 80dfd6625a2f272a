"""What influences put right and what they do not, on seven nodes with predictions made by hand."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from reproduction.case import VISIBLE, Case, Counts


def nodes(mask: Tensor) -> list[int]:
    return mask.nonzero().flatten().tolist()


def test_only_test_nodes_count_as_right(case: Case) -> None:
    assert nodes(case.right(case.gcn)) == [4, 5]
    assert nodes(case.right(case.confgcn)) == [1, 2, 3, 4]


def test_gained_is_wrong_in_gcn_and_right_in_confgcn(case: Case) -> None:
    assert nodes(case.gained()) == [1, 2, 3]


def test_gained_by_influence_is_lost_without_it(case: Case) -> None:
    assert nodes(case.gained_by_influence()) == [1, 2]


def test_a_near_tie_is_not_visible(case: Case) -> None:
    assert nodes(case.visibly_gained_by_influence()) == [1]


@pytest.mark.parametrize(("away", "seen"), [(VISIBLE * 1.01, [1, 2]), (VISIBLE * 0.99, [1])])
def test_visible_is_an_influence_so_far_from_the_mean_of_the_neighbourhood(
    case: Case, away: float, seen: list[int]
) -> None:
    influence = case.confgcn.influence
    assert influence is not None
    influence[case.graph.adjacency.rows == 2] = torch.tensor([1.0, 1.0 - away, 1.0 + away])
    assert nodes(case.visibly_gained_by_influence()) == seen


def test_counts(case: Case) -> None:
    assert case.counts() == Counts("ConfGCN", 3, 3, 2, 1)


def test_any_node_is_every_node(case: Case) -> None:
    assert nodes(case.any_node()) == list(range(7))
