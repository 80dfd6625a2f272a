"""Node data beside a graph object: in the order of the nodes, or by node."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from confgcn.data.formats.objects.node_data import NodeData
from confgcn.exceptions import ConfGCNError

EDGES = np.array([[0, 1], [1, 2]])


def test_values_by_node_are_put_in_the_order_of_the_nodes() -> None:
    data = NodeData(
        features={"c": [3.0], "a": [1.0], "b": [2.0]},
        labels={"b": "red"},
        names=["a", "b", "c"],
        split={"train": [1]},
    )
    raw = data.raw("g", EDGES, 3)
    assert raw.features.tolist() == [[1.0], [2.0], [3.0]]
    assert raw.labels == [None, "red", None]
    assert raw.split == ["", "train", ""]


def test_defaults_fill_only_what_was_not_given() -> None:
    filled = NodeData(labels=["x"]).with_defaults(features=[[1.0]], labels=["y"], class_names=["y"])
    assert filled.features == [[1.0]]
    assert filled.labels == ["x"]
    assert filled.class_names is None  # the default names belong to the default labels


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"features": {"0": [1.0], "1": [2.0]}}, "features: node '2' has none"),
        ({"labels": {"9": "red"}}, r"labels: '9' is none of the nodes \(1 such names\)"),
        ({"labels": "colour"}, "only the nodes of a networkx graph have attributes by name"),
        ({"split": ["train"]}, "split: expected one name per node, 3, got 1"),
        ({"split": {"train": [0], "test": [0]}}, "train and test share 1 nodes"),
    ],
)
def test_wrong_node_data_is_refused_by_name(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfGCNError, match=message):
        NodeData(**given).raw("g", EDGES, 3)
