"""What both ends bring to an edge against torch's indexing, with heads and on structures that are not square."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck

from confgcn.ops import edge_sum
from confgcn.sparse import SparseStructure

pytestmark = pytest.mark.usefixtures("each_kernels")

every_heads = pytest.mark.parametrize("heads", [(), (1,), (3,)], ids=str)


def random_arguments(structure: SparseStructure, heads: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """The values of the targets and of the sources."""
    targets, sources = (torch.randn(count, *heads, dtype=torch.float64) for count in structure.shape)
    return targets.requires_grad_(), sources.requires_grad_()


@every_heads
def test_values_and_gradients_are_those_of_indexing(structure: SparseStructure, heads: tuple[int, ...]) -> None:
    ends = random_arguments(structure, heads)
    ours, theirs = edge_sum(structure, *ends), ends[0][structure.rows] + ends[1][structure.indices]
    assert torch.equal(ours, theirs)
    mix = torch.randn_like(ours)
    gradients = (torch.autograd.grad((y * mix).sum(), ends) for y in (ours, theirs))
    torch.testing.assert_close(*gradients, rtol=1e-12, atol=1e-12)


@every_heads
def test_gradient(adjacency: SparseStructure, heads: tuple[int, ...]) -> None:
    assert gradcheck(partial(edge_sum, adjacency), random_arguments(adjacency, heads))


def test_a_second_derivative_is_refused(adjacency: SparseStructure) -> None:
    ends = random_arguments(adjacency, (3,))
    with pytest.raises(RuntimeError, match="second derivatives are not supported"):
        torch.autograd.grad(edge_sum(adjacency, *ends).sum(), ends, create_graph=True)


def test_a_gradient_that_lies_apart_goes_back_right(adjacency: SparseStructure) -> None:
    ends = random_arguments(adjacency, (3,))
    sums = edge_sum(adjacency, *ends)
    gradient = torch.randn(3, adjacency.num_entries, dtype=torch.float64).T
    apart, together = (torch.autograd.grad(sums, ends, g, retain_graph=True) for g in (gradient, gradient.contiguous()))
    torch.testing.assert_close(apart, together, rtol=0.0, atol=0.0)
