"""networkx graphs: nodes are any hashable objects; features, labels and split are node attributes."""

from __future__ import annotations

from typing import Any

import networkx
import numpy as np
import pandas
import pytest

from confgcn.data.formats.registry import raw_graph
from confgcn.exceptions import ConfGCNError, DataError


def path(*nodes: Any, **attributes: dict[Any, Any]) -> networkx.Graph:
    graph = networkx.path_graph(nodes)
    for name, values in attributes.items():
        networkx.set_node_attributes(graph, values, name)
    return graph


ROWS = {"c": [1.0, 2.0], "a": [3.0, 4.0], "b": [5.0, 6.0]}
GRAPH = path("c", "a", "b")


def test_nodes_keep_their_order_and_their_text() -> None:
    raw = raw_graph(path((1, 2), "ü", 7), np.eye(3))
    assert list(raw.ids) == ["(1, 2)", "ü", "7"]
    assert raw.edges.tolist() == [[0, 1], [1, 2]]


@pytest.mark.parametrize(
    "features",
    [
        ROWS,
        dict(reversed(ROWS.items())),
        np.array([[1, 2], [3, 4], [5, 6]]),
        pandas.DataFrame.from_dict(dict(reversed(ROWS.items())), orient="index"),
    ],
    ids=["mapping", "another order", "array", "frame"],
)
def test_features_are_in_the_order_of_the_nodes_or_by_node(features: Any) -> None:
    assert np.array(raw_graph(GRAPH, features).features).tolist() == [[1, 2], [3, 4], [5, 6]]


def test_the_columns_of_a_frame_are_the_names_of_features() -> None:
    frame = pandas.DataFrame.from_dict(ROWS, orient="index", columns=["height", "age"])
    assert raw_graph(GRAPH, frame).feature_names == ["height", "age"]


@pytest.mark.parametrize(
    "labels",
    [
        {"b": "x", "c": "y"},
        ["y", None, "x"],
        pandas.Series({"b": "x", "c": "y"}),
    ],
    ids=["mapping", "list", "series"],
)
def test_labels_are_in_the_order_of_the_nodes_or_by_node(labels: Any) -> None:
    assert raw_graph(GRAPH, labels=labels).labels == ["y", None, "x"]


def test_attributes_are_read_by_name() -> None:
    graph = path("c", "a", "b", bag=ROWS, club={"a": 2}, fold={"a": "train", "b": ""})
    raw = raw_graph(graph, "bag", "club", split="fold")
    assert raw.features.tolist() == list(ROWS.values())
    assert raw.labels == [None, "2", None]
    assert raw.split == ["", "train", ""]


@pytest.mark.parametrize("features", ["x", "features"])
def test_attributes_of_customary_names_are_read_by_default(features: str) -> None:
    raw = raw_graph(path("c", "a", "b", **{features: ROWS, "label": {"b": "x"}, "split": {"b": "train"}}))
    assert raw.features.tolist() == list(ROWS.values())
    assert raw.labels == [None, None, "x"]
    assert raw.split == ["", "", "train"]


def test_without_attributes_there_are_no_features_and_labels() -> None:
    raw = raw_graph(GRAPH)
    assert raw.features is None
    assert raw.labels is None
    assert raw.split is None


def test_a_graph_without_edges_is_one() -> None:
    graph = networkx.empty_graph(3)
    assert raw_graph(graph, np.eye(3)).build().edge_counts.unique == 0


def weighted(weight: Any) -> networkx.Graph:
    graph = path("a", "b", "c")
    graph.edges["b", "c"]["weight"] = weight
    return graph


def test_weights_of_one_are_no_weights() -> None:
    assert len(raw_graph(weighted(1.0)).edges) == 2


@pytest.mark.parametrize(
    ("graph", "beside", "message"),
    [
        (weighted(2), {}, "'b' - 'c' has weight 2; .*delete"),
        (weighted(float("nan")), {}, "weight nan"),
        (weighted("1"), {}, "weight '1'"),
        (weighted(np.array([1, 1])), {}, r"weight array\(\[1, 1\]\)"),
        (weighted("w" * 3000), {}, r"weight 'w{39}\.\.\.; weights are not"),
        (path(1, "1"), {}, "nodes 1 and '1' have the same name"),
        (path("a", "b", x={"a": [1.0]}), {}, "features: node 'b' has none"),
        (GRAPH, {"labels": {"d": 1}}, "labels: 'd' is none of the nodes"),
        (path("a", "b", club={"a": 1}), {"labels": "clup"}, "unknown node attribute 'clup': did you mean 'club'"),
        (path("a", "b", "c", label={"a": "A", "b": "B", "c": "C"}), {}, "differs for every node, as names do"),
        (GRAPH, {"node_names": ["x", "y", "z"]}, "relabel_nodes"),
        (GRAPH, {"labels": pandas.Series([1, 2, 3])}, "labels: '0' is none of the nodes"),
        (GRAPH, {"labels": pandas.Series([1, 2], index=["a", "a"])}, "index names a node twice"),
    ],
)
def test_what_cannot_be_used_is_named(graph: networkx.Graph, beside: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfGCNError, match=message):
        raw_graph(graph, **beside)


def test_names_that_are_given_as_labels_on_purpose_are_labels() -> None:
    labels = {"a": "A", "b": "B", "c": "C"}
    assert raw_graph(path("a", "b", "c", label=labels), labels="label").labels == ["A", "B", "C"]
    with pytest.raises(DataError, match="as names do"):
        raw_graph(path("a", "b", "c", label=labels))
