"""The parts of the pure propagation rows that can be checked by hand; test_kernels.py compares the whole."""

from __future__ import annotations

import torch

from confgcn.kernels import pure, pure_propagation
from confgcn.sparse import SparseStructure


def test_entries_at_one_place_are_added_up_and_sorted() -> None:
    rows, columns, weights = pure_propagation._added(
        torch.tensor([1, 0, 1, 1]), torch.tensor([2, 1, 0, 2]), torch.tensor([1.0, 2.0, 3.0, 4.0]), 3
    )
    assert (rows.tolist(), columns.tolist(), weights.tolist()) == ([0, 1, 1], [1, 0, 2], [2.0, 3.0, 5.0])


def test_the_rank_orders_by_weight_first() -> None:
    weights = torch.tensor([1e-300, 1e-9, 0.5, 0.5000002, 0.500001, 1.0, 3.0], dtype=torch.double)
    numbers = torch.arange(7)
    ranks = pure_propagation._rank(weights, numbers, numbers)
    assert (ranks[[0, 1, 4, 5]] < ranks[[1, 2, 5, 6]]).all()
    assert ranks[2] >> 32 == ranks[3] >> 32  # they agree in 20 bits
    assert ranks[2] >> 32 < ranks[4] >> 32


def test_ranks_of_equal_weights_differ_between_all_columns_of_a_row() -> None:
    columns = torch.arange(100_000)
    ranks = pure_propagation._rank(torch.ones(100_000, dtype=torch.double), torch.full_like(columns, 7), columns)
    assert len(ranks.unique()) == 100_000


def test_the_entries_of_highest_rank_of_every_row() -> None:
    rows, rank = torch.tensor([0, 0, 0, 2]), torch.tensor([5, 9, 7, 1])
    positions, places = pure_propagation._largest(rows, rank, 2)
    assert (positions.tolist(), places.tolist()) == ([1, 2, 3], [0, 1, 0])


def test_sums_of_rows_stay_sparse() -> None:
    structure = SparseStructure(torch.tensor([0, 1, 2, 2]), torch.tensor([4, 2]), (3, 5))
    nodes = torch.tensor([[0, 1], [2, 2], [1, 0]], dtype=torch.int32)
    weights = torch.tensor([[3.0, 4.0], [1.0, 1.0], [0.0, 2.0]])
    indptr, indices, values = pure.sum_feature_rows(structure, torch.ones(2), nodes, weights, unit_length=True)
    assert (indptr.tolist(), indices.tolist()) == ([0, 2, 2, 3], [2, 4, 4])
    torch.testing.assert_close(values, torch.tensor([0.8, 0.6, 1.0]))
