"""Beyond the paper: the presets that Table 2 does not show, and what limits ConfGCN as it is printed."""

from __future__ import annotations

from typing import Any

from confgcn.models.registry import METHODS
from confgcn.runs.settings import preset_names
from reproduction.confidence import CONSENSUS
from reproduction.jobs import Job, Variant
from reproduction.published import GRAPHS
from reproduction.results import Results
from reproduction.scope import Scope
from reproduction.summaries import accuracy_cell
from reproduction.table2 import PAPER, VARIANTS

DATASETS = GRAPHS
LIMITS = (
    PAPER,
    PAPER.changed("with `normalisation=softmax`", normalisation="softmax"),
    PAPER.changed("with `dropout=0.5`", dropout=0.5),
    PAPER.changed("with both", normalisation="softmax", dropout=0.5),
)


def jobs(scope: Scope) -> list[Job]:
    """Every preset that Table 2 leaves out, and the changes to `paper`."""
    return scope.jobs(DATASETS, [*LIMITS, *others()])


def others() -> list[Variant]:
    """The presets that neither Table 2 nor the measurements of confidences show."""
    shown = {(variant.method, variant.settings(GRAPHS[0]).preset) for variant in (*VARIANTS, CONSENSUS)}
    pairs = [(method, preset) for method in METHODS for preset in preset_names(method)]
    return [
        Variant(f"{method} `{preset}`", method, preset) for method, preset in pairs if (method, preset) not in shown
    ]


def numbers(scope: Scope, results: Results) -> dict[str, Any]:
    """Two tables of accuracies."""
    datasets = scope.datasets_or(DATASETS)
    groups = {"others": others(), "limits": LIMITS}
    return {
        "datasets": list(datasets),
        **{
            name: [
                {"title": v.title, "cells": {d: accuracy_cell(results.runs(d, v)) for d in datasets}}
                for v in scope.wanted(variants)
            ]
            for name, variants in groups.items()
        },
    }
