"""Table 2: every method on every data set, beside the paper's figures (Q1)."""

from __future__ import annotations

from typing import Any

from reproduction.jobs import Job, Variant
from reproduction.published import GRAPHS, TABLE_2
from reproduction.results import Results
from reproduction.scope import Scope
from reproduction.summaries import accuracy_cell, mean_of, paired_difference

DATASETS = GRAPHS

RELEASED = Variant("ConfGCN `released`", "confgcn", "released")
UNIFORM = RELEASED.changed("ConfGCN `released`, uniform influence", influence="uniform")
PAPER = Variant("ConfGCN `paper`", "confgcn", "paper")
GCN = Variant("Kipf-GCN", "gcn")
GAT = Variant("GAT", "gat")
GGNN = Variant("GGNN", "ggnn")
GPNN = Variant("GPNN", "gpnn")

INDUCTIVE = Variant("Planetoid, inductive", "planetoid", "tuned_inductive")
TACO = Variant("TACO", "taco")
NOT_IN_PRINT = (
    INDUCTIVE,
    TACO,
    UNIFORM,
)  # the paper has one row for Planetoid, whose figures are the transductive ones

VARIANTS = (
    Variant("LP", "label_propagation"),
    Variant("ManiReg", "mani_reg"),
    Variant("SemiEmb", "semi_emb"),
    Variant("Feat", "feat"),
    Variant("DeepWalk", "deepwalk"),
    GGNN,
    Variant("Planetoid, transductive", "planetoid", "tuned"),
    INDUCTIVE,
    GCN,
    Variant("G-GCN", "gated_gcn"),
    GPNN,
    GAT,
    TACO,
    RELEASED,
    UNIFORM,
    PAPER,
)


def jobs(scope: Scope) -> list[Job]:
    """Every variant on every data set."""
    return scope.jobs(DATASETS, VARIANTS)


def numbers(scope: Scope, results: Results) -> dict[str, Any]:
    """One row per variant, one cell per data set."""
    datasets = scope.datasets_or(DATASETS)
    rows = [
        {
            "title": variant.title,
            "method": variant.method,
            "is_reference": variant == RELEASED,
            "cells": {dataset: _cell(results, dataset, variant) for dataset in datasets},
        }
        for variant in scope.wanted(VARIANTS)
    ]
    return {"datasets": list(datasets), "rows": rows}


def _cell(results: Results, dataset: str, variant: Variant) -> dict[str, Any] | None:
    runs = results.runs(dataset, variant)
    accuracy = accuracy_cell(runs)
    if accuracy is None:
        return None
    return {
        "published": None if variant in NOT_IN_PRINT else TABLE_2[variant.method].get(dataset),
        "accuracy": accuracy,
        "processor_seconds": mean_of(runs, "processor_seconds"),
        "difference": paired_difference(runs, results.runs(dataset, RELEASED)),
    }
