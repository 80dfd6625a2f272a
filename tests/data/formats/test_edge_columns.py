"""The two ends of an edge are found by name, and nothing else is silently left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from confgcn.data.formats.arrow_arrays import arrow_texts
from confgcn.data.formats.edge_columns import EDGE_NAMES, edge_columns, end_positions
from confgcn.data.formats.table import Table
from confgcn.exceptions import DataError
from confgcn.graph.validation import IntArray


def positions(edges: Table, ends: list[list[str]], ids: list[str], nodes: Path | None) -> IntArray:
    return end_positions(edges, [arrow_texts(end) for end in ends], ids, nodes)


def table_of(*names: str) -> Table:
    return Table(Path("edges.csv"), {name: ["a"] for name in names}, [2])


@pytest.mark.parametrize("pair", EDGE_NAMES)
def test_ends_are_known_by_their_names_in_any_order(pair: tuple[str, str]) -> None:
    assert edge_columns(table_of(*reversed(pair)), None, None, ()) == pair


def test_names_are_compared_without_case_and_spaces() -> None:
    assert edge_columns(table_of("Source", " TARGET"), None, None, ()) == ("Source", " TARGET")


def test_g05_unknown_names_list_what_was_found_and_expected() -> None:
    with pytest.raises(DataError, match=r"found the columns a, b, expected source,target or .*--source and --target"):
        edge_columns(table_of("a", "b"), None, None, ())


def test_g05_one_column_is_not_enough() -> None:
    with pytest.raises(DataError, match="found the columns source, expected"):
        edge_columns(table_of("source"), None, None, ())


@pytest.mark.parametrize(("source", "target"), [("a", "b"), ("a", None), (None, "b")])
def test_columns_may_be_named(source: str | None, target: str | None) -> None:
    assert edge_columns(table_of("a", "b"), source, target, ()) == ("a", "b")
    assert edge_columns(table_of("b", "a"), source, target, ()) == ("a", "b")


def test_one_named_column_goes_with_a_known_other() -> None:
    assert edge_columns(table_of("paper", "target"), "paper", None, ()) == ("paper", "target")


@pytest.mark.parametrize("extra", ["weight", "relation"])
def test_e14_e21_a_third_column_is_an_error_until_it_is_ignored(extra: str) -> None:
    with pytest.raises(DataError, match=rf"not supported; to read the edges without: --ignore {extra}"):
        edge_columns(table_of("src", extra, "dst"), None, None, ())
    assert edge_columns(table_of("src", extra, "dst"), None, None, (extra,)) == ("src", "dst")


def test_ends_are_positions_of_ids() -> None:
    ends = [["a", "b"], ["b", "c"]]
    assert positions(table_of(), ends, ["c", "b", "a"], None).tolist() == [[2, 1], [1, 0]]


def test_e15_an_end_that_is_no_node_names_line_id_and_count() -> None:
    edges = Table(Path("edges.csv"), {}, [2, 3, 7])
    words = r"edges\.csv, line 3: node 'x' is not in nodes\.csv \(2 such rows\); 2 nodes are known$"
    with pytest.raises(DataError, match=words):
        positions(edges, [["a", "b", "x"], ["b", "x", "y"]], ["a", "b"], Path("nodes.csv"))


@pytest.mark.parametrize(("given", "there"), [("7.0", "7"), ("7", "7.0"), (" a", "a"), ("a", "a "), ("-1", None)])
def test_e01_e02_an_end_that_is_nearly_a_node_gets_a_hint(given: str, there: str | None) -> None:
    words = "" if there is None else f"; did you mean '{there}'"
    with pytest.raises(DataError, match=rf"2 nodes are known{words}") as caught:
        positions(table_of(), [[given], ["b"]], ["b", there or "c"], Path("nodes.csv"))
    assert ("did you mean" in str(caught.value)) == (there is not None)


def test_an_empty_end_names_its_line() -> None:
    with pytest.raises(DataError, match=r"edges\.csv, line 2: the id of a node is empty"):
        positions(table_of(), [["a"], [""]], ["a", ""], None)


def test_a_long_or_composed_id_is_shown_so_that_it_can_be_told(tmp_path: Path) -> None:
    edges = Table(tmp_path / "edges.csv", {"source": ["x" * 9000], "target": ["a"]}, [2])
    with pytest.raises(DataError, match=r"'x{60}'\.\.\. \(9,000 characters\) is not in .*; 1 nodes are known$"):
        positions(edges, [["x" * 9000], ["a"]], ["a"], tmp_path / "nodes.csv")
    with pytest.raises(DataError, match=r"did you mean 'e\\u0301'\? Ids are compared letter by letter"):
        positions(edges, [["\u00e9"], ["e\u0301"]], ["e\u0301"], tmp_path / "nodes.csv")


def test_of_many_columns_a_message_lists_some() -> None:
    names = ["source", "target", *(f"column {number} {'x' * 100}" for number in range(500))]
    with pytest.raises(DataError, match=r"and 492 more.*and so on, 500 in all") as raised:
        edge_columns(table_of(*names), None, None, [])
    assert len(str(raised.value)) < 2000
