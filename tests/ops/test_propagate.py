"""The mean over a walk against powers of a dense matrix, and its gradient; no edge learns from it."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck

from confgcn.ops import propagate
from confgcn.sparse import SparseStructure

pytestmark = pytest.mark.usefixtures("each_kernels")

STEPS = (0, 1, 2, 5)


def dense_of(structure: SparseStructure, weights: Tensor) -> Tensor:
    matrix = weights.new_zeros(structure.shape)
    for entry, (v, u) in enumerate(zip(structure.rows.tolist(), structure.indices.tolist(), strict=True)):
        matrix[v, u] = weights[entry]
    return matrix


def mean_of_powers(matrix: Tensor, values: Tensor, steps: int) -> Tensor:
    total = torch.zeros_like(values)
    for k in range(steps + 1):
        total = total + torch.linalg.matrix_power(matrix, k) @ values
    return total / (steps + 1)


@pytest.fixture
def weights(adjacency: SparseStructure) -> Tensor:
    """Neither symmetric nor all of one sign."""
    return torch.randn(adjacency.num_entries, dtype=torch.float64, generator=torch.Generator().manual_seed(3)) / 3


@pytest.fixture
def values() -> Tensor:
    return torch.randn(11, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(4)).requires_grad_()


@pytest.mark.parametrize("steps", STEPS)
def test_it_is_the_mean_of_the_powers(adjacency: SparseStructure, weights: Tensor, values: Tensor, steps: int) -> None:
    given = values.detach().clone()
    fast = propagate(adjacency, weights, values, steps=steps)
    slow = mean_of_powers(dense_of(adjacency, weights), values, steps)
    torch.testing.assert_close(fast, slow, rtol=1e-12, atol=1e-12)
    mix = torch.randn(11, 3, dtype=torch.float64)
    ours, theirs = (torch.autograd.grad((mean * mix).sum(), values)[0] for mean in (fast, slow))
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)
    assert torch.equal(values, given)


@pytest.mark.parametrize("steps", STEPS)
def test_gradient(adjacency: SparseStructure, weights: Tensor, values: Tensor, steps: int) -> None:
    assert gradcheck(lambda x: propagate(adjacency, weights, x, steps=steps), (values,))


def test_no_gradient_reaches_the_weights(adjacency: SparseStructure, weights: Tensor, values: Tensor) -> None:
    weights.requires_grad_()
    propagate(adjacency, weights, values, steps=2).sum().backward()
    assert values.grad is not None
    assert weights.grad is None


def test_float32_and_a_gradient_that_lies_apart(adjacency: SparseStructure, weights: Tensor) -> None:
    values = torch.randn(11, 3, generator=torch.Generator().manual_seed(4)).requires_grad_()
    fast = propagate(adjacency, weights.float(), values, steps=3)
    mix = torch.randn(3, 11).T
    assert not mix.is_contiguous()
    (ours,) = torch.autograd.grad(fast, values, mix)
    matrix = dense_of(adjacency, weights)
    torch.testing.assert_close(fast, mean_of_powers(matrix, values.double(), 3).float(), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(ours, mean_of_powers(matrix.T, mix.double(), 3).float(), rtol=1e-5, atol=1e-6)


def test_what_is_heard_on_a_path_by_hand() -> None:
    # 0 -> 1 -> 2, nobody speaks to 0: after two steps 2 has heard itself, 1 and 0 once each
    path = SparseStructure(torch.tensor([0, 0, 1, 2]), torch.tensor([0, 1]), (3, 3))
    heard = propagate(path, torch.tensor([0.5, 0.5]), torch.tensor([[4.0], [8.0], [16.0]]), steps=2)
    assert heard.flatten().tolist() == pytest.approx([4 / 3, (8 + 2) / 3, (16 + 4 + 1) / 3])
