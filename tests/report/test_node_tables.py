"""The tables of nodes and edges: which rows, which columns, and links into the explorer."""

from __future__ import annotations

from typing import Any

import pytest

from confgcn.report.node_tables import Cell, NodeTable, node_tables


def table_named(numbers: dict[str, Any], title: str) -> NodeTable:
    (table,) = (table for table in node_tables(numbers) if table.title == title)
    return table


def test_confident_nodes_have_their_label_probability_set_and_neighbour(numbers: dict[str, Any]) -> None:
    nodes = numbers["nodes"]
    table = table_named(numbers, "Most confident nodes")
    first = numbers["tables"]["most_confident"][0]
    label = nodes["label"][first]
    node, name, probability, prediction_set, neighbour = table.rows[0]
    assert node == Cell(f"n{first}", first)
    assert name == Cell("xyz"[label])
    assert probability == Cell(f"{100 * nodes['probability'][first]:.1f} %", is_number=True)
    assert [(mark.code, mark.colour, mark.name) for mark in prediction_set.classes] == [
        ("ABC"[label], label, "xyz"[label])
    ]
    assert neighbour == Cell("n5", 5)
    assert len(table.rows) == 6
    assert table_named(numbers, "Least confident nodes").rows == list(reversed(table.rows))


def test_a_method_without_influences_has_no_neighbour_in_the_table(numbers: dict[str, Any]) -> None:
    numbers["nodes"]["most_influential_neighbour"] = None
    assert {row[-1] for row in table_named(numbers, "Most confident nodes").rows} == {Cell("–")}


@pytest.mark.parametrize(("count", "text"), [(1, "1 label has"), (1200, "1,200 labels have")])
def test_label_errors_with_their_suggestion_and_score(numbers: dict[str, Any], count: int, text: str) -> None:
    numbers["tables"]["num_label_errors"] = count
    table = table_named(numbers, "Probable label errors")
    assert table.rows == [(Cell("n0", 0), Cell("x"), Cell("z"), Cell("−0.50", is_number=True))]
    assert f"{text} a score above zero" in table.sentence


def test_disagreeing_edges_show_an_influence_where_there_is_one(numbers: dict[str, Any]) -> None:
    table = table_named(numbers, "Disagreeing edges")
    ends = Cell("n0", 0), Cell("n5", 5)
    assert table.header == ["node", "neighbour", "labels differ", "influence"]
    assert table.rows == [(*ends, Cell("90.0 %", is_number=True), Cell("0.1", is_number=True))]
    del numbers["tables"]["edges"][0]["influence"]
    assert table_named(numbers, "Disagreeing edges").rows == [(*ends, Cell("90.0 %", is_number=True))]


def test_tables_without_rows_are_left_out(numbers: dict[str, Any]) -> None:
    numbers["tables"] |= {"labels": [], "edges": []}
    assert [table.title for table in node_tables(numbers)] == ["Most confident nodes", "Least confident nodes"]
