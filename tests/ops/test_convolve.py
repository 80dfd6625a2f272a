"""The convolution against loops, and against the operators it stands for, with dropout too."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck

from confgcn import kernels
from confgcn.ops import aggregate, convolve, dropout, matmul
from confgcn.ops.products import BLOCK_ROWS
from confgcn.sparse import SparseMatrix, SparseStructure

pytestmark = pytest.mark.usefixtures("each_kernels")

with_or_without_bias = pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
narrower_or_wider = pytest.mark.parametrize("out", [3, 7])
sparse_or_dense = pytest.mark.parametrize("sparse", [True, False], ids=["sparse", "dense"])


def some_features(count: int, *, sparse: bool) -> Tensor | SparseMatrix:
    """(count, 5), the last column empty where they are sparse; with a gradient, as hidden features have one."""
    dense = torch.randn(count, 5, dtype=torch.float64)
    if not sparse:
        return dense.requires_grad_()
    rows, columns = (dense[:, :4] > 0).nonzero(as_tuple=True)
    indptr = torch.cat([torch.zeros(1, dtype=torch.long), torch.bincount(rows, minlength=count).cumsum(0)])
    return SparseMatrix(
        SparseStructure(indptr, columns.contiguous(), (count, 5)), dense[rows, columns].requires_grad_()
    )


def values_of(features: Tensor | SparseMatrix) -> Tensor:
    return features.values if isinstance(features, SparseMatrix) else features


def random_arguments(structure: SparseStructure, out: int, *, bias: bool) -> tuple[Tensor, Tensor, Tensor | None]:
    """Edge weights, weight, bias."""
    edge_weights = torch.randn(structure.num_entries, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(5, out, dtype=torch.float64, requires_grad=True)
    return edge_weights, weight, torch.randn(out, dtype=torch.float64, requires_grad=True) if bias else None


def composed(
    structure: SparseStructure,
    edge_weights: Tensor,
    features: Tensor | SparseMatrix,
    weight: Tensor,
    bias: Tensor | None,
    *,
    rate: float,
) -> Tensor:
    message = matmul(dropout(features, rate, training=True), weight)
    return aggregate(structure, edge_weights, message if bias is None else message + bias)


@narrower_or_wider
@with_or_without_bias
@sparse_or_dense
def test_convolution_equals_loops(structure: SparseStructure, sparse: bool, bias: bool, out: int) -> None:
    features = some_features(structure.shape[1], sparse=sparse)
    edge_weights, weight, offset = random_arguments(structure, out, bias=bias)
    rows = matmul(features, torch.eye(5, dtype=torch.float64))
    expected = torch.zeros(structure.shape[0], out, dtype=torch.float64)
    for a, v, u in zip(edge_weights, structure.rows.tolist(), structure.indices.tolist(), strict=True):
        expected[v] += a * (weight.T @ rows[u] + (0 if offset is None else offset))
    ours = convolve(structure, edge_weights, features, weight, offset)
    torch.testing.assert_close(ours, expected, rtol=1e-12, atol=1e-12)


@narrower_or_wider
@with_or_without_bias
@sparse_or_dense
def test_gradient(structure: SparseStructure, sparse: bool, bias: bool, out: int) -> None:
    features = some_features(structure.shape[1], sparse=sparse)
    edge_weights, *others = random_arguments(structure, out, bias=bias)

    def of_values(edge_weights: Tensor, values: Tensor, *others: Tensor | None) -> Tensor:
        given = features.with_values(values) if isinstance(features, SparseMatrix) else values
        return convolve(structure, edge_weights, given, *others)

    assert gradcheck(of_values, (edge_weights, values_of(features), *others))


def assert_composed(
    structure: SparseStructure, features: Tensor | SparseMatrix, arguments: tuple[Tensor, ...], rate: float
) -> None:
    """Values and gradients are those of the operators in a row, drawn from the same stream."""
    edge_weights, weight, offset = arguments
    torch.manual_seed(3)
    ours = convolve(structure, edge_weights, features, weight, offset, dropout=rate)
    torch.manual_seed(3)
    theirs = composed(structure, edge_weights, features, weight, offset, rate=rate)
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)
    variables = [v for v in (edge_weights, values_of(features), weight, offset) if v is not None]
    mix = torch.randn_like(ours)
    gradients = [torch.autograd.grad((y * mix).sum(), variables) for y in (ours, theirs)]
    torch.testing.assert_close(*gradients, rtol=1e-10, atol=1e-12)


@narrower_or_wider
@with_or_without_bias
@sparse_or_dense
@pytest.mark.parametrize("rate", [0.0, 0.4])
def test_it_equals_dropout_matmul_and_aggregate_in_a_row(
    structure: SparseStructure, sparse: bool, bias: bool, rate: float, out: int
) -> None:
    features = some_features(structure.shape[1], sparse=sparse)
    assert_composed(structure, features, random_arguments(structure, out, bias=bias), rate)


@with_or_without_bias
@sparse_or_dense
def test_it_equals_them_on_many_rows(sparse: bool, bias: bool) -> None:
    count = 2 * BLOCK_ROWS + 3
    ring = SparseStructure(torch.arange(count + 1), (torch.arange(count) + 1) % count, (count, count))
    assert_composed(ring, some_features(count, sparse=sparse), random_arguments(ring, 3, bias=bias), 0.4)


@with_or_without_bias
@sparse_or_dense
@pytest.mark.parametrize("rate", [0.0, 0.4])
def test_no_sources_give_no_rows(sparse: bool, bias: bool, rate: float) -> None:
    nothing = SparseStructure(torch.zeros(1, dtype=torch.long), torch.zeros(0, dtype=torch.long), (0, 0))
    edge_weights, weight, offset = random_arguments(nothing, 3, bias=bias)
    output = convolve(nothing, edge_weights, some_features(0, sparse=sparse), weight, offset, dropout=rate)
    assert output.shape == (0, 3)
    output.sum().backward()
    assert not weight.grad.any()


@sparse_or_dense
def test_features_changed_before_the_backward_pass_are_noticed(adjacency: SparseStructure, sparse: bool) -> None:
    features = some_features(adjacency.shape[1], sparse=sparse)
    edge_weights, weight, _ = random_arguments(adjacency, 3, bias=False)
    output = convolve(adjacency, edge_weights, features, weight)
    with torch.no_grad():
        values_of(features).zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        output.sum().backward()


@pytest.mark.parametrize(("out", "bias", "width"), [(3, False, 3), (7, False, 5), (3, True, 3), (7, True, 7)])
def test_the_narrower_rows_are_added_up(
    adjacency: SparseStructure, monkeypatch: pytest.MonkeyPatch, out: int, bias: bool, width: int
) -> None:
    widths = []
    core = kernels.active()
    multiply = core.multiply

    def counting(structure: SparseStructure, values: Tensor, dense: Tensor) -> Tensor:
        widths.append(dense.shape[1])
        return multiply(structure, values, dense)

    monkeypatch.setattr(core, "multiply", counting)
    edge_weights, weight, offset = random_arguments(adjacency, out, bias=bias)
    convolve(adjacency, edge_weights, some_features(11, sparse=False), weight, offset)
    assert widths == [width]
