"""Operators on the rows of a dense matrix against loops."""

from __future__ import annotations

import math

import pytest
import torch
from torch.autograd import gradcheck

from confgcn.ops import rows_at, softmax

pytestmark = pytest.mark.usefixtures("each_kernels")


@pytest.mark.parametrize("classes", [1, 2, 7, 16, 17, 40])
def test_softmax_equals_loops(classes: int) -> None:
    scores = 5 * torch.randn(6, classes, dtype=torch.float64)
    expected = [[math.exp(s) / sum(map(math.exp, row)) for s in row] for row in scores.tolist()]
    torch.testing.assert_close(softmax(scores), scores.new_tensor(expected), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("classes", [1, 3, 17])
def test_gradient_of_softmax(classes: int) -> None:
    assert gradcheck(softmax, (torch.randn(4, classes, dtype=torch.float64, requires_grad=True),))


def test_softmax_survives_large_scores() -> None:
    assert softmax(torch.tensor([[1e30, 1e30], [-1e30, -1e30]])).tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert softmax(torch.tensor([[0.0, 1e30]]))[0].tolist() == pytest.approx([0.0, 1.0], abs=1e-30)


def test_rows_at_gives_the_rows_in_the_order_asked_for() -> None:
    values = torch.arange(8.0).view(4, 2)
    assert rows_at(values, torch.tensor([3, 0])).tolist() == [[6, 7], [0, 1]]


def test_gradient_of_rows_at() -> None:
    values = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda v: rows_at(v, torch.tensor([4, 0, 2])), (values,))
