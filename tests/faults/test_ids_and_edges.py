"""Ids that are unknown, odd or look alike; edges that are repeated, loops or one-way; nodes that no label reaches."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from confgcn.data.formats.npz import graph_npz_bytes
from confgcn.data.raw import RawGraph

if TYPE_CHECKING:
    from tests.faults.conftest import Outside, Tables

LETTERS = "abcdefgh"
PAIRS = np.array([[0, 1], [0, 2], [1, 2], [2, 3], [3, 4], [3, 5], [4, 5], [5, 6], [6, 7], [4, 7]])
FEATURES = np.array([[1, 0], [1, 0.5], [0.5, 1], [0.25, 2], [0, 2.5], [0, 2], [0, 3], [0.5, 2]])
LABELS = np.array([0, 0, 0, -1, 1, 1, 1, -1])


def archive(**arrays: Any) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def own_archive(**altered: Any) -> bytes:
    """A graph as this program writes it, but for these arrays."""
    labels = [None if label < 0 else "pq"[label] for label in LABELS]
    content = graph_npz_bytes(RawGraph("mine", list(LETTERS), PAIRS, FEATURES, labels=labels))
    return archive(**{**np.load(io.BytesIO(content)), **altered})


def renamed(text: str, names: dict[str, str], columns: int) -> str:
    """A table with other names in its first columns."""
    header, *rows = text.splitlines()
    cells = [row.split(",") for row in rows]
    named = [[*(names.get(cell, cell) for cell in row[:columns]), *row[columns:]] for row in cells]
    return "".join(",".join(row) + "\n" for row in [header.split(","), *named])


def rename(tables: Tables, names: dict[str, str]) -> None:
    tables.write("edges.csv", renamed(tables.edges, names, 2))
    tables.write("nodes.csv", renamed(tables.nodes, names, 1))


@pytest.mark.fault("E01", "E02", "E15")
@pytest.mark.parametrize("unknown", ["8", "9999999999999999999999", "-1", "-0", "1e9", "0x1", "١", "None", "\x1b[31m"])
def test_an_id_that_no_node_has_is_named_with_its_line(tables: Tables, unknown: str) -> None:
    rename(tables, dict(zip(LETTERS, "01234567", strict=True)))
    edges = (tables.folder / "edges.csv").read_text(encoding="utf-8")
    tables.write("edges.csv", f"{edges}0,{unknown}\n1,2\n")
    shown = "\\x1b[31m" if "\x1b" in unknown else unknown
    tables.refuses_to_train(
        naming=[f"edges.csv, line 12: node '{shown}' is not in nodes.csv (1 such rows)", "8 nodes are known"]
    )


@pytest.mark.fault("E01", "E02")
@pytest.mark.parametrize("wrong", [8, -1, 2**40, -(2**63)])
def test_a_position_outside_the_nodes_is_named_with_its_row(outside: Outside, wrong: int) -> None:
    edges = PAIRS.copy()
    edges[3, 1] = wrong
    outside.write("mine.npz", own_archive(edges=edges))
    naming = [f"mine.npz: edges: row 3 names node {wrong}", "numbered 0 to 7 (1 such rows)"]
    outside.refuses("train", "mine.npz", "--out", "run", code=3, naming=naming)


@pytest.mark.fault("E02")
@pytest.mark.parametrize(
    ("edges", "problem"),
    [
        (PAIRS + 0.5, "expected whole numbers, the positions of nodes, got float64"),
        (PAIRS.astype(bool), "expected whole numbers, the positions of nodes, got bool"),
        (PAIRS.astype(str), "expected whole numbers, the positions of nodes, got <U"),
        (PAIRS[:, :1], "expected an array of shape (edges, 2), got (10, 1)"),
        (np.hstack([PAIRS, PAIRS]), "expected an array of shape (edges, 2), got (10, 4)"),
        (np.where(PAIRS == 0, 2**64 - 1, PAIRS.astype(np.uint64)), "row 0 names node 18446744073709551615"),
    ],
    ids=["fractions", "truths", "texts", "one end", "four ends", "unsigned"],
)
def test_values_that_are_not_positions_are_refused(outside: Outside, edges: Any, problem: str) -> None:
    outside.write("mine.npz", own_archive(edges=edges))
    outside.refuses("inspect", "mine.npz", code=3, naming=[f"mine.npz: edges: {problem}"])


@pytest.mark.fault("E05", "E06")
@pytest.mark.parametrize(
    "ids",
    [
        ["0", "3", "17", "1000", "4000000000", "99999999999999999999", "1" + "0" * 30, "2" + "0" * 30],
        ["n1", "n1.0", "n01.5", "n2", "n10", "n10 b", "o", "p/../q"],
        ["-7", "-8", "=1+1", "@x", "NA", "None", "nan", "true"],
    ],
    ids=["sparse", "texts", "words"],
)
def test_ids_are_kept_and_do_not_change_predictions(tables: Tables, plain: tuple[bytes, str], ids: list[str]) -> None:
    names = dict(zip(LETTERS, ids, strict=True))
    rename(tables, names)
    tables.train()
    expected = [dict(row) for row in csv.DictReader(io.StringIO(plain[0].decode()))]
    for row in expected:
        row |= {column: names.get(row[column], "") for column in ("node", "most_influential_neighbour")}
    assert [*tables.predictions().values()] == expected


@pytest.mark.fault("E07")
def test_ids_that_look_alike_are_different_nodes_and_stay_in_the_output(tables: Tables) -> None:
    odd = [
        "é",
        "e\u0301",
        "a\u200b",
        "a\u200d",
        "\u202ea",
        "אב",
        "👩\u200d🔬",
        "ﬁ",
        "A",
        "а",
        "a\u00a0",
        "1",
        "01",
        "1.0",
    ]
    tables.write("nodes.csv", tables.nodes + "".join(f"{name},,,1,{place}\n" for place, name in enumerate(odd)))
    tables.write("edges.csv", tables.edges + "".join(f"a,{name}\n" for name in odd))
    tables.train()
    assert {*tables.predictions()} == {*LETTERS, *odd}
    table = (tables.folder / "run" / "predictions.csv").read_bytes()
    assert all(re.search(rb'\n"?%s"?,' % re.escape(name.encode()), table) for name in odd)


@pytest.mark.fault("E07", "E15")
@pytest.mark.parametrize(
    ("node", "meant"),
    [
        *((" h", "'h'"), ("h ", "'h'"), ("h\u00a0", "'h'"), ("7.0", "'7'"), ("07", "'7'"), ("+7", "'7'")),
        *(("e\u0301", "'\\xe9'"), ("ü", "'u\\u0308'"), ("8", "'8.0'")),
    ],
)
def test_a_similar_id_is_suggested(tables: Tables, node: str, meant: str) -> None:
    rename(tables, {"a": "7", "b": "é", "c": "u\u0308", "d": "8.0"})
    edges = (tables.folder / "edges.csv").read_text(encoding="utf-8")
    tables.write("edges.csv", f"{edges}e,{node}\n")
    tables.refuses_to_train(naming=["edges.csv, line 12", f"did you mean {meant}? Ids are compared letter by letter"])


@pytest.mark.fault("E15")
@pytest.mark.parametrize(
    ("row", "problem"),
    [("a,,,1,1", "id 'a' is already in line 2"), (",,,1,1", "the id is empty"), ('"",,,1,1', "the id is empty")],
)
def test_every_node_has_one_row_and_an_id(tables: Tables, row: str, problem: str) -> None:
    tables.write("nodes.csv", f"{tables.nodes}{row}\n")
    tables.refuses_to_train(naming=[f"nodes.csv, line 10: {problem}"])


@pytest.mark.fault("E09", "E10", "E12")
@pytest.mark.parametrize(
    ("more", "notices"),
    [
        ("b,c\nb,c\na,b\n", ["3 duplicate edges merged"]),
        ("a,b\n" * 100_000, ["100000 duplicate edges merged"]),
        ("a,a\nb,b\n", ["2 self loops replaced by the one that every node gets"]),
        ("h,h\nh,h\nh,h\n", ["2 duplicate edges merged", "1 self loops replaced"]),
        ("b,a\n", ["9 edges listed in one direction: edges are treated as undirected"]),
    ],
    ids=["thrice", "very often", "loops", "a loop thrice", "one of them both ways"],
)
def test_repeated_edges_and_loops_are_counted_and_change_nothing(
    tables: Tables, plain: tuple[bytes, str], more: str, notices: list[str]
) -> None:
    tables.write("edges.csv", tables.edges + more)
    ended = tables.train()
    assert all(f"note: {notice}" in ended.errors for notice in notices), ended.errors
    recorded = (tables.folder / "run" / "environment.json").read_text(encoding="utf-8")
    assert all(notice in recorded for notice in notices)
    assert tables.result() == plain


@pytest.mark.fault("E12")
def test_the_direction_of_edges_changes_nothing(tables: Tables, plain: tuple[bytes, str]) -> None:
    rows = tables.edges.splitlines()[1:]
    turned = [",".join(reversed(row.split(","))) for row in rows]
    tables.write("edges.csv", "\n".join(["source,target", *turned[::2], *rows[1::2]]))
    assert "note: 10 edges listed in one direction: edges are treated as undirected" in tables.train().errors
    assert tables.result() == plain
    tables.write("edges.csv", "\n".join(["source,target", *turned, *rows]))
    assert "one direction" not in tables.train("--overwrite").errors
    assert tables.result() == plain


@pytest.mark.fault("E12")
def test_the_option_directed_is_refused(tables: Tables) -> None:
    tables.refuses_to_train("--directed", code=2, naming=["No such option: --directed"])


@pytest.mark.fault("E11", "E15", "E20")
def test_nodes_without_a_labelled_node_in_reach_have_low_confidence_and_a_flag(tables: Tables) -> None:
    alone = {"x": "1,0", "y": "0,3"}
    islands = {f"i{place}": "0,2" for place in range(40)}
    rows = [f"{name},,,{numbers}" for name, numbers in {**alone, **islands}.items()]
    links = [f"i{place},i{place + 1}" for place in range(0, 40, 2)]
    tables.write("nodes.csv", tables.nodes + "\n".join(rows))
    tables.write("edges.csv", tables.edges + "\n".join(links))
    ended = tables.train("--epochs", 30)
    assert "note: 2 isolated nodes: they have no neighbours" in ended.errors
    found = tables.predictions()
    flagged = {name for name, row in found.items() if float(row["evidence"]) == 0}
    assert flagged == {*alone, *islands}
    assert {name for name, row in found.items() if not row["most_influential_neighbour"]} == {*alone}
    reached = [float(found[name]["probability"]) for name in "dh"]
    assert all(0.5 <= float(found[name]["probability"]) < min(reached) for name in flagged)
    assert found["x"]["raw_probability"] != found["y"]["raw_probability"]
    seen = tables.accepts("inspect", *tables.words).out
    assert "! 22 of 23 components have no label: predictions for their 42 nodes depend on features alone" in seen
