"""Beyond the paper: the presets that Table 2 does not show, and changes to ConfGCN as printed."""

from __future__ import annotations

from typing import Any

from confgcn.models.registry import METHODS
from confgcn.runs.settings import preset_names
from reproduction.default_variants import CONSENSUS
from reproduction.formatting import Numbers, accuracy_text
from reproduction.jobs import PAPER_GRAPHS, Job, Scope, Variant
from reproduction.rendering import Table
from reproduction.results import Results
from reproduction.summaries import accuracy_cell
from reproduction.table2 import PAPER, VARIANTS

NOTE = "Cells without a run are empty."
DATASETS = PAPER_GRAPHS
DROPOUT = 0.5
COMPARED_ELSEWHERE = ("mlp", "sage", "appnp")  # methods that the paper does not have: reproduction/robustness.py
PRESETS_ELSEWHERE = {("confgcn", "propagated")}  # a model that the paper does not have
LIMITS = (
    PAPER,
    PAPER.changed("with `normalisation=softmax`", normalisation="softmax"),
    PAPER.changed(f"with `dropout={DROPOUT}`", dropout=DROPOUT),
    PAPER.changed("with both", normalisation="softmax", dropout=DROPOUT),
)
CAPTIONS = {
    "limits": "ConfGCN `paper` with changed options: test accuracy in percent.",
    "others": "Presets that Table 2 does not show: test accuracy in percent.",
}


def jobs(scope: Scope) -> list[Job]:
    """Every preset that Table 2 does not show, and the changes to `paper`."""
    return scope.jobs(DATASETS, [*LIMITS, *others()])


def others() -> list[Variant]:
    """The presets of the paper's methods that neither Table 2 nor the tables of confidences show."""
    shown = {(variant.method, variant.settings(DATASETS[0]).preset) for variant in (*VARIANTS, CONSENSUS)}
    shown |= PRESETS_ELSEWHERE
    methods = [method for method in METHODS if method not in COMPARED_ELSEWHERE]
    pairs = [(method, preset) for method in methods for preset in preset_names(method)]
    return [
        Variant(f"{method} `{preset}`", method, preset) for method, preset in pairs if (method, preset) not in shown
    ]


def numbers(scope: Scope, results: Results) -> dict[str, Any]:
    """Two tables of accuracies."""
    datasets = scope.datasets_or(DATASETS)
    return {
        "datasets": list(datasets),
        **{
            name: [
                {"title": v.title, "cells": {d: accuracy_cell(results.runs(d, v)) for d in datasets}}
                for v in scope.selected(variants)
            ]
            for name, variants in {"others": others(), "limits": LIMITS}.items()
        },
    }


def tables(numbers: Numbers) -> dict[str, Table]:
    """One table for the changes to `paper`, one for the other presets."""
    return {name: _table(numbers, name, caption) for name, caption in CAPTIONS.items()}


def _table(numbers: Numbers, name: str, caption: str) -> Table:
    cells = [cell for row in numbers[name] for cell in row["cells"].values() if cell]
    usual = max((cell["runs"] for cell in cells), default=0)
    rows = [[row["title"], *(_cell(cell, usual) for cell in row["cells"].values())] for row in numbers[name]]
    return Table(caption, ["", *numbers["datasets"]], rows)


def _cell(cell: Numbers | None, usual: int) -> str:
    """The accuracy, with the number of runs where it is smaller than usual."""
    runs = f", runs: {cell['runs']}" if cell and cell["runs"] < usual else ""
    return f"{accuracy_text(cell)}{runs}"
