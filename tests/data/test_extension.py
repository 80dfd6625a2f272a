"""New nodes are added to a graph by name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from confgcn.data.extension import extend_graph
from confgcn.data.raw import RawGraph
from confgcn.data.structural import is_structural, structural_features
from confgcn.exceptions import DataError
from confgcn.graph import Graph
from confgcn.sparse import SparseMatrix

NAMES = ("age", "size")


def old(**changes: object) -> Graph:
    given = {"features": np.arange(6.0).reshape(3, 2), "feature_names": NAMES, "labels": ["u", "v", None]}
    return RawGraph("old", ["n1", "n3", "n20"], np.array([[0, 1], [1, 2]]), **{**given, **changes}).build()


def addition(**changes: object) -> RawGraph:
    given = {"features": np.array([[2.0, 3.0], [9.0, 10.0]]), "feature_names": NAMES, "labels": [None, "v"]}
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
    swapped = addition(features=np.array([[3.0, 2.0], [10.0, 9.0]]), feature_names=("size", "age"))
    assert extend_graph(old(), swapped).graph.features[2].tolist() == [9, 10]
    with pytest.raises(DataError, match="missing: age, size; unknown: f0, f1; columns are identified by name"):
        extend_graph(old(), addition(feature_names=None))
    by_place = extend_graph(old(feature_names=None), addition(feature_names=None))
    assert by_place.graph.features[2].tolist() == [9, 10]


def test_features_are_kept_as_the_graph_keeps_its_own() -> None:
    wide = np.zeros((3, 20))
    wide[0, 0] = 1
    sparse = old(features=wide, feature_names=None)
    given = sp.csr_matrix(np.array([[0.0] * 20, [1.0] * 20]))
    found = extend_graph(sparse, addition(features=given, feature_names=None)).graph
    assert type(found.features) is type(sparse.features)
    assert found.features.to_scipy().toarray()[2].tolist() == [1.0] * 20


def test_structural_features_are_computed_for_new_nodes() -> None:
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
    with pytest.raises(DataError, match="no features, 2 are expected as columns of their table: age, size"):
        extend_graph(old(), addition(features=None, feature_names=None))
    with pytest.raises(DataError, match="column 0 is NaN"):
        extend_graph(old(), addition(features=np.array([[2.0, 3.0], [np.nan, 0.0]])))


def test_a_label_of_an_unknown_class_is_ignored_with_a_notice() -> None:
    graph = extend_graph(old(), addition(labels=[None, "w"])).graph
    assert graph.labels[2] == -1
    assert any("'w'" in text or "w" in text.split(": ")[1] for text in graph.reader_notices)


@pytest.mark.parametrize("names", [("age", "zip"), ("age", "graph-like"), ("h", "z")])
def test_structural_columns_keep_their_positions(names: tuple[str, str]) -> None:
    ids, edges = ["n1", "n3", "n20"], np.array([[0, 1], [1, 2]])
    raw = RawGraph("old", ids, edges, np.arange(6.0).reshape(3, 2), names, ["u", "v", None])
    graph = raw.build(["degree", "positional", "identity"])
    whole = RawGraph("all", [*ids, "n4"], np.array([[0, 1], [1, 2], [1, 3]]), np.arange(8.0).reshape(4, 2), names)
    new = RawGraph("new", ["n3", "n4"], np.array([[0, 1]]), np.array([[2.0, 3.0], [6.0, 7.0]]), names)
    found = extend_graph(graph, new).graph
    made = structural_features(found.adjacency, found.node_names, [n for n in graph.feature_names if is_structural(n)])
    expected = dict(zip(names, (6.0, 7.0), strict=True))
    expected |= dict(zip([n for n in graph.feature_names if is_structural(n)], made.toarray()[2], strict=True))
    row = found.features[2] if not isinstance(found.features, SparseMatrix) else found.features.to_scipy().toarray()[2]
    assert whole.build(["degree"]).node_names == found.node_names
    np.testing.assert_allclose(np.asarray(row), [expected[name] for name in graph.feature_names])


def test_other_features_of_known_nodes_are_refused_or_used_on_request() -> None:
    other = addition(features=np.array([[7.0, 8.0], [9.0, 10.0]]))
    with pytest.raises(DataError, match=r"1 nodes have other features than in the training, the first is 'n3'"):
        extend_graph(old(), other)
    found = extend_graph(old(), other, update_features=True).graph
    assert found.features.tolist() == [[0, 1], [7, 8], [9, 10], [4, 5]]
    named_alone = addition(features=np.array([[9.0, 10.0], [0.0, 0.0]]), labels=None)
    named_alone = RawGraph("new", ["n4", "n3"], np.array([[0, 1]]), named_alone.features, NAMES, num_described=1)
    assert extend_graph(old(), named_alone).graph.features.tolist() == [[0, 1], [2, 3], [9, 10], [4, 5]]


def test_weights_of_old_edges_are_kept_and_new_edges_weigh_one() -> None:
    graph = Graph.build([(0, 1)], np.eye(2), [0, 1], train=[0, 1], edge_weight=[3.0])
    addition = RawGraph("more", ["0", "1", "2"], np.array([[0, 1], [1, 2]]), features=np.eye(3, 2))
    extended = extend_graph(graph, addition).graph
    assert extended.neighbour_weights.to_scipy().toarray().tolist() == [[0, 3, 0], [3, 0, 1], [0, 1, 0]]
    given = extend_graph(graph, replace(addition, edge_weight=np.array([3.0, 0.5]))).graph
    assert given.neighbour_weights.to_scipy().toarray().tolist() == [[0, 3, 0], [3, 0, 0.5], [0, 0.5, 0]]
