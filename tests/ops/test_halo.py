"""Rows borrowed of other parts: append_halo_rows, given back, and differentiated."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from confgcn.ops import convolve, propagate, with_halo_rows
from confgcn.ops.halo import add_halo_gradients, append_halo_rows
from confgcn.sparse import SparseStructure


class MatrixHalo:
    """Borrowed rows are a linear map of the own ones, as they are of all rows of all parts."""

    def __init__(self, matrix: Tensor) -> None:
        self.matrix = matrix

    def gather(self, *own: Tensor) -> tuple[Tensor, ...]:
        return tuple(self.matrix @ rows for rows in own)

    def scatter_add(self, *borrowed: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        return torch.arange(self.matrix.shape[1]), tuple(self.matrix.T @ rows for rows in borrowed)

    def all_reduce(self, numbers: Tensor) -> Tensor:
        return numbers


HALO = MatrixHalo(torch.tensor([[0.0, 1.0, 0.0], [2.0, 0.0, 1.0]], dtype=torch.double))


def test_borrowed_rows_come_after_the_own_ones() -> None:
    own, wider = torch.rand(3, 2, dtype=torch.double), torch.rand(3, 4, dtype=torch.double)
    for found, rows in zip(with_halo_rows(HALO, own, wider), (own, wider), strict=True):
        assert torch.equal(found, torch.cat([rows, HALO.matrix @ rows]))


def test_without_a_halo_the_own_rows_are_all() -> None:
    own = torch.rand(3, 2)
    assert with_halo_rows(None, own)[0] is own
    assert append_halo_rows(own, None) is own
    assert torch.equal(add_halo_gradients(own, 3, None), own)


def test_what_is_given_back_is_the_transpose_of_what_is_borrowed() -> None:
    own, gradient = torch.rand(3, 2, dtype=torch.double), torch.rand(5, 2, dtype=torch.double)
    there = (append_halo_rows(own, HALO) * gradient).sum()
    assert torch.isclose(there, (own * add_halo_gradients(gradient, 3, HALO)).sum())


def test_its_gradient() -> None:
    own, wider = (torch.rand(3, width, dtype=torch.double, requires_grad=True) for width in (2, 4))
    assert torch.autograd.gradcheck(lambda *rows: with_halo_rows(HALO, *rows), (own, wider))


def test_gradients_that_come_are_left_as_they_are() -> None:
    own = torch.rand(3, 2, dtype=torch.double, requires_grad=True)
    gradient = torch.rand(5, 2, dtype=torch.double)
    before = gradient.clone()
    with_halo_rows(HALO, own)[0].backward(gradient)
    assert torch.equal(gradient, before)


def test_a_walk_borrows_in_every_step() -> None:
    """A part of three nodes that hears two borrowed ones, against the same sums by hand."""
    structure = SparseStructure(torch.tensor([0, 2, 4, 6]), torch.tensor([0, 3, 1, 4, 0, 2]), (3, 5))
    weights, values = torch.rand(6, dtype=torch.double), torch.rand(3, 2, dtype=torch.double, requires_grad=True)
    dense = torch.zeros(3, 5, dtype=torch.double)
    dense[structure.rows, structure.indices] = weights
    step = dense @ torch.cat([torch.eye(3, dtype=torch.double), HALO.matrix])
    expected = (values + step @ values + step @ step @ values) / 3
    found = propagate(structure, weights, values, steps=2, halo=HALO)
    assert torch.allclose(found, expected)
    assert torch.autograd.gradcheck(lambda rows: propagate(structure, weights, rows, steps=2, halo=HALO), (values,))


@pytest.mark.parametrize("width", [2, 5])
@pytest.mark.parametrize("has_bias", [True, False])
def test_a_convolution_borrows_messages_or_what_they_are_made_of(width: int, has_bias: bool) -> None:
    """Narrow features are borrowed before they are transformed, wide ones afterwards."""
    structure = SparseStructure(torch.tensor([0, 2, 4, 6]), torch.tensor([0, 3, 1, 4, 0, 2]), (3, 5))
    kinds = {"dtype": torch.double, "requires_grad": True}
    inputs = [torch.rand(shape, **kinds) for shape in ((6,), (3, 4), (4, width))]
    bias = torch.rand(width, **kinds) if has_bias else None
    dense = torch.zeros(3, 5, dtype=torch.double)
    dense[structure.rows, structure.indices] = inputs[0].detach()
    message = (inputs[1] @ inputs[2] + (0.0 if bias is None else bias)).detach()
    found = convolve(structure, *inputs, bias, halo=HALO)
    assert torch.allclose(found, dense @ torch.cat([message, HALO.matrix @ message]))
    given = (*inputs, *([] if bias is None else [bias]))
    assert torch.autograd.gradcheck(lambda *tensors: convolve(structure, *tensors, halo=HALO), given)
