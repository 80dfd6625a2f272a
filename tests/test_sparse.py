"""Sparse products equal dense ones, and only stored entries get a gradient."""

from __future__ import annotations

import gc
import weakref
from functools import partial

import pytest
import torch
from torch.autograd import gradcheck

from confgcn.graph import Graph
from confgcn.ops import aggregate, matmul
from confgcn.sparse import SparseMatrix, SparseStructure, rows_of


def example() -> tuple[SparseMatrix, torch.Tensor]:
    structure = SparseStructure(torch.tensor([0, 2, 2, 3]), torch.tensor([0, 3, 1]), (3, 4))
    dense = torch.tensor([[2.0, 0, 0, -1], [0, 0, 0, 0], [0, 5, 0, 0]], dtype=torch.float64)
    return SparseMatrix(structure, torch.tensor([2.0, -1, 5], dtype=torch.float64)), dense


def test_product_and_gradient_equal_the_dense_ones() -> None:
    matrix, dense = example()
    weight = torch.randn(4, 2, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(matmul(matrix, weight), dense @ weight)
    (ours,) = torch.autograd.grad((matmul(matrix, weight)).square().sum(), weight)
    (theirs,) = torch.autograd.grad((dense @ weight).square().sum(), weight)
    torch.testing.assert_close(ours, theirs)


def test_gradcheck_in_values_and_dense_factor() -> None:
    matrix, _ = example()
    weight = torch.randn(4, 2, dtype=torch.float64, requires_grad=True)
    assert gradcheck(partial(aggregate, matrix.structure), (matrix.values.clone().requires_grad_(), weight))


def test_transpose() -> None:
    matrix, dense = example()
    structure, order = matrix.structure.transposed
    torch.testing.assert_close(
        aggregate(structure, matrix.values[order], torch.eye(3, dtype=torch.float64)), dense.T.contiguous()
    )


def test_row_sums() -> None:
    matrix, dense = example()
    torch.testing.assert_close(matrix.row_sums(), dense.sum(1))


def test_without_its_diagonal(six_nodes: Graph) -> None:
    structure, entries = six_nodes.adjacency.without_diagonal
    assert structure.num_entries == 10
    assert not (structure.rows == structure.indices).any()
    assert torch.equal(six_nodes.adjacency.indices[entries], structure.indices)
    assert torch.equal(six_nodes.adjacency.rows[entries], structure.rows)
    assert six_nodes.neighbours is structure


def test_rows_of_dense_and_sparse_features_may_be_named_more_than_once() -> None:
    dense = torch.tensor([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]])
    sparse = SparseMatrix(SparseStructure(torch.tensor([0, 1, 2, 3]), torch.tensor([0, 1, 0]), (3, 2)), dense.sum(1))
    nodes = torch.tensor([2, 0, 2])
    assert torch.equal(rows_of(dense, nodes), dense[nodes])
    picked = rows_of(sparse, nodes)
    assert torch.equal(torch.from_numpy(picked.to_scipy().toarray()), dense[nodes])


@pytest.mark.parametrize("derive", ["rows", "transposed", "mirror", "without_diagonal"])
def test_a_dropped_structure_is_freed_at_once(derive: str) -> None:
    """Without waiting for the garbage collector, which looks for cycles of references."""
    structure = SparseStructure(torch.tensor([0, 2, 4]), torch.tensor([0, 1, 0, 1]), (2, 2))
    getattr(structure, derive)
    reference = weakref.ref(structure)
    gc.disable()
    try:
        del structure
        assert reference() is None
    finally:
        gc.enable()


def test_what_is_derived_on_another_device_is_what_is_derived_on_the_cpu(structure: SparseStructure) -> None:
    moved = structure.to("meta")
    assert moved.to("cpu") is structure
    assert structure.to("meta") is moved
    assert (moved.mirror is None) == (structure.mirror is None)
    assert moved.rows.shape == structure.rows.shape
    for ours, theirs in zip(moved.transposed, structure.transposed, strict=True):
        assert (ours.device.type, ours.shape) == ("meta", theirs.shape)


def test_sorting_gives_the_same_transpose_as_counting(structure: SparseStructure) -> None:
    found, order = structure._transposed_by_sorting()
    expected, expected_order = structure.transposed
    assert found.equals(expected)
    assert torch.equal(order, expected_order)
