"""Scaling of rows and columns: the same for dense and sparse features, and safe for every finite row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from confgcn.data.transforms import scale_features, suited_scaling
from confgcn.graph import Graph
from confgcn.ops import matmul
from confgcn.sparse import SparseMatrix

ROWS = np.array([[1.0, 3, 0], [0, 0, 0], [-1, 0, 1], [0, -4, 0]])
SCALED = [[0.25, 0.75, 0], [0, 0, 0], [-0.5, 0, 0.5], [0, -1, 0]]


def graph_with(features: Any) -> Graph:
    return Graph.build([(0, 1)], features, np.zeros(features.shape[0], int))


def dense(features: torch.Tensor | SparseMatrix) -> torch.Tensor:
    return matmul(features, torch.eye(features.shape[1]))


@pytest.mark.parametrize("as_given", [np.array, sp.csr_matrix], ids=["dense", "sparse"])
def test_rows_are_divided_by_their_absolute_sum_and_zero_rows_stay_zero(as_given: Any) -> None:
    scaled = scale_features(graph_with(as_given(ROWS)), "rows").features
    assert dense(scaled).tolist() == SCALED


@pytest.mark.parametrize("as_given", [np.array, sp.csr_matrix], ids=["dense", "sparse"])
def test_rows_are_divided_by_their_length_and_zero_rows_stay_zero(as_given: Any) -> None:
    scaled = dense(scale_features(graph_with(as_given(ROWS)), "unit").features)
    torch.testing.assert_close(scaled.norm(dim=1), torch.tensor([1.0, 0.0, 1.0, 1.0]))
    torch.testing.assert_close(scaled[0], torch.tensor([1.0, 3.0, 0.0]) / 10**0.5)
    torch.testing.assert_close(scaled[3], torch.tensor([0.0, -1.0, 0.0]))


def test_sparse_features_stay_sparse() -> None:
    scaled = scale_features(graph_with(sp.csr_matrix(ROWS)), "rows").features
    assert isinstance(scaled, SparseMatrix)
    assert len(scaled.values) == 5


def test_sparse_equals_dense_on_arbitrary_rows() -> None:
    features = np.random.default_rng(0).normal(size=(20, 7)) * (np.arange(7) % 3 == 0)
    by_row = scale_features(graph_with(features), "rows").features
    by_entry = scale_features(graph_with(sp.csr_matrix(features)), "rows").features
    torch.testing.assert_close(dense(by_entry), dense(by_row))


@pytest.mark.parametrize("as_given", [np.array, sp.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("size", [3e38, 1e-40], ids=["sum overflows float32", "sum is subnormal"])
@pytest.mark.parametrize(("how", "expected"), [("rows", 0.5), ("unit", 0.5**0.5)])
def test_extreme_rows_are_scaled_like_any_other(as_given: Any, size: float, how: Any, expected: float) -> None:
    scaled = scale_features(graph_with(as_given(np.full((2, 2), size))), how).features
    torch.testing.assert_close(dense(scaled), torch.full((2, 2), expected))


def test_none_leaves_the_graph_as_it_is() -> None:
    graph = graph_with(ROWS)
    assert scale_features(graph, "none") is graph


def test_the_graph_given_keeps_its_features() -> None:
    graph = graph_with(sp.csr_matrix(ROWS))
    before = graph.fingerprint
    assert scale_features(graph, "rows").fingerprint != before
    assert isinstance(graph.features, SparseMatrix)
    assert graph.features.values.tolist() == [1, 3, -1, 1, -4]


def test_columns_have_mean_zero_and_deviation_one() -> None:
    values = np.array([[1.0, 100.0, 5.0], [2.0, 300.0, 5.0], [3.0, 200.0, 5.0]])
    scaled = scale_features(graph_with(values), "columns").features.numpy()
    np.testing.assert_allclose(scaled.mean(0), 0, atol=1e-6)
    np.testing.assert_allclose(scaled.std(0), [1, 1, 0], atol=1e-6)


def test_sparse_columns_are_divided_and_keep_their_zeros() -> None:
    values = np.array([[0.0, 3.0], [4.0, 0.0], [0.0, 0.0]])
    dense, sparse = graph_with(values), graph_with(sp.csr_matrix(values))
    scaled = scale_features(sparse, "columns").features.to_scipy().toarray()
    np.testing.assert_allclose(scaled, values / values.std(0), rtol=1e-6)
    centred = scale_features(dense, "columns").features.numpy()
    np.testing.assert_allclose(centred - centred[2], scaled, rtol=1e-5)


def test_columns_go_by_the_graph_they_were_fitted_on() -> None:
    fitted, other = graph_with(np.array([[0.0], [2.0]])), graph_with(np.array([[3.0], [5.0]]))
    assert scale_features(other, "columns", fitted_on=fitted).features.tolist() == [[2.0], [4.0]]


def test_word_counts_are_scaled_by_rows_and_measurements_by_columns() -> None:
    words = np.array([[0.0, 3.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 9.0]])
    assert suited_scaling(graph_with(words).features) == "rows"
    assert suited_scaling(graph_with(sp.csr_matrix(words)).features) == "rows"
    ages = np.column_stack([words, [31.0, 42.0, 0.0]])
    assert suited_scaling(graph_with(ages).features) == "columns"
    assert suited_scaling(graph_with(sp.csr_matrix(ages)).features) == "columns"
    assert suited_scaling(graph_with(words - 0.5).features) == "columns"
    assert suited_scaling(graph_with(np.ones((3, 2)) / 2).features) == "rows"
    auto, plain = (scale_features(graph_with(ages), how).features for how in ("auto", "columns"))
    assert auto.tolist() == plain.tolist()
