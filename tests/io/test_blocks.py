"""Blocks hold every row once, in order, and no more than fits, unless a single row is larger."""

from __future__ import annotations

import numpy as np
import pytest

from confgcn.io import blocks


def rows_of(found: list[slice]) -> list[list[int]]:
    return [list(range(block.start, block.stop)) for block in found]


def test_rows_are_taken_together_while_their_values_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 6)
    assert rows_of(list(blocks.blocks_of_rows(5, width=3))) == [[0, 1], [2, 3], [4]]
    assert rows_of(list(blocks.blocks_of_rows(2, width=100))) == [[0], [1]]
    assert list(blocks.blocks_of_rows(0)) == []


def test_rows_of_a_sparse_matrix_are_taken_together_while_their_entries_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 4)
    indptr = np.cumsum([0, 2, 2, 0, 1, 9, 0, 4])  # the fifth row is larger than a block
    assert rows_of(list(blocks.blocks_of_entries(indptr))) == [[0, 1, 2], [3], [4], [5, 6]]
    assert list(blocks.blocks_of_entries(np.array([0]))) == []
