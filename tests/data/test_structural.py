"""Features computed from the edges, on graphs small enough to check by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from confgcn.data import structural
from confgcn.data.raw import RawGraph
from confgcn.data.structural import is_structural, structural_features, structural_names
from confgcn.exceptions import UsageError
from confgcn.graph import Graph, symmetric_adjacency

PATH = np.array([[0, 1], [1, 2]])


def test_degree_is_its_logarithm() -> None:
    adjacency, _ = symmetric_adjacency(PATH, 4)
    column = structural_features(adjacency, "abcd", ["graph:degree"]).toarray()[:, 0]
    np.testing.assert_allclose(column, [math.log(2), math.log(3), math.log(2), 0.0], rtol=1e-6)


def test_identity_is_one_column_a_node_and_empty_for_nodes_that_are_not_there() -> None:
    adjacency, _ = symmetric_adjacency(PATH, 3)
    names = structural_names(adjacency, "abc", ["identity"])
    assert names == ["graph:is a", "graph:is b", "graph:is c"]
    assert structural_features(adjacency, "abc", names).toarray().tolist() == np.eye(3).tolist()
    assert structural_features(adjacency, "abc", ["graph:is z"]).toarray().tolist() == [[0.0]] * 3


def test_position_is_how_often_a_walk_is_found_at_a_landmark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structural, "WALK_LENGTH", 1)
    adjacency, _ = symmetric_adjacency(PATH, 3)
    assert structural_names(adjacency, "abc", ["positional"]) == ["graph:near b"]  # its neighbours are no landmarks
    column = structural_features(adjacency, "abc", ["graph:near b"]).toarray()[:, 0]
    np.testing.assert_allclose(column, [1 / 2, 1 / 3, 1 / 2], rtol=1e-6)


def test_landmarks_are_no_neighbours_and_not_too_many(small_graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structural, "NUM_LANDMARKS", 9)
    names = structural_names(small_graph.adjacency, small_graph.node_names, ["positional"])
    assert len(names) == 9
    places = [int(name.removeprefix("graph:near ")) for name in names]
    edges = set(zip(small_graph.neighbours.rows.tolist(), small_graph.neighbours.indices.tolist(), strict=True))
    assert not any((one, other) in edges for one in places for other in places)


def test_names_say_how_columns_are_computed() -> None:
    assert all(map(is_structural, ["graph:degree", "graph:near x", "graph:is x"]))
    assert not any(map(is_structural, ["degree", "node:x", "age", "f0"]))


def test_an_unknown_kind_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="did you mean 'degree'"):
        structural_names(symmetric_adjacency(PATH, 3)[0], "abc", ["degre"])


def test_structural_features_can_be_the_only_ones_or_added() -> None:
    raw = RawGraph("g", ["n1", "n2", "n10"], PATH)
    assert raw.build(["degree"]).feature_names == ("graph:degree",)
    both = RawGraph("g", ["n1", "n2", "n10"], PATH, np.ones((3, 2))).build(["degree", "identity"])
    assert both.feature_names == ("f0", "f1", "graph:degree", "graph:is n1", "graph:is n2", "graph:is n10")
    assert both.num_features == 6
