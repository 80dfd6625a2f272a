"""What the paper claims in passing about influences and confidences, measured on the runs of Table 2."""

from __future__ import annotations

from typing import Any

import torch

from confgcn.graph import Graph
from confgcn.ops import edge_distance
from reproduction.jobs import Job, Variant
from reproduction.published import GRAPHS
from reproduction.results import Results
from reproduction.scope import Scope
from reproduction.summaries import mean_of, paired_difference, quarter_cells
from reproduction.table2 import GAT, GCN, GGNN, GPNN, PAPER, RELEASED

DATASETS = GRAPHS
VARIANTS = (RELEASED, PAPER)
MEASURED = (
    "test_accuracy",
    "accuracy_made_uniform",
    "changed_by_uniform",
    "neighbours",
    "effective_neighbours",
    "influence_deviation",
    "auroc_influence",
    "auroc_probability",
    "auroc_precision",
    "mu_accuracy",
)
PAIRS = {f"{one.title} less {other.title}": (one, other) for one, other in ((GAT, GCN), (GPNN, GCN), (GPNN, GGNN))}
PRECISIONS = (0.1, 1.0, 10.0)  # of the neighbour in the example


def jobs(scope: Scope) -> list[Job]:
    """Runs of Table 2."""
    return scope.jobs(DATASETS, dict.fromkeys([*VARIANTS, *(variant for pair in PAIRS.values() for variant in pair)]))


def numbers(scope: Scope, results: Results) -> dict[str, Any]:
    """Means over the runs per data set and preset, and the printed formula in an example."""
    datasets = scope.datasets_or(DATASETS)
    return {
        "datasets": {
            dataset: {v.title: _means(results, dataset, v) for v in scope.wanted(VARIANTS)} for dataset in datasets
        },
        "pairs": {
            dataset: {name: _difference(results, dataset, *pair) for name, pair in PAIRS.items()}
            for dataset in datasets
        },
        "printed_influence": [{"precision": value, "influence": printed_influence(value)} for value in PRECISIONS],
    }


def printed_influence(precision: float) -> float:
    """r = 1 / d_M of a neighbour whose scores are (3/4, 1/4) where the node's are (1/4, 3/4) with precision one."""
    pair = Graph.build([(0, 1)], torch.eye(2).numpy(), [0, 1])
    mu = torch.tensor([[0.75, 0.25], [0.25, 0.75]])
    precisions = torch.tensor([[precision, precision], [1.0, 1.0]])
    between = pair.adjacency.indices != pair.adjacency.rows
    return float(1.0 / edge_distance(pair.adjacency, mu, precisions)[between][0])


def _difference(results: Results, dataset: str, one: Variant, other: Variant) -> dict[str, Any] | None:
    return paired_difference(results.runs(dataset, one), results.runs(dataset, other))


def _means(results: Results, dataset: str, variant: Variant) -> dict[str, Any] | None:
    runs = results.runs(dataset, variant)
    if not runs:
        return None
    by_precision = [quarter["mean"] for quarter in quarter_cells(runs, "influence_by_precision")]
    return {**{name: mean_of(runs, name) for name in MEASURED}, "influence_by_precision": by_precision}
