"""Rows of nodes of which some are named more than once: their gradients are added up."""

from __future__ import annotations

import pytest
import torch
from torch.autograd import gradcheck

from confgcn.ops import gather

pytestmark = pytest.mark.usefixtures("each_kernels")


def test_it_gives_the_rows_in_the_order_asked_for_as_often_as_asked_for() -> None:
    values = torch.arange(8.0).view(4, 2)
    assert gather(values, torch.tensor([3, 0, 3, 3])).tolist() == [[6, 7], [0, 1], [6, 7], [6, 7]]


@pytest.mark.parametrize("width", [1, 3, 17])
def test_values_and_gradients_are_those_of_indexing(width: int) -> None:
    values = torch.randn(9, width, dtype=torch.float64, requires_grad=True)
    nodes = torch.randint(7, (40,))  # 7 and 8 are not named
    ours, theirs = gather(values, nodes), values[nodes]
    assert torch.equal(ours, theirs)
    mix = torch.randn_like(ours)
    (gradient,), (expected,) = (torch.autograd.grad((y * mix).sum(), values) for y in (ours, theirs))
    torch.testing.assert_close(gradient, expected, rtol=1e-12, atol=1e-12)
    assert not gradient[7:].any()


def test_gradient() -> None:
    values = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda v: gather(v, torch.tensor([4, 0, 4, 2, 4])), (values,))


def test_no_nodes_have_no_rows() -> None:
    values = torch.randn(5, 3, requires_grad=True)
    rows = gather(values, torch.empty(0, dtype=torch.long))
    assert rows.shape == (0, 3)
    rows.sum().backward()
    assert not values.grad.any()


def test_a_gradient_is_added_up_in_one_order() -> None:
    values = torch.randn(50, 7, requires_grad=True)
    nodes = torch.randint(50, (5000,))
    mix = torch.randn(5000, 7)
    first, second = (torch.autograd.grad((gather(values, nodes) * mix).sum(), values)[0] for _ in range(2))
    assert torch.equal(first, second)
