"""Two tables become one graph: by the exact text of ids, whatever the order of rows and columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from confgcn.data.formats.feature_files import NodeFeatures
from confgcn.data.formats.table import Table, TableOptions
from confgcn.data.formats.table_graph import graph_from_tables
from confgcn.data.raw import RawGraph
from confgcn.exceptions import DataError, UsageError

EDGES = {"source": ["a", "b", "c"], "target": ["b", "c", "a"]}
NODES = {"id": ["a", "b", "c"], "label": ["x", "y", ""], "size": ["1", "2", "3"]}


def table_of(name: str, columns: dict[str, Any], comments: int = 0) -> Table:
    count = len(next(iter(columns.values())))
    return Table(Path(name), columns, range(2, 2 + count), comments=comments)


def joined(edges: dict[str, Any] = EDGES, nodes: dict[str, Any] | None = NODES, **given: Any) -> RawGraph:
    arguments = {key: given.pop(key) for key in ("like", "features", "known") if key in given}
    tables = table_of("edges.csv", edges), None if nodes is None else table_of("nodes.csv", nodes)
    return graph_from_tables(*tables, TableOptions(**given), name="g", **arguments)


def test_ids_edges_labels_and_features_meet() -> None:
    raw = joined(nodes={**NODES, "split": ["train", "test", ""]})
    assert list(raw.ids) == ["a", "b", "c"]
    assert raw.edges.tolist() == [[0, 1], [1, 2], [2, 0]]
    assert raw.labels == ["x", "y", None]
    assert raw.split == ["train", "test", ""]
    assert raw.feature_names == ["size"]
    assert raw.features.tolist() == [[1], [2], [3]]


def test_the_order_of_rows_and_columns_makes_no_difference() -> None:
    shuffled = {"size": ["3", "1", "2"], "label": ["", "x", "y"], "id": ["c", "a", "b"]}
    turned = {"target": ["a", "c", "b"], "source": ["b", "a", "c"]}
    assert joined(turned, shuffled).build().fingerprint == joined().build().fingerprint


def test_without_a_table_of_nodes_they_are_those_of_the_edges() -> None:
    raw = joined(nodes=None)
    assert list(raw.ids) == ["a", "b", "c"]
    assert (raw.features, raw.labels, raw.split) == (None, None, None)


def test_e05_e07_ids_are_exact_texts() -> None:
    ids = ["1", "01", "é", "e\u0301", " a", "a", "😀", "\u200b"]
    raw = joined({"u": ids, "v": ids[::-1]}, {"ID": ids, "x": [str(i) for i in range(8)]})
    assert list(raw.ids) == ids
    assert raw.edges.tolist() == [[i, 7 - i] for i in range(8)]


def test_whole_numbers_of_typed_tables_meet_texts() -> None:
    raw = joined(
        {"source": np.array([1, 2]), "target": np.array([2.0, 3.0])}, {"id": ["1", "2", "3"], "x": list("123")}
    )
    assert raw.edges.tolist() == [[0, 1], [1, 2]]


def test_e15_a_node_without_edges_is_isolated_and_an_edge_without_node_an_error() -> None:
    more = {"id": [*"abcd"], "x": [*"1234"]}
    assert joined(nodes=more).build().degrees.tolist() == [2, 2, 2, 0]
    with pytest.raises(DataError, match=r"edges\.csv, line 3: node 'c' is not in nodes\.csv \(2 such rows\)"):
        joined(nodes={"id": ["a", "b"], "x": ["1", "2"]})


def test_an_id_that_stands_twice_names_both_lines() -> None:
    with pytest.raises(DataError, match=r"nodes\.csv, line 4: id 'a' is already in line 2"):
        joined(nodes={"id": ["a", "b", "a"], "x": [*"123"]})


def test_an_empty_id_names_its_line() -> None:
    with pytest.raises(DataError, match=r"nodes\.csv, line 3: the id is empty"):
        joined(nodes={"id": ["a", "", "c"], "x": [*"123"]})


def test_g04_no_edges_is_an_error_unless_allowed() -> None:
    none: dict[str, Any] = {"source": [], "target": []}
    with pytest.raises(DataError, match=r"edges\.csv: no edges.*--allow-edgeless"):
        joined(none)
    assert joined(none, allow_edgeless=True).build().edge_counts.unique == 0
    with pytest.raises(DataError, match="no edges"):
        joined(none, None, allow_edgeless=True)


def test_e17_no_nodes_is_an_error() -> None:
    with pytest.raises(DataError, match=r"nodes\.csv: the graph has no nodes"):
        joined({"source": [], "target": []}, {"id": [], "x": []}, allow_edgeless=True)


def test_columns_may_be_named_by_options() -> None:
    edges = {"a": EDGES["source"], "b": EDGES["target"]}
    nodes = {"name": NODES["id"], "kind": NODES["label"], "set": ["train", "", ""], "size": NODES["size"]}
    raw = joined(edges, nodes, source="a", target="b", node_id="name", label="kind", split="set")
    assert (list(raw.ids), raw.labels, raw.split, raw.feature_names) == (
        [*"abc"],
        ["x", "y", None],
        ["train", "", ""],
        ["size"],
    )


def test_no_column_of_ids_lists_what_was_found() -> None:
    with pytest.raises(DataError, match=r"nodes\.csv: found the columns name, x, expected one called id or .*--id"):
        joined(nodes={"name": ["a"], "x": ["1"]})


def test_two_columns_that_could_be_the_label_are_a_leak_until_one_is_chosen() -> None:
    nodes = {**NODES, "y": ["0", "1", "0"]}
    with pytest.raises(DataError, match=r"label, y could each be the column of the label; choose one with --label"):
        joined(nodes=nodes)
    assert joined(nodes=nodes, ignore=("y",)).feature_names == ["size"]
    assert joined(nodes=nodes, label="label").feature_names == ["size", "y"]


@pytest.mark.parametrize("option", [{"label": "lable"}, {"ignore": ("lable",)}, {"categorical": ("lable",)}])
def test_n06_a_misspelt_column_gets_a_hint(option: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"'lable': did you mean 'label'"):
        joined(**option)


def test_ignored_columns_are_in_neither_table() -> None:
    raw = joined({**EDGES, "weight": ["1", "2", "3"]}, {**NODES, "note": ["p", "q", "r"]}, ignore=("weight", "note"))
    assert raw.feature_names == ["size"]


def test_comments_among_rows_give_a_notice() -> None:
    raw = graph_from_tables(table_of("edges.csv", EDGES, comments=2), None, TableOptions(), name="g")
    assert raw.notices == ("edges.csv: 2 lines that start with # are skipped",)


def matrix_of(*rows: str, names: tuple[str, ...] | None = None) -> NodeFeatures:
    return NodeFeatures(Path("features.npz"), np.arange(2.0 * len(rows)).reshape(-1, 2), names, rows)


def test_a_matrix_of_features_is_joined_by_id() -> None:
    raw = joined(nodes={"id": [*"abc"]}, features=matrix_of("c", "a", "b"))
    assert raw.features.tolist() == [[2, 3], [4, 5], [0, 1]]
    assert raw.feature_names is None


def test_a_matrix_stands_beside_the_columns_of_the_table() -> None:
    raw = joined(features=matrix_of("a", "b", "c"))
    assert raw.feature_names == ["size", "f0", "f1"]
    assert raw.features.tolist() == [[1, 0, 1], [2, 2, 3], [3, 4, 5]]
    sparse = NodeFeatures(Path("features.npz"), sp.eye_array(3, format="csr"), ("p", "q", "r"), tuple("abc"))
    raw = joined(features=sparse)
    assert raw.feature_names == ["size", "p", "q", "r"]
    assert raw.features.toarray().tolist() == [[1, 1, 0, 0], [2, 0, 1, 0], [3, 0, 0, 1]]


def test_x14_a_matrix_has_the_features_of_the_training() -> None:
    assert joined(features=matrix_of(*"abc"), like=["size", "f0", "f1"]).feature_names == ["size", "f0", "f1"]
    with pytest.raises(DataError, match="feature 'q' was not used in training"):
        joined(features=matrix_of(*"abc", names=("p", "q")), like=["size", "p"])
    with pytest.raises(DataError, match="missing: 'f2'"):
        joined(features=matrix_of(*"abc"), like=["size", "f0", "f1", "f2"])


def test_edges_may_name_nodes_that_are_known() -> None:
    raw = joined(
        {"u": ["new", "new"], "v": ["old", "old2"]},
        {"id": ["new"], "label": ["x"], "size": ["5"]},
        known=["old", "old2", "other"],
    )
    assert list(raw.ids) == ["new", "old", "old2"]
    assert raw.edges.tolist() == [[0, 1], [0, 2]]
    assert raw.features.toarray().tolist() == [[5], [0], [0]]
    assert raw.labels == ["x", None, None]
    with pytest.raises(DataError, match="node 'stranger' is not in"):
        joined({"u": ["new"], "v": ["stranger"]}, {"id": ["new"], "size": ["5"]}, known=["old"])


def test_a_known_node_with_a_row_of_its_own_stands_once() -> None:
    raw = joined({"u": ["new"], "v": ["old"]}, {"id": ["old", "new"], "size": ["5", "6"]}, known=["old"])
    assert list(raw.ids) == ["old", "new"]


def test_edges_between_known_nodes_alone_bring_no_features() -> None:
    raw = joined({"u": ["p"], "v": ["q"]}, None, known=["p", "q"], like=["size", "graph:degree"])
    assert raw.features.shape == (2, 1)
    assert raw.feature_names == ["size"]


def test_an_empty_table_of_nodes_is_one() -> None:
    """Its columns are asked for as those of any other."""
    with pytest.raises(UsageError, match=r"unknown column of nodes\.csv 'group'"):
        joined(nodes={"id": [], "label": []}, label="group")


def test_without_a_table_of_nodes_an_end_must_have_a_row_of_features() -> None:
    assert joined(nodes=None, features=matrix_of("c", "a", "b")).features.tolist() == [[2, 3], [4, 5], [0, 1]]
    with pytest.raises(DataError, match=r"edges\.csv, line 3: node 'c' is not in features\.npz \(2 such rows\)"):
        joined(nodes=None, features=matrix_of("a", "b"))


def test_a_long_id_that_stands_twice_is_shortened() -> None:
    long = "x" * 3000
    with pytest.raises(DataError, match=r"id 'x{60}'\.\.\. \(3,000 characters\) is already in line 2"):
        joined(nodes={"id": [long, long], "size": ["1", "2"]})
