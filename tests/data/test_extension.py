"""New nodes joined to a graph by name."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from confgcn.data.extension import extend_graph
from confgcn.data.raw import RawGraph
from confgcn.exceptions import DataError
from confgcn.graph import Graph

NAMES = ("age", "size")


def old(**changes: object) -> Graph:
    given = {"features": np.arange(6.0).reshape(3, 2), "feature_names": NAMES, "labels": ["u", "v", None]}
    return RawGraph("old", ["n1", "n3", "n20"], np.array([[0, 1], [1, 2]]), **{**given, **changes}).build()


def addition(**changes: object) -> RawGraph:
    given = {"features": np.array([[7.0, 8.0], [9.0, 10.0]]), "feature_names": NAMES, "labels": [None, "v"]}
    edges = np.array([[0, 1]])
    return RawGraph("new", ["n3", "n4"], edges, **{**given, **changes})


def test_nodes_are_joined_by_name_and_ids_count_on() -> None:
    found = extend_graph(old(), addition())
    assert found.graph.node_names == ("n1", "n3", "n4", "n20")
    assert found.graph.node_ids.tolist() == [0, 1, 3, 2]
    assert (found.known.tolist(), found.new.tolist(), found.listed.tolist()) == ([0, 1, 3], [2], [1, 2])
    ends = set(zip(found.graph.neighbours.rows.tolist(), found.graph.neighbours.indices.tolist(), strict=True))
    assert ends == {(0, 1), (1, 0), (1, 3), (3, 1), (1, 2), (2, 1)}


def test_known_nodes_keep_features_and_labels_and_new_labels_are_for_testing() -> None:
    graph = extend_graph(old(), addition()).graph
    assert graph.features.tolist() == [[0, 1], [2, 3], [9, 10], [4, 5]]
    assert graph.labels.tolist() == [0, 1, 1, -1]
    assert (graph.train.tolist(), graph.test.tolist()) == ([0, 1], [2])


def test_columns_are_joined_by_name() -> None:
    swapped = addition(features=np.array([[8.0, 7.0], [10.0, 9.0]]), feature_names=("size", "age"))
    assert extend_graph(old(), swapped).graph.features[2].tolist() == [9, 10]
    assert extend_graph(old(), addition(feature_names=None)).graph.features[2].tolist() == [9, 10]


def test_features_are_kept_as_the_graph_keeps_its_own() -> None:
    wide = np.zeros((3, 20))
    wide[0, 0] = 1
    sparse = old(features=wide, feature_names=None)
    found = extend_graph(sparse, addition(features=sp.csr_matrix(np.ones((2, 20))), feature_names=None)).graph
    assert type(found.features) is type(sparse.features)
    assert found.features.to_scipy().toarray()[2].tolist() == [1.0] * 20


def test_features_made_from_the_graph_are_made_for_new_nodes_alike() -> None:
    raw = RawGraph("old", ["n1", "n3", "n20"], np.array([[0, 1], [1, 2]]), labels=["u", "v", None])
    graph = raw.build(["degree", "identity"])
    new = RawGraph("new", ["n3", "n4", "n20"], np.array([[0, 1], [2, 1]]))
    found = extend_graph(graph, new).graph
    assert found.feature_names == graph.feature_names
    np.testing.assert_allclose(found.features[2].numpy(), [np.log(3), 0, 0, 0], rtol=1e-6)  # two edges, nobody of old
    np.testing.assert_allclose(found.features[1].numpy(), graph.features[1].numpy())  # as at training


def test_what_does_not_fit_is_named() -> None:
    with pytest.raises(DataError, match=r"have 1 features.*trained on 2.*missing: size"):
        extend_graph(old(), addition(features=np.ones((2, 1)), feature_names=("age",)))
    with pytest.raises(DataError, match=r"have 3 features.*trained on 2"):
        extend_graph(old(), addition(features=np.ones((2, 3)), feature_names=None))
    with pytest.raises(DataError, match="no features, 2 are expected: age, size"):
        extend_graph(old(), addition(features=None, feature_names=None))
    with pytest.raises(DataError, match="'w' of a new node is none of the classes u, v"):
        extend_graph(old(), addition(labels=[None, "w"]))
    with pytest.raises(DataError, match="column 0 is NaN"):
        extend_graph(old(), addition(features=np.array([[0.0, 0.0], [np.nan, 0.0]])))
