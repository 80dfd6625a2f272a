"""Beyond the paper: the presets that Table 2 does not show, and what limits ConfGCN as it is printed."""

from __future__ import annotations

from typing import Any

from confgcn.experiments.paper.confidence import CONSENSUS
from confgcn.experiments.paper.jobs import Job, Variant
from confgcn.experiments.paper.published import GRAPHS
from confgcn.experiments.paper.results import Results
from confgcn.experiments.paper.scope import Scope
from confgcn.experiments.paper.summaries import accuracy_cell
from confgcn.experiments.paper.table2 import PAPER, VARIANTS
from confgcn.experiments.presets import preset_names
from confgcn.methods import METHODS

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
