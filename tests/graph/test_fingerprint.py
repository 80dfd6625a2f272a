"""One canonical form: the same graph has the same fingerprint, and any other graph another one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from confgcn.graph import Graph
from confgcn.graph.fingerprint import NAME_LENGTH, _repr_of_tuple

EDGES = [(0, 1), (1, 2), (3, 1)]
FEATURES = np.array([[1.0, 0, 0], [0, 2, 0], [0, 0, 3], [4, 5, 0], [0, 0, 6]])
LABELS = [0, 1, 2, 0, 1]


def build(**changes: Any) -> Graph:
    given = {"edges": EDGES, "features": FEATURES, "labels": LABELS, "train": [0, 1, 2], "validation": [3], "test": [4]}
    return Graph.build(**{**given, **changes})


@pytest.mark.parametrize(
    "edges",
    [
        pytest.param([(3, 1), (0, 1), (1, 2)], id="other order"),
        pytest.param([(1, 0), (2, 1), (1, 3)], id="E12 other direction"),
        pytest.param([*EDGES, (1, 0), (2, 1), (1, 3)], id="E12 both directions"),
        pytest.param([*EDGES, *EDGES, (0, 1)], id="E09 repeated"),
        pytest.param([*EDGES, (0, 0), (4, 4), (4, 4)], id="E10 self loops"),
        pytest.param(np.array(EDGES, dtype=np.uint8), id="small whole numbers"),
        pytest.param(torch.tensor(EDGES), id="tensor"),
    ],
)
def test_order_direction_repetition_and_loops_change_no_byte(edges: Any) -> None:
    assert build(edges=edges).fingerprint == build().fingerprint


@pytest.mark.parametrize(
    "change",
    [
        {"edges": EDGES[:2]},
        {"edges": [*EDGES[:2], (3, 2)]},
        {"features": FEATURES + np.eye(5, 3) * 1e-6},
        {"features": FEATURES[:, ::-1]},
        {"features": FEATURES[:, :2]},
        {"features": sp.csr_matrix(FEATURES)},
        {"labels": [0, 1, 2, 0, 2]},
        {"labels": [0, 1, 2, 0, 1], "class_names": ["a", "b", "c"]},
        {"train": [0, 1]},
        {"validation": []},
        {"test": []},
        {"validation": [4], "test": [3]},
        {"node_names": ["a", "b", "c", "d", "e"]},
    ],
    ids=lambda change: ",".join(change),
)
def test_fingerprint_changes_with_every_part(change: dict[str, Any]) -> None:
    assert build(**change).fingerprint != build().fingerprint


def test_fingerprint_changes_with_node_ids() -> None:
    assert replace(build(), node_ids=torch.arange(1, 6)).fingerprint != build().fingerprint


def test_fingerprint_of_sparse_features_covers_where_the_values_stand() -> None:
    values, indptr = np.ones(5), np.arange(6)
    first = build(features=sp.csr_matrix((values, [0, 1, 2, 0, 1], indptr), shape=(5, 3)))
    second = build(features=sp.csr_matrix((values, [0, 1, 2, 0, 2], indptr), shape=(5, 3)))
    third = build(features=sp.csr_matrix((values, [0, 1, 2, 0, 1], [0, 2, 2, 3, 4, 5]), shape=(5, 3)))
    assert len({first.fingerprint, second.fingerprint, third.fingerprint}) == 3


def test_fingerprint_does_not_depend_on_the_name() -> None:
    assert build(name="other").fingerprint == build().fingerprint


@pytest.mark.parametrize("count", [0, 1, 2, 9])
def test_names_are_hashed_in_pieces_as_they_would_be_at_once(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("confgcn.io.blocks.BLOCK", 3 * NAME_LENGTH)
    texts = tuple("a'\"é\n\0bc,"[place] for place in range(count))
    assert "".join(_repr_of_tuple(texts)) == repr(texts)
