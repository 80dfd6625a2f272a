"""Figure 3: accuracy against the number of layers (Q3), with all other settings as chosen for two layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reproduction.formatting import Numbers, accuracy_text, interval, listed, percent
from reproduction.jobs import Job, Scope, Variant
from reproduction.plots import draw_line, new_figure
from reproduction.rendering import ClaimCheck, Table, outcome_of
from reproduction.results import Results
from reproduction.summaries import accuracies, accuracy_cell, all_satisfy, is_above, is_below, mean_and_std, paired
from reproduction.table2 import GCN, PAPER, RELEASED, UNIFORM

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOTE = (
    "The paper shows its values only as a picture. All settings except depth and activation are those of the preset, "
    "which was chosen for two layers. Kipf-GCN uses ReLU and the released code of ConfGCN does not, so they are also "
    "compared with the same activation. The drop is the accuracy at the best depth minus the accuracy at the last."
)
DATASETS = ("citeseer",)
DEPTHS = range(1, 11)
VARIANTS = (GCN, RELEASED, UNIFORM, PAPER)
RELU, LINEAR = "with ReLU", "without ReLU"
ACTIVATIONS = {RELU: "relu", LINEAR: "identity"}

Line = tuple[Variant, str]  # a variant and the name of its activation

# Kipf-GCN uses ReLU and the released code does not; the other pairs have the same activation.
BASELINES: tuple[tuple[Line, Line], ...] = (
    ((RELEASED, LINEAR), (GCN, RELU)),
    ((PAPER, RELU), (GCN, RELU)),
    ((RELEASED, RELU), (GCN, RELU)),
    ((RELEASED, LINEAR), (GCN, LINEAR)),
)
CONTROLS: tuple[tuple[Line, Line], ...] = tuple(((RELEASED, kind), (UNIFORM, kind)) for kind in ACTIVATIONS)


def jobs(scope: Scope) -> list[Job]:
    """Every line at every depth."""
    lines = [with_depth((variant, kind), depth) for variant in VARIANTS for kind in ACTIVATIONS for depth in DEPTHS]
    return scope.jobs(DATASETS, lines)


def numbers(scope: Scope, results: Results) -> dict[str, Any]:
    """Per data set and line one cell per depth, and comparisons of pairs of lines."""
    datasets = scope.datasets_or(DATASETS)
    comparisons = {"baselines": BASELINES, "controls": CONTROLS}
    return {
        "depths": list(DEPTHS),
        "datasets": {
            dataset: [_line(results, dataset, (v, kind)) for kind in ACTIVATIONS for v in scope.selected(VARIANTS)]
            for dataset in datasets
        },
        **{
            name: {dataset: [_comparison(results, dataset, *pair) for pair in pairs] for dataset in datasets}
            for name, pairs in comparisons.items()
        },
    }


def with_depth(line: Line, depth: int) -> Variant:
    """The variant of a line with ``depth`` layers."""
    variant, kind = line
    return variant.changed(variant.title, activation=ACTIVATIONS[kind], num_layers=depth)


def _line(results: Results, dataset: str, line: Line) -> dict[str, Any]:
    cells = [accuracy_cell(results.runs(dataset, with_depth(line, depth))) for depth in DEPTHS]
    mean_drop = mean_and_std(list(drops(_by_depth(results, dataset, line)).values()))["mean"]
    return {"title": line[0].title, "activation": line[1], "cells": cells, "drop": mean_drop}


def _comparison(results: Results, dataset: str, first: Line, second: Line) -> dict[str, Any]:
    """First minus second: the accuracy at every depth, and the drop."""
    sides = [_by_depth(results, dataset, line) for line in (first, second)]
    return {
        "first": ", ".join((first[0].title, first[1])),
        "second": ", ".join((second[0].title, second[1])),
        "depths": [paired(*pair) for pair in zip(*sides, strict=True)],
        "drop": paired(drops(sides[0]), drops(sides[1])),
    }


def drops(by_depth: list[dict[int, float]]) -> dict[int, float]:
    """For each seed the accuracy at the depth with the best mean, minus that at the last depth."""
    if not all(by_depth):
        return {}
    best = max(by_depth, key=lambda values: sum(values.values()) / len(values))
    return {seed: best[seed] - by_depth[-1][seed] for seed in best.keys() & by_depth[-1].keys()}


def _by_depth(results: Results, dataset: str, line: Line) -> list[dict[int, float]]:
    return [accuracies(results.runs(dataset, with_depth(line, depth))) for depth in DEPTHS]


def tables(numbers: Numbers) -> dict[str, Table]:
    """One table per data set."""
    return {dataset: _table(numbers, dataset, lines) for dataset, lines in _shown(numbers).items()}


def _table(numbers: Numbers, dataset: str, lines: list[Any]) -> Table:
    header = ["layers", *map(str, numbers["depths"])]
    rows = [[f"{line['title']}, {line['activation']}", *map(accuracy_text, line["cells"])] for line in lines]
    return Table(f"{dataset}: test accuracy in percent against the number of layers.", header, rows)


def _shown(numbers: Numbers) -> dict[str, list[Any]]:
    """Data sets and lines with at least one run."""
    lines = {dataset: [line for line in lines if any(line["cells"])] for dataset, lines in numbers["datasets"].items()}
    return {dataset: drawn for dataset, drawn in lines.items() if drawn}


def draw(numbers: Numbers) -> Figure | None:
    """One panel per activation; None without runs."""
    shown = _shown(numbers)
    if not shown:
        return None
    kinds = list(dict.fromkeys(line["activation"] for lines in shown.values() for line in lines))
    figure, axes = new_figure(rows=len(shown), columns=len(kinds))
    for row, (dataset, lines) in zip(axes, shown.items(), strict=True):
        for axis, kind in zip(row, kinds, strict=True):
            chosen = [line for line in lines if line["activation"] == kind]
            for index, line in enumerate(chosen):
                draw_line(axis, numbers["depths"], line["cells"], index, line["title"], num_lines=len(chosen))
            axis.set(title=f"{dataset}, {kind}", xlabel="layers", ylabel="test accuracy, %", ylim=(0, 100))
            axis.set_xticks(numbers["depths"])
    axes[0][0].legend(frameon=False, fontsize=7)
    return figure


def check_claims(numbers: Numbers) -> list[ClaimCheck]:
    """Q3: is ConfGCN above Kipf-GCN at every depth, does it drop less, and are the influences the reason?"""
    baselines, controls = _complete(numbers["baselines"]), _complete(numbers["controls"])
    above = [all_satisfy(pair["depths"], is_above) for _, pair in baselines]
    gradual = [all_satisfy([pair["drop"]], is_below) for _, pair in baselines]
    caused = [all_satisfy([pair["drop"]], is_below) for _, pair in controls]
    return [
        ClaimCheck("Q3: ConfGCN is above Kipf-GCN at every depth.", outcome_of(above), _wins(baselines)),
        ClaimCheck(
            "Q3: with depth the accuracy of Kipf-GCN drops abruptly, that of ConfGCN gradually.",
            outcome_of(gradual),
            " ".join(filter(None, [_drops(numbers), _compared(baselines)])),
        ),
        ClaimCheck("Q3: the confidences are the reason for the gradual drop.", outcome_of(caused), _compared(controls)),
    ]


def _complete(pairs: Numbers) -> list[tuple[str, Any]]:
    """The pairs of lines with runs at every depth."""
    return [
        (dataset, pair)
        for dataset, of_dataset in pairs.items()
        for pair in of_dataset
        if all(pair["depths"]) and pair["drop"]
    ]


def _wins(pairs: list[tuple[str, Any]]) -> str:
    counts = [
        f"{pair['first']} is above {pair['second']} at {sum(map(is_above, pair['depths']))} and below at "
        f"{sum(map(is_below, pair['depths']))} of {len(pair['depths'])} depths on {dataset}"
        for dataset, pair in pairs
    ]
    return f"{'; '.join(counts)}." if counts else ""


def _drops(numbers: Numbers) -> str:
    texts = {
        dataset: [
            f"{line['title']}, {line['activation']}, {percent(line['drop'])}"
            for line in lines
            if line["drop"] is not None
        ]
        for dataset, lines in _shown(numbers).items()
    }
    return " ".join(f"Drops on {dataset}, in points: {'; '.join(drops)}." for dataset, drops in texts.items() if drops)


def _compared(pairs: list[tuple[str, Any]]) -> str:
    texts = [f"{pair['first']} minus {pair['second']} on {d}, {interval(pair['drop'])}" for d, pair in pairs]
    return f"Differences of the drops: {listed(texts)}." if texts else ""
