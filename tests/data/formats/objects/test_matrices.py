"""A matrix is an adjacency matrix or an edge index, and wrong entries are named."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from confgcn.data.formats.registry import raw_graph
from confgcn.exceptions import DataError

ADJACENCY = np.array([[0, 1, 0], [0, 1, 1], [0, 0, 0]])
EDGES = [[0, 1], [1, 1], [1, 2]]


@pytest.mark.parametrize("make", [np.array, torch.tensor])
@pytest.mark.parametrize("dtype", ["int8", "float64", "bool"])
def test_ones_of_any_type_are_edges(make: Any, dtype: str) -> None:
    assert raw_graph(make(ADJACENCY.astype(dtype))).edges.tolist() == EDGES


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"])
@pytest.mark.parametrize("make", [sp.coo_matrix, sp.coo_array])
def test_every_sparse_format_is_read(form: str, make: Any) -> None:
    assert sorted(raw_graph(make(ADJACENCY).asformat(form)).edges.tolist()) == EDGES


def test_stored_zeros_are_no_edges() -> None:
    stored = sp.csr_matrix(([1, 0], ([0, 1], [1, 2])), shape=(3, 3))
    assert raw_graph(stored).edges.tolist() == [[0, 1]]


@pytest.mark.parametrize("beside", [{"features": np.ones((4, 2))}, {"node_names": "abcd"}, {"labels": [0, 1, 0, 1]}])
def test_the_node_data_determines_the_number_of_nodes_of_an_edge_index(beside: dict[str, Any]) -> None:
    raw = raw_graph(torch.tensor([[0, 1, 2], [1, 2, 0]]), **beside)
    assert len(raw.ids) == 4
    assert raw.edges.tolist() == [[0, 1], [1, 2], [2, 0]]


def test_two_by_two_is_an_adjacency() -> None:
    assert raw_graph(np.array([[0, 1], [1, 0]])).edges.tolist() == [[0, 1], [1, 0]]


def with_value(value: Any) -> Any:
    changed = ADJACENCY.astype(float)
    changed[1, 2] = value
    return changed


def broken(kind: str) -> Any:
    matrix = sp.csr_matrix(ADJACENCY)
    getattr(matrix, kind)[-1] = 99
    return matrix


@pytest.mark.parametrize(
    ("matrix", "features", "message"),
    [
        (np.zeros((3, 4)), np.zeros((3, 2)), r"square.*got shape \(3, 4\), features of shape \(3, 2\)"),
        (np.zeros(3), None, r"square.*got shape \(3,\)"),
        (sp.coo_array(np.zeros(3)), None, r"square.*got shape \(3,\)"),
        (ADJACENCY, np.zeros((2, 5)), r"expected shape \(3, at least 1\).*got \(2, 5\)"),
        (np.array([*EDGES, [2, 0]]), np.zeros((3, 2)), r"expected shape \(2, edges\), got \(4, 2\); transpose it"),
        (np.array([[0, 1, 2], [1, 2, 0]]), None, "pass features, node_names or labels"),
        (np.array([[0.0, 1, 2], [1, 2, 0]]), np.eye(3), r"square.*got shape \(2, 3\)"),
        (with_value(np.nan), None, "row 1, column 2 is nan, expected 0 or 1"),
        (with_value(np.inf), None, "is inf"),
        (with_value(-1), None, r"is -1\.0, expected 0 or 1 \(1 such values\)$"),
        (with_value(0.5), None, r"is 0\.5.*pass adjacency != 0"),
        (sp.csr_matrix(with_value(0.5)), None, r"row 1, column 2 is 0\.5.*pass adjacency != 0"),
        (ADJACENCY.astype(str), None, "expected numbers"),
        (ADJACENCY.astype(complex), None, "expected numbers"),
        (broken("indices"), None, "adjacency: column indices must be from 0 to 2"),
        (broken("indptr"), None, "adjacency: the row pointers"),
    ],
)
def test_what_is_no_graph_is_named(matrix: Any, features: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        raw_graph(matrix, features)


def test_a_number_of_nodes_alone_takes_no_memory() -> None:
    huge = sp.coo_matrix((2**31 - 1, 2**31 - 1))
    with pytest.raises(DataError, match="number of nodes: expected 0 to 100,000,000, got 2,147,483,647"):
        raw_graph(huge)


def test_entries_that_do_not_fit_the_shape_are_named() -> None:
    lists = sp.lil_matrix(ADJACENCY)
    lists.rows[0] = [99]
    with pytest.raises(DataError, match=r"adjacency: its entries do not fit its shape \(3, 3\)"):
        raw_graph(lists)
    with warnings.catch_warnings(action="ignore"):  # such tensors are new
        rows = torch.sparse_csr_tensor([0, 1, 1, 1], [99], [1.0], (3, 3), check_invariants=False)
    with pytest.raises(DataError, match=r"adjacency: its entries do not fit its shape \(3, 3\)"):
        raw_graph(rows)
