"""Normalisation over the edges of a target against loops, for one score an edge and for several heads."""

from __future__ import annotations

import math
from typing import get_args

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck

from confgcn.exceptions import UsageError
from confgcn.graph import Graph
from confgcn.ops import Normalisation, degree_weights, normalise
from confgcn.sparse import SparseStructure

pytestmark = pytest.mark.usefixtures("each_kernels")

every_way = pytest.mark.parametrize("how", get_args(Normalisation))
every_heads = pytest.mark.parametrize("heads", [(), (1,), (3,)], ids=str)


def slow_normalise(adjacency: SparseStructure, scores: Tensor, how: str) -> Tensor:
    """For one score an edge."""
    ends = list(zip(adjacency.indices.tolist(), adjacency.rows.tolist(), strict=True))
    numbers = scores.tolist()
    sums, exponentials = (dict.fromkeys(range(adjacency.shape[0]), 0.0) for _ in range(2))
    for (_, v), s in zip(ends, numbers, strict=True):
        sums[v] += s
        exponentials[v] += math.exp(s)
    weights = []
    for (u, v), s in zip(ends, numbers, strict=True):
        if how == "softmax":
            weights.append(math.exp(s) / exponentials[v])
        elif how == "sum":
            weights.append(s / sums[v])
        elif how == "symmetric":
            weights.append(s / math.sqrt(sums[u] * sums[v]))
        else:
            weights.append(s)
    return scores.new_tensor(weights)


def with_loops(adjacency: SparseStructure) -> SparseStructure:
    """The same edges and a loop at every node: the symmetric way divides by the sums of both ends."""
    mask = torch.eye(adjacency.shape[0], dtype=torch.bool)
    mask[adjacency.rows, adjacency.indices] = True
    counts = mask.sum(1)
    indptr = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    return SparseStructure(indptr, mask.nonzero()[:, 1].contiguous(), adjacency.shape)


@every_way
@every_heads
def test_weights_equal_loops(adjacency: SparseStructure, how: Normalisation, heads: tuple[int, ...]) -> None:
    adjacency = with_loops(adjacency) if how == "symmetric" else adjacency
    scores = 0.1 + torch.rand(adjacency.num_entries, *heads, dtype=torch.float64)
    weights = normalise(adjacency, scores, how)
    columns = zip(weights.view(-1, *heads or (1,)).T, scores.view(-1, *heads or (1,)).T, strict=True)
    for ours, of_head in columns:
        torch.testing.assert_close(ours, slow_normalise(adjacency, of_head, how), rtol=1e-12, atol=1e-12)


@every_way
@every_heads
def test_gradient(adjacency: SparseStructure, how: Normalisation, heads: tuple[int, ...]) -> None:
    adjacency = with_loops(adjacency) if how == "symmetric" else adjacency
    scores = 0.1 + torch.rand(adjacency.num_entries, *heads, dtype=torch.float64)
    assert gradcheck(lambda s: normalise(adjacency, s, how), (scores.requires_grad_(),))


@pytest.mark.parametrize("size", [1e30, -1e30])
def test_softmax_survives_large_scores(six_nodes: Graph, size: float) -> None:
    scores = torch.full((six_nodes.adjacency.num_entries,), size)
    expected = normalise(six_nodes.adjacency, torch.zeros_like(scores), "softmax")
    assert torch.equal(normalise(six_nodes.adjacency, scores, "softmax"), expected)


def test_softmax_survives_scores_far_apart() -> None:
    pair = SparseStructure(torch.tensor([0, 2]), torch.tensor([0, 1]), (1, 2))
    assert normalise(pair, torch.tensor([0.0, 1e30]), "softmax").tolist() == pytest.approx([0.0, 1.0], abs=1e-30)


def test_degree_weights_are_those_of_kipf_and_welling_in_the_type_asked_for(six_nodes: Graph) -> None:
    adjacency = six_nodes.adjacency
    size = (six_nodes.degrees + 1).double()
    expected = 1 / (size[adjacency.indices] * size[adjacency.rows]).sqrt()
    for dtype in (torch.float64, torch.float32, torch.float64):
        torch.testing.assert_close(degree_weights(adjacency, dtype), expected.to(dtype))
    assert degree_weights(adjacency, torch.float64) is degree_weights(adjacency, torch.float64)


def test_an_unknown_way_is_named_with_the_known_ones(six_nodes: Graph) -> None:
    with pytest.raises(UsageError, match=r"unknown normalisation 'softmx'.*'softmax'.*none, softmax, sum, symmetric"):
        normalise(six_nodes.adjacency, torch.ones(16), "softmx")  # type: ignore[arg-type]


def test_degree_weights_found_where_nothing_is_trained_serve_training_too(six_nodes: Graph) -> None:
    with torch.inference_mode():
        weights = degree_weights(six_nodes.adjacency, torch.float32)
    assert not weights.is_inference()
    assert degree_weights(six_nodes.adjacency, torch.float32) is weights
