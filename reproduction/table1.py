"""Table 1: the data sets in numbers, each under every convention of counting."""

from __future__ import annotations

from typing import Any

from confgcn.data.datasets import dataset_named, load_graph
from confgcn.data.statistics import GraphStatistics, describe
from reproduction.jobs import Job
from reproduction.published import TABLE_1
from reproduction.results import Results
from reproduction.scope import Scope
from reproduction.summaries import mean_and_std

DATASETS = tuple(TABLE_1)
MISMATCHES = ("train_edges_of_all", "train_edges_of_train", "train_nodes_of_all", "all_labels")


def jobs(scope: Scope) -> list[Job]:
    """None: nothing is trained."""
    return []


def numbers(scope: Scope, results: Results) -> dict[str, Any]:
    """One column per data set: what the paper prints, and what is there."""
    return {"datasets": {name: _column(name, scope) for name in scope.datasets_or(DATASETS)}}


def _column(name: str, scope: Scope) -> dict[str, Any]:
    draws = range(scope.seeds if dataset_named(name).draw_split is not None else 1)
    found = [describe(load_graph(name, data_dir=scope.data_dir, split_seed=seed)) for seed in draws]
    first = found[0]
    return {
        "published": TABLE_1.get(name),
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
        "mismatch": {reading: _over_splits(found, reading) for reading in MISMATCHES},
    }


def _over_splits(found: list[GraphStatistics], reading: str) -> dict[str, float | None]:
    values = [getattr(description.label_mismatch, reading) for description in found]
    return mean_and_std([value for value in values if value is not None])
