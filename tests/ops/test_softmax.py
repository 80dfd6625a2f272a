"""Softmax over rows and over the edges of a target against loops, for one score an edge and for several heads."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck

from confgcn.graph import Graph
from confgcn.ops import edge_softmax, softmax
from confgcn.sparse import SparseStructure

pytestmark = pytest.mark.usefixtures("each_kernels")

every_heads = pytest.mark.parametrize("heads", [(), (1,), (3,)], ids=str)


def slow_edge_softmax(adjacency: SparseStructure, scores: Tensor) -> Tensor:
    """For one score an edge."""
    rows, exponentials = adjacency.rows.tolist(), [math.exp(score) for score in scores.tolist()]
    sums = dict.fromkeys(rows, 0.0)
    for row, exponential in zip(rows, exponentials, strict=True):
        sums[row] += exponential
    return scores.new_tensor([exponential / sums[row] for row, exponential in zip(rows, exponentials, strict=True)])


@every_heads
def test_edge_softmax_equals_loops(adjacency: SparseStructure, heads: tuple[int, ...]) -> None:
    scores = 0.1 + torch.rand(adjacency.num_entries, *heads, dtype=torch.float64)
    weights = edge_softmax(adjacency, scores)
    columns = zip(weights.view(-1, *heads or (1,)).T, scores.view(-1, *heads or (1,)).T, strict=True)
    for ours, of_head in columns:
        torch.testing.assert_close(ours, slow_edge_softmax(adjacency, of_head), rtol=1e-12, atol=1e-12)


@every_heads
def test_gradient_of_edge_softmax(adjacency: SparseStructure, heads: tuple[int, ...]) -> None:
    scores = 0.1 + torch.rand(adjacency.num_entries, *heads, dtype=torch.float64)
    assert gradcheck(lambda s: edge_softmax(adjacency, s), (scores.requires_grad_(),))


@pytest.mark.parametrize("size", [1e30, -1e30])
def test_edge_softmax_of_large_scores_is_finite(six_nodes: Graph, size: float) -> None:
    scores = torch.full((six_nodes.adjacency.num_entries,), size)
    expected = edge_softmax(six_nodes.adjacency, torch.zeros_like(scores))
    assert torch.equal(edge_softmax(six_nodes.adjacency, scores), expected)


def test_edge_softmax_of_scores_far_apart_is_finite() -> None:
    pair = SparseStructure(torch.tensor([0, 2]), torch.tensor([0, 1]), (1, 2))
    assert edge_softmax(pair, torch.tensor([0.0, 1e30])).tolist() == pytest.approx([0.0, 1.0], abs=1e-30)


@pytest.mark.parametrize("classes", [1, 2, 7, 16, 17, 40])
def test_softmax_equals_loops(classes: int) -> None:
    scores = 5 * torch.randn(6, classes, dtype=torch.float64)
    expected = [[math.exp(s) / sum(map(math.exp, row)) for s in row] for row in scores.tolist()]
    torch.testing.assert_close(softmax(scores), scores.new_tensor(expected), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("classes", [1, 3, 17])
def test_gradient_of_softmax(classes: int) -> None:
    assert gradcheck(softmax, (torch.randn(4, classes, dtype=torch.float64, requires_grad=True),))


def test_softmax_of_large_scores_is_finite() -> None:
    assert softmax(torch.tensor([[1e30, 1e30], [-1e30, -1e30]])).tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert softmax(torch.tensor([[0.0, 1e30]]))[0].tolist() == pytest.approx([0.0, 1.0], abs=1e-30)
