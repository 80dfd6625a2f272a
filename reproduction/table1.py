"""Table 1: the data sets in numbers, under every convention of counting edges and label mismatch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from confgcn.data.datasets import dataset_named
from confgcn.data.load import load_graph
from confgcn.data.statistics import GraphStatistics, describe
from reproduction.formatting import NOTHING, Numbers, count, decimal, listed, percent
from reproduction.jobs import Scope
from reproduction.rendering import UNKNOWN, ClaimCheck, Table, outcome_of
from reproduction.results import Results
from reproduction.summaries import mean_and_std

NOTE = (
    "The split of cora_ml is not published; its label mismatch is the mean ± standard deviation over randomly drawn "
    "splits."
)
PUBLISHED: dict[str, dict[str, float]] = {
    "cora": {"nodes": 2708, "edges": 5429, "classes": 7, "features": 1433, "mismatch": 0.002, "label_rate": 0.052},
    "cora_ml": {"nodes": 2995, "edges": 8416, "classes": 7, "features": 2879, "mismatch": 0.018, "label_rate": 0.166},
    "citeseer": {"nodes": 3327, "edges": 4372, "classes": 6, "features": 3703, "mismatch": 0.003, "label_rate": 0.036},
    "pubmed": {"nodes": 19717, "edges": 44338, "classes": 3, "features": 500, "mismatch": 0.0, "label_rate": 0.003},
}
DATASETS = tuple(PUBLISHED)
MISMATCHES = ("train_edges_of_all", "train_edges_of_train", "train_nodes_of_all", "all_labels")

ROWS: tuple[tuple[str, Callable[[Any], str]], ...] = (
    ("nodes, paper", lambda c: _published(c, "nodes", count)),
    ("nodes", lambda c: count(c["nodes"])),
    ("edges, paper", lambda c: _published(c, "edges", count)),
    ("edges: entries in the file", lambda c: count(c["edges"]["listed"])),
    ("edges: half of the entries", lambda c: count(c["edges"]["listed_halved"])),
    ("edges: unique, undirected, without self loops (used for training)", lambda c: count(c["edges"]["unique"])),
    ("entries that are duplicates / self loops", lambda c: f"{c['edges']['duplicates']} / {c['edges']['loops']}"),
    ("classes, paper", lambda c: _published(c, "classes", count)),
    ("classes", lambda c: count(c["classes"])),
    ("features, paper", lambda c: _published(c, "features", count)),
    ("features", lambda c: count(c["features"])),
    ("label mismatch, paper", lambda c: _published(c, "mismatch", lambda v: decimal(v, 3))),
    ("mismatched edges between training nodes / all edges (literal)", lambda c: _mismatch(c, "train_edges_of_all")),
    ("mismatched / all edges between training nodes", lambda c: _mismatch(c, "train_edges_of_train")),
    ("training nodes with a mismatched edge / all nodes", lambda c: _mismatch(c, "train_nodes_of_all")),
    ("mismatched / all edges, with all true labels", lambda c: _mismatch(c, "all_labels")),
    ("label rate, paper", lambda c: _published(c, "label_rate", lambda v: decimal(v, 3))),
    ("label rate", lambda c: decimal(c["label_rate"], 4)),
)


def numbers(scope: Scope, results: Results) -> dict[str, Any]:
    """One column per data set: the published numbers and those of the graph. Nothing is trained."""
    return {"datasets": {name: _column(name, scope) for name in scope.datasets_or(DATASETS)}}


def _column(name: str, scope: Scope) -> dict[str, Any]:
    split_seeds = range(scope.seeds if dataset_named(name).draw_split is not None else 1)
    of_splits = [describe(load_graph(name, data_dir=scope.data_dir, split_seed=seed)) for seed in split_seeds]
    first = of_splits[0]
    return {
        "published": PUBLISHED.get(name),
        "nodes": first.nodes,
        "edges": {
            "listed": first.edges.listed,
            "listed_halved": first.listed_halved,
            "unique": first.edges.unique,
            "duplicates": first.edges.duplicates,
            "loops": first.edges.loops,
        },
        "classes": first.classes,
        "features": first.features,
        "label_rate": first.label_rate,
        "mismatch": {reading: _over_splits(of_splits, reading) for reading in MISMATCHES},
    }


def _over_splits(of_splits: list[GraphStatistics], reading: str) -> dict[str, float | None]:
    values = [getattr(statistics.label_mismatch, reading) for statistics in of_splits]
    return mean_and_std([value for value in values if value is not None])


def tables(numbers: Numbers) -> dict[str, Table]:
    """One row per quantity and convention, one column per data set."""
    columns = numbers["datasets"]
    rows = [[title, *(cell(column) for column in columns.values())] for title, cell in ROWS]
    return {"": Table("Counts of the paper and of this repository, by convention.", ["", *columns], rows)}


def _published(column: Numbers, name: str, write: Callable[[float], str]) -> str:
    return NOTHING if column["published"] is None else write(column["published"][name])


def _mismatch(column: Numbers, reading: str) -> str:
    cell = column["mismatch"][reading]
    return decimal(cell["mean"], 4) + ("" if cell["std"] is None else f" ± {decimal(cell['std'], 4)}")


def check_claims(numbers: Numbers) -> list[ClaimCheck]:
    """Are the neighbourhoods of Cora-ML more mixed than the others, and what does the paper count as edges?"""
    columns = numbers["datasets"]
    readings = ("train_edges_of_all", "all_labels")
    shares = {reading: {n: c["mismatch"][reading]["mean"] for n, c in columns.items()} for reading in readings}
    claim = "Table 1: Cora-ML has the most heterogeneous neighbourhoods."
    if "cora_ml" not in columns or len(columns) == 1:
        return [ClaimCheck(claim, UNKNOWN, "")]
    is_highest = [_is_highest("cora_ml", by_dataset) for by_dataset in shares.values()]
    literal, truth = (
        listed([f"{decimal(v, 4)} on {n}" for n, v in by_dataset.items()]) for by_dataset in shares.values()
    )
    rates = listed([f"{percent(column['label_rate'])} % of {name}" for name, column in columns.items()])
    evidence = (
        f"The share of all edges that connect training nodes with different labels is {literal}. This share grows with "
        f"the number of training labels ({rates}). With all true labels it is {truth}."
    )
    return [ClaimCheck(claim, outcome_of(is_highest), f"{evidence} {_unexplained_edges(columns)}".strip())]


def _is_highest(name: str, shares: dict[str, float | None]) -> bool | None:
    known = {other: share for other, share in shares.items() if share is not None}
    return known[name] == max(known.values()) if name in known else None


def _unexplained_edges(columns: Numbers) -> str:
    conventions = ("listed", "listed_halved", "unique")
    unexplained = [
        f"{count(column['published']['edges'])} edges of {name}"
        for name, column in columns.items()
        if column["published"] and column["published"]["edges"] not in [column["edges"][key] for key in conventions]
    ]
    return f"No convention gives the paper's {listed(unexplained)}." if unexplained else ""
