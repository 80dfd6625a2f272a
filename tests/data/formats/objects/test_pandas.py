"""Data frames are read as files are: ids and labels by their text, whatever the dtype of their column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas
import pytest

from confgcn.data.formats.objects.pandas import table_of_frame
from confgcn.data.formats.registry import raw_graph
from confgcn.exceptions import ConfGCNError

EDGES = pandas.DataFrame({"source": [7, 8], "target": [8, 10]})
IDS = [10, 7, 8]


def nodes(**columns: Any) -> pandas.DataFrame:
    return pandas.DataFrame({"id": IDS, **columns})


def test_a_frame_of_edges_alone_names_its_nodes() -> None:
    raw = raw_graph(EDGES, name="pair")
    assert raw.name == "pair"
    assert list(raw.ids) == ["7", "8", "10"]
    assert raw.edges.tolist() == [[0, 1], [1, 2]]
    assert raw.features is None


def test_order_features_labels_and_split_are_read_from_a_frame_of_nodes() -> None:
    frame = nodes(label=["a", None, "b"], split=["train", None, "test"], age=[1, 2, 3], size=[0.5, 1.5, 2.5])
    raw = raw_graph((EDGES, frame))
    assert list(raw.ids) == ["10", "7", "8"]
    assert raw.edges.tolist() == [[1, 2], [2, 0]]
    assert raw.labels == ["a", None, "b"]
    assert raw.split == ["train", "", "test"]
    assert raw.feature_names == ["age", "size"]
    assert raw.features.tolist() == [[1, 0.5], [2, 1.5], [3, 2.5]]


@pytest.mark.parametrize("dtype", ["int8", "float64", "Int64", "string", "object", "category", "uint64"])
def test_ids_are_the_same_whatever_their_type(dtype: str) -> None:
    edges = EDGES.astype(dtype)
    frame = nodes(age=[1, 2, 3]).astype({"id": dtype})
    assert raw_graph((edges, frame)).edges.tolist() == [[1, 2], [2, 0]]
    assert raw_graph((EDGES, frame)).edges.tolist() == [[1, 2], [2, 0]]


def test_long_ids_stay_exact_also_where_one_is_missing() -> None:
    long = 2**53 + 1
    frame = pandas.DataFrame({"id": pandas.array([long, None], dtype="Int64")})
    assert table_of_frame(frame, "frame").texts("id") == [str(long), ""]


@pytest.mark.parametrize(
    "labels",
    [
        [3, -1, 0],
        [3.0, np.nan, 0.0],
        ["3", None, "0"],
        pandas.array([3, None, 0], dtype="Int64"),
        pandas.Categorical([3, None, 0]),
    ],
    ids=["numbers", "floats", "texts", "whole numbers with gaps", "categories"],
)
def test_every_way_to_write_the_same_labels(labels: Any) -> None:
    assert raw_graph((EDGES, nodes(label=labels))).labels == ["3", None, "0"]


@pytest.mark.parametrize(
    ("column", "names"),
    [
        (pandas.Categorical([3, 1, 3]), ["f=3", "f=1"]),
        ([3, 1, 3], ["f"]),
        ([True, False, True], ["f"]),
        (np.array([True, False, True], dtype=object), ["f"]),
        (["x", "y", "x"], ["f=x", "f=y"]),
    ],
    ids=["categories", "numbers", "truth values", "truth values as objects", "texts"],
)
def test_categories_become_columns_of_zeros_and_ones_and_numbers_stay(column: Any, names: list[str]) -> None:
    raw = raw_graph((EDGES, nodes(f=column)))
    assert sorted(raw.feature_names) == sorted(names)


def test_node_data_is_by_node_or_in_the_order_of_the_frame_of_nodes() -> None:
    raw = raw_graph((EDGES, nodes()), np.eye(3), {7: "a"})
    assert raw.features.tolist() == np.eye(3).tolist()
    assert raw.labels == [None, "a", None]
    assert raw_graph(EDGES, labels={7: "a"}).labels == ["a", None, None]


def test_no_edges_are_edges_too() -> None:
    assert raw_graph((EDGES[:0], nodes(age=[1, 2, 3]))).build().edge_counts.unique == 0


@pytest.mark.parametrize(
    ("frames", "beside", "message"),
    [
        (EDGES, {"features": np.eye(3)}, "no order of nodes; pass a mapping"),
        (EDGES, {"node_names": ["a"]}, "data frames already hold the ids"),
        (EDGES.assign(weight=1.0), {}, "frame of edges: found the columns source, target, weight"),
        (EDGES.rename(columns={"source": "left"}), {}, "frame of edges: found the columns left, target"),
        ((EDGES, nodes(age=[1, None, 3])), {}, "frame of nodes, row 1, column 'age'"),
        (
            (EDGES, nodes(age=[1, 2, 3]).assign(id=[7, 7, 8])),
            {},
            "frame of nodes, row 1: id '7' is already in row 0",
        ),
        ((EDGES, nodes()[:2]), {}, "frame of edges, row 0: node '8' is not in frame of nodes"),
        ((EDGES, nodes(label=[0, 1, -100])), {}, "node 2 has -100"),
        ((EDGES, pandas.concat([nodes(), nodes()], axis=1)), {}, "frame of nodes: column names: 'id' occurs twice"),
        ((EDGES, EDGES, EDGES), {}, "builtins.tuple: pass .*a pair"),
    ],
)
def test_unusable_input_is_named(frames: Any, beside: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfGCNError, match=message):
        raw_graph(frames, **beside)
