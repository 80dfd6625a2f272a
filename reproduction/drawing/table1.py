"""Table 1 beside ours: one row per quantity and convention, one column per data set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from confgcn.report.formatting import NOTHING, Numbers, count, decimal, listed, percent
from reproduction.tables import Table
from reproduction.verdict import UNKNOWN, Verdict, judged

Cell = Callable[[Any], str]

NOTE = "The split of cora_ml is not published; its label mismatch is that of drawn splits, mean ± standard deviation."

ROWS: tuple[tuple[str, Cell], ...] = (
    ("nodes, paper", lambda c: _published(c, "nodes", count)),
    ("nodes", lambda c: count(c["nodes"])),
    ("edges, paper", lambda c: _published(c, "edges", count)),
    ("edges: entries as listed", lambda c: count(c["edges"]["listed"])),
    ("edges: entries as listed, halved", lambda c: count(c["edges"]["listed_halved"])),
    ("edges: unique and undirected, no self loops (what is trained on)", lambda c: count(c["edges"]["unique"])),
    ("of the entries: repeated / self loops", lambda c: f"{c['edges']['duplicates']} / {c['edges']['loops']}"),
    ("classes, paper", lambda c: _published(c, "classes", count)),
    ("classes", lambda c: count(c["classes"])),
    ("features, paper", lambda c: _published(c, "features", count)),
    ("features", lambda c: count(c["features"])),
    ("label mismatch, paper", lambda c: _published(c, "mismatch", lambda v: decimal(v, 3))),
    ("between training nodes, of all edges (the literal reading)", lambda c: _mismatch(c, "train_edges_of_all")),
    ("between training nodes, of their edges", lambda c: _mismatch(c, "train_edges_of_train")),
    ("training nodes with such an edge, of all nodes", lambda c: _mismatch(c, "train_nodes_of_all")),
    ("with all true labels, of all edges", lambda c: _mismatch(c, "all_labels")),
    ("label rate, paper", lambda c: _published(c, "label_rate", lambda v: decimal(v, 3))),
    ("label rate", lambda c: decimal(c["label_rate"], 4)),
)


def tables(numbers: Numbers) -> dict[str, Table]:
    """The one table."""
    columns = numbers["datasets"]
    rows = [[title, *(cell(column) for column in columns.values())] for title, cell in ROWS]
    return {"": Table("The paper's counts and ours, each convention named.", ["", *columns], rows)}


def _published(column: Numbers, name: str, write: Callable[[float], str]) -> str:
    return NOTHING if column["published"] is None else write(column["published"][name])


def _mismatch(column: Numbers, reading: str) -> str:
    cell = column["mismatch"][reading]
    return decimal(cell["mean"], 4) + ("" if cell["std"] is None else f" ± {decimal(cell['std'], 4)}")


def verdicts(numbers: Numbers) -> list[Verdict]:
    """Are Cora-ML's neighbourhoods more mixed than those of the others, and what does the paper count as edges?"""
    columns = numbers["datasets"]
    readings = ("train_edges_of_all", "all_labels")
    shares = {reading: {n: c["mismatch"][reading]["mean"] for n, c in columns.items()} for reading in readings}
    claim = "Table 1: Cora-ML has the most heterogeneous neighbourhoods."
    if "cora_ml" not in columns or len(columns) == 1:
        return [Verdict(claim, UNKNOWN, "")]
    is_most = [_is_highest("cora_ml", found) for found in shares.values()]
    literal, truth = (listed([f"{decimal(v, 4)} on {n}" for n, v in found.items()]) for found in shares.values())
    rates = listed([f"{percent(column['label_rate'])} % of {name}" for name, column in columns.items()])
    text = (
        f"Edges between training nodes of different labels, of all edges, are {literal}. That share grows with the "
        f"number of labels that are given: {rates}. With all true labels it is {truth}."
    )
    return [Verdict(claim, judged(is_most), f"{text} {_unexplained_edges(columns)}".strip())]


def _is_highest(name: str, shares: dict[str, float | None]) -> bool | None:
    known = {other: share for other, share in shares.items() if share is not None}
    return known[name] == max(known.values()) if name in known else None


def _unexplained_edges(columns: Numbers) -> str:
    conventions = ("listed", "listed_halved", "unique")
    odd = [
        f"{count(column['published']['edges'])} edges of {name}"
        for name, column in columns.items()
        if column["published"] and column["published"]["edges"] not in [column["edges"][key] for key in conventions]
    ]
    return f"The paper's {listed(odd)} fit no way of counting." if odd else ""
