"""Beyond the paper: the picture of the README. Do the influences matter, and is the probability true?"""

from __future__ import annotations

from typing import Any

from reproduction.jobs import Job
from reproduction.published import GRAPHS
from reproduction.results import Results
from reproduction.scope import Scope
from reproduction.summaries import accuracy_cell, quarter_cells
from reproduction.table2 import RELEASED, UNIFORM

DEMO = "demo"
DATASETS = (*GRAPHS, DEMO)


def jobs(scope: Scope) -> list[Job]:
    """Runs of Table 2, and the same on the demo graph."""
    return scope.jobs(DATASETS, (RELEASED, UNIFORM))


def numbers(scope: Scope, results: Results) -> dict[str, Any]:
    """Accuracy with learned and uniform influences; what is said and what is right, by quarters of the probability."""
    runs = results.runs(DEMO, RELEASED)
    return {
        "datasets": {
            dataset: {
                "learned": accuracy_cell(results.runs(dataset, RELEASED)),
                "uniform": accuracy_cell(results.runs(dataset, UNIFORM)),
            }
            for dataset in scope.datasets_or(DATASETS)
        },
        "says": quarter_cells(runs, "mean_probability"),
        "right": quarter_cells(runs, "accuracy_by_probability"),
    }
