"""Figure 2: accuracy by quarters of neighbourhood label entropy and of degree (Q2)."""

from __future__ import annotations

from typing import Any

from reproduction.jobs import Job
from reproduction.results import Results
from reproduction.scope import Scope
from reproduction.summaries import accuracies, paired_quarters, quarter_cells
from reproduction.table2 import GAT, GCN, PAPER, RELEASED, UNIFORM

DATASETS = ("cora_ml", "citeseer", "cora", "pubmed")  # the paper's, and the other three
VARIANTS = (GCN, GAT, RELEASED, UNIFORM, PAPER)


def jobs(scope: Scope) -> list[Job]:
    """Runs of Table 2."""
    return scope.jobs(DATASETS, VARIANTS)


def numbers(scope: Scope, results: Results) -> dict[str, Any]:
    """Per data set and method four means by either quantity, and what ConfGCN has more than it."""
    return {
        "datasets": {
            dataset: [
                {
                    "title": variant.title,
                    "entropy": quarter_cells(runs, "accuracy_by_entropy"),
                    "degree": quarter_cells(runs, "accuracy_by_degree"),
                    "confgcn_less_this": {
                        key: paired_quarters(results.runs(dataset, RELEASED), runs, f"accuracy_by_{key}")
                        for key in ("entropy", "degree")
                    },
                }
                for variant in scope.wanted(VARIANTS)
                if accuracies(runs := results.runs(dataset, variant))
            ]
            for dataset in scope.datasets_or(DATASETS)
        }
    }
