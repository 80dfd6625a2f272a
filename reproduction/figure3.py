"""Figure 3: accuracy against the number of layers (Q3), all settings but the depth as they are for two."""

from __future__ import annotations

from typing import Any

from reproduction.jobs import Job, Variant
from reproduction.results import Results
from reproduction.scope import Scope
from reproduction.summaries import accuracies, accuracy_cell, mean_and_std, paired
from reproduction.table2 import GCN, PAPER, RELEASED, UNIFORM

DATASETS = ("citeseer",)
DEPTHS = range(1, 11)
LINES = (GCN, RELEASED, UNIFORM, PAPER)
RELU, LINEAR = "with ReLU", "without ReLU"
ACTIVATIONS = {RELU: "relu", LINEAR: "identity"}

Line = tuple[Variant, str]  # and its activation, in words

# Kipf-GCN has a ReLU and the released code has none; the other pairs are of a kind.
RIVALS: tuple[tuple[Line, Line], ...] = (
    ((RELEASED, LINEAR), (GCN, RELU)),
    ((PAPER, RELU), (GCN, RELU)),
    ((RELEASED, RELU), (GCN, RELU)),
    ((RELEASED, LINEAR), (GCN, LINEAR)),
)
CONTROLS: tuple[tuple[Line, Line], ...] = tuple(((RELEASED, kind), (UNIFORM, kind)) for kind in ACTIVATIONS)


def jobs(scope: Scope) -> list[Job]:
    """Every line at every depth."""
    variants = [deep((line, kind), depth) for line in LINES for kind in ACTIVATIONS for depth in DEPTHS]
    return scope.jobs(DATASETS, variants)


def numbers(scope: Scope, results: Results) -> dict[str, Any]:
    """Per data set and line one cell per depth, and pairs of lines compared."""
    datasets = scope.datasets_or(DATASETS)
    groups = {"rivals": RIVALS, "controls": CONTROLS}
    return {
        "depths": list(DEPTHS),
        "datasets": {
            dataset: [_line(results, dataset, (line, kind)) for kind in ACTIVATIONS for line in scope.wanted(LINES)]
            for dataset in datasets
        },
        **{
            name: {dataset: [_comparison(results, dataset, *pair) for pair in pairs] for dataset in datasets}
            for name, pairs in groups.items()
        },
    }


def deep(line: Line, depth: int) -> Variant:
    """A line's variant with so many layers."""
    variant, kind = line
    return variant.changed(variant.title, activation=ACTIVATIONS[kind], num_layers=depth)


def _line(results: Results, dataset: str, line: Line) -> dict[str, Any]:
    cells = [accuracy_cell(results.runs(dataset, deep(line, depth))) for depth in DEPTHS]
    return {"title": line[0].title, "activation": line[1], "cells": cells, "fall": _mean_fall(results, dataset, line)}


def _comparison(results: Results, dataset: str, one: Line, other: Line) -> dict[str, Any]:
    """At every depth one less the other, and the fall of the one less that of the other."""
    sides = [[_by_seed(results, dataset, line, depth) for depth in DEPTHS] for line in (one, other)]
    return {
        "one": ", ".join((one[0].title, one[1])),
        "other": ", ".join((other[0].title, other[1])),
        "depths": [paired(mine, theirs) for mine, theirs in zip(*sides, strict=True)],
        "fall": paired(falls(sides[0]), falls(sides[1])),
    }


def falls(by_depth: list[dict[int, float]]) -> dict[int, float]:
    """Of every seed, the accuracy at the depth that is best on average less that at the last."""
    if not all(by_depth):
        return {}
    best = max(by_depth, key=lambda values: sum(values.values()) / len(values))
    return {seed: best[seed] - by_depth[-1][seed] for seed in best.keys() & by_depth[-1].keys()}


def _mean_fall(results: Results, dataset: str, line: Line) -> float | None:
    found = falls([_by_seed(results, dataset, line, depth) for depth in DEPTHS])
    return mean_and_std(list(found.values()))["mean"]


def _by_seed(results: Results, dataset: str, line: Line, depth: int) -> dict[int, float]:
    return accuracies(results.runs(dataset, deep(line, depth)))
