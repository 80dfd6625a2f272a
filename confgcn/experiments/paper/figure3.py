"""Figure 3: accuracy against the number of layers (Q3), all settings but the depth as they are for two."""

from __future__ import annotations

from typing import Any

from confgcn.experiments.paper.jobs import Job, Variant
from confgcn.experiments.paper.results import Results
from confgcn.experiments.paper.scope import Scope
from confgcn.experiments.paper.summaries import accuracy_cell, records
from confgcn.experiments.paper.table2 import GCN, PAPER, RELEASED, UNIFORM

DATASETS = ("citeseer",)
DEPTHS = range(1, 11)
ACTIVATIONS = {"relu": "with ReLU", "identity": "without ReLU"}
LINES = (GCN, RELEASED, UNIFORM, PAPER)


def jobs(scope: Scope) -> list[Job]:
    """Every line at every depth."""
    return scope.jobs(DATASETS, [deep(line, how, depth) for line in LINES for how in ACTIVATIONS for depth in DEPTHS])


def numbers(scope: Scope, results: Results) -> dict[str, Any]:
    """Per data set and line one cell per depth."""
    return {
        "depths": list(DEPTHS),
        "datasets": {
            dataset: [
                {
                    "title": line.title,
                    "activation": words,
                    "cells": [accuracy_cell(records(results, dataset, deep(line, how, depth))) for depth in DEPTHS],
                }
                for how, words in ACTIVATIONS.items()
                for line in scope.wanted(LINES)
            ]
            for dataset in scope.datasets_or(DATASETS)
        },
    }


def deep(line: Variant, activation: str, depth: int) -> Variant:
    """The same with so many layers."""
    return line.changed(line.title, activation=activation, num_layers=depth)
