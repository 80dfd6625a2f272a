"""Table 2: accuracy of every method on every data set (Q1), the difference to ConfGCN, and the cost of a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reproduction.formatting import (
    NOTHING,
    Numbers,
    accuracy_text,
    decimal,
    interval,
    listed,
    mean_std,
    published_text,
)
from reproduction.jobs import PAPER_GRAPHS, Job, Scope, Variant
from reproduction.rendering import ClaimCheck, Table, outcome_of
from reproduction.results import Results
from reproduction.summaries import (
    accuracy_cell,
    all_satisfy,
    has_interval,
    is_above,
    is_below,
    mean_of,
    paired_difference,
)

NOTE = (
    "† marks accuracies below the paper's by more than its printed standard deviation, or by more than one point where "
    "none is printed. Deterministic methods have the same result with every seed on a public split."
)
DATASETS = PAPER_GRAPHS
MARGIN = 1.0  # points below a published accuracy without standard deviation that are tolerated

# Accuracy in percent and, where printed, the standard deviation (AISTATS 2019).
PUBLISHED: dict[str, dict[str, tuple[float, float | None]]] = {
    "label_propagation": {"citeseer": (45.3, None), "cora": (68.0, None), "pubmed": (63.0, None)},
    "mani_reg": {"citeseer": (60.1, None), "cora": (59.5, None), "pubmed": (70.7, None)},
    "semi_emb": {"citeseer": (59.6, None), "cora": (59.0, None), "pubmed": (71.1, None)},
    "feat": {"citeseer": (57.2, None), "cora": (57.4, None), "pubmed": (69.8, None)},
    "deepwalk": {"citeseer": (43.2, None), "cora": (67.2, None), "pubmed": (65.3, None)},
    "ggnn": {"citeseer": (68.1, None), "cora": (77.9, None), "pubmed": (77.2, None)},
    "planetoid": {"citeseer": (64.9, None), "cora": (75.7, None), "pubmed": (75.7, None)},
    "gcn": {"citeseer": (69.4, 0.4), "cora": (80.9, 0.4), "pubmed": (76.8, 0.2), "cora_ml": (85.7, 0.3)},
    "gated_gcn": {"citeseer": (69.6, 0.5), "cora": (81.2, 0.4), "pubmed": (77.0, 0.3), "cora_ml": (86.0, 0.2)},
    "gpnn": {"citeseer": (68.1, 1.8), "cora": (79.0, 1.7), "pubmed": (73.6, 0.5), "cora_ml": (69.4, 2.3)},
    "gat": {"citeseer": (72.5, 0.7), "cora": (83.0, 0.7), "pubmed": (79.0, 0.3), "cora_ml": (83.0, 0.8)},
    "confgcn": {"citeseer": (72.7, 0.8), "cora": (82.0, 0.3), "pubmed": (79.5, 0.5), "cora_ml": (86.5, 0.3)},
}

RELEASED = Variant("ConfGCN `released`", "confgcn", "released")
UNIFORM = RELEASED.changed("ConfGCN `released`, uniform influence", influence="uniform")
PAPER = Variant("ConfGCN `paper`", "confgcn", "paper")
GCN = Variant("Kipf-GCN", "gcn")
GAT = Variant("GAT", "gat")
GGNN = Variant("GGNN", "ggnn")
GPNN = Variant("GPNN", "gpnn")
INDUCTIVE = Variant("Planetoid, inductive", "planetoid", "tuned_inductive")
TACO = Variant("TACO", "taco")
UNPUBLISHED = (INDUCTIVE, TACO, UNIFORM)  # the paper's row for Planetoid holds the transductive results

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
        for variant in scope.selected(VARIANTS)
    ]
    return {"datasets": list(datasets), "rows": rows}


def _cell(results: Results, dataset: str, variant: Variant) -> dict[str, Any] | None:
    runs = results.runs(dataset, variant)
    accuracy = accuracy_cell(runs)
    if accuracy is None:
        return None
    return {
        "published": None if variant in UNPUBLISHED else PUBLISHED[variant.method].get(dataset),
        "accuracy": accuracy,
        "processor_seconds": mean_of(runs, "processor_seconds"),
        "difference": paired_difference(runs, results.runs(dataset, RELEASED)),
    }


def tables(numbers: Numbers) -> dict[str, Table]:
    """Accuracies, paired differences, seconds."""
    return {
        "": _table(numbers, "Test accuracy in percent (accuracy in the paper).", _accuracy),
        "difference": _table(
            numbers,
            "Difference to ConfGCN `released` in points, paired by seed, with its confidence interval.",
            _difference,
        ),
        "seconds": _table(numbers, "CPU seconds of one run on one thread: reading, training, predicting.", _seconds),
    }


def _table(numbers: Numbers, caption: str, write: Callable[[Any, Any], str]) -> Table:
    rows = [
        [row["title"], *(NOTHING if cell is None else write(row, cell) for cell in row["cells"].values())]
        for row in numbers["rows"]
    ]
    return Table(caption, ["", *numbers["datasets"]], rows)


def _accuracy(row: Numbers, cell: Numbers) -> str:
    text = accuracy_text(cell["accuracy"])
    if cell["published"] is None:
        return text
    return f"{text}{' †' if is_below_published(cell) else ''} ({published_text(cell['published'])})"


def _difference(row: Numbers, cell: Numbers) -> str:
    return NOTHING if row["is_reference"] else interval(cell["difference"])


def _seconds(row: Numbers, cell: Numbers) -> str:
    seconds = cell["processor_seconds"]
    return NOTHING if seconds is None else decimal(seconds, 1 if seconds >= 1 else 2)


def is_below_published(cell: Numbers) -> bool:
    """Is the accuracy below the published one by more than its standard deviation, or ``MARGIN`` without one?"""
    if cell["published"] is None or cell["accuracy"]["mean"] is None:
        return False
    value, deviation = cell["published"]
    lowest = value - (MARGIN if deviation is None else deviation)
    reached: float = round(100 * cell["accuracy"]["mean"], 1)
    return bool(reached < round(lowest, 1))


def check_claims(numbers: Numbers) -> list[ClaimCheck]:
    """Q1: is ConfGCN above every other method, and are its influences the reason?"""
    pairs = {dataset: _best_other(numbers, dataset) for dataset in numbers["datasets"]}
    compared = {dataset: pair for dataset, pair in pairs.items() if pair is not None}
    differences = [[cell["difference"] for cell in _others(numbers, dataset).values()] for dataset in compared]
    above = [all_satisfy(of_dataset, is_below) for of_dataset in differences]
    sentences = [_comparison(dataset, *pair) for dataset, pair in compared.items()]
    sentences += [_published_above(numbers), uniform_influence(numbers), _printed(numbers), _below_published(numbers)]
    claim = "Q1: ConfGCN is consistently above every other method on every data set."
    return [ClaimCheck(claim, outcome_of(above), " ".join(filter(None, sentences)))]


def _cells(numbers: Numbers, dataset: str) -> dict[str, Any]:
    cells = {row["title"]: row["cells"].get(dataset) for row in numbers["rows"]}
    return {title: cell for title, cell in cells.items() if cell is not None and cell["accuracy"]["mean"] is not None}


def _others(numbers: Numbers, dataset: str) -> dict[str, Any]:
    own = [row["title"] for row in numbers["rows"] if row["method"] == "confgcn"]
    return {title: cell for title, cell in _cells(numbers, dataset).items() if title not in own}


def _best_other(numbers: Numbers, dataset: str) -> tuple[Any, str, Any] | None:
    """The cell of ConfGCN, and title and cell of the best other method."""
    cells, others = _cells(numbers, dataset), _others(numbers, dataset)
    if RELEASED.title not in cells or not others:
        return None
    best = max(others, key=lambda title: others[title]["accuracy"]["mean"])
    return cells[RELEASED.title], best, others[best]


def _comparison(dataset: str, own: Numbers, title: str, other: Numbers) -> str:
    difference = other["difference"]
    is_open = has_interval(difference) and not is_above(difference) and not is_below(difference)
    significance = ", not significantly different from zero" if is_open else ""
    return (
        f"On {dataset} {RELEASED.title} has {mean_std(own['accuracy'])}; the best other method, {title}, has "
        f"{mean_std(other['accuracy'])} (difference {interval(other['difference'])} points{significance})."
    )


def _published_above(numbers: Numbers) -> str:
    """The published accuracies that contradict the claim."""
    published = {
        (row["title"], dataset): cell["published"][0]
        for row in numbers["rows"]
        for dataset, cell in row["cells"].items()
        if row["title"] != PAPER.title and cell and cell["published"]
    }
    own = {dataset: value for (title, dataset), value in published.items() if title == RELEASED.title}
    above = [f"{title} on {d}" for (title, d), value in published.items() if d in own and value > own[d]]
    return f"In the paper's own table {listed(above)} is above ConfGCN." if above else ""


def uniform_influence(numbers: Numbers) -> str:
    """The effect of uniform influences on the accuracy of ConfGCN, in one sentence."""
    differences = _differences(numbers, UNIFORM.title)
    text = f"Training with uniform influences changes the accuracy of {RELEASED.title} by {differences}."
    return text if differences else ""


def _printed(numbers: Numbers) -> str:
    differences = _differences(numbers, PAPER.title)
    return f"The printed equations ({PAPER.title}) differ from it by {differences}." if differences else ""


def _differences(numbers: Numbers, title: str) -> str:
    cells = {dataset: _cells(numbers, dataset).get(title) for dataset in numbers["datasets"]}
    return listed([f"{interval(cell['difference'])} on {dataset}" for dataset, cell in cells.items() if cell])


def _below_published(numbers: Numbers) -> str:
    cells = [cell for row in numbers["rows"] if row["title"] != PAPER.title for cell in row["cells"].values() if cell]
    published = [cell for cell in cells if cell["published"] is not None and cell["accuracy"]["mean"] is not None]
    below = sum(map(is_below_published, published))
    if not published:
        return ""
    return (
        f"Of {len(published)} cells with an accuracy in the paper ({PAPER.title} excluded), {below} are below it by "
        "more than its standard deviation (one point where none is printed)."
    )
