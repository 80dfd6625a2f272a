"""Beyond the paper: the quality of the confidences of the default preset, its ablations and the baselines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from confgcn.limits import MAX_SEEDS
from reproduction.confidence_targets import TARGETS, mean_in, target_table
from reproduction.formatting import NOTHING, Numbers, decimal, interval, listed, mean_std, percent
from reproduction.jobs import PAPER_GRAPHS, Job, Scope, Variant
from reproduction.measurements import CONFIDENCE_NAMES, COVERAGES, ERRORS, SET_SCORES
from reproduction.plots import draw_pairs, new_figure
from reproduction.rendering import Table
from reproduction.results import Results, RunRecord
from reproduction.summaries import mean_and_std, paired, values_by_seed
from reproduction.table2 import GAT, GCN, RELEASED, TACO

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOTE = (
    "Preset `consensus` is the default. *Scaled*: one temperature, fitted on the validation nodes. *Calibrated*: the "
    "calibrator selected by cross-validation on the validation nodes (docs/confidence.md), with lower confidence in "
    "components without labels. For the baselines the scaled values are compared, as usual in the literature. *Mixed* "
    "graphs have additional random edges between classes, half as many as the original edges. Differences are paired "
    "by seed, with the confidence interval described above."
)
DATASETS = PAPER_GRAPHS
ABLATED_ON = ("citeseer", "cora", "cora_ml")  # pubmed takes as long as the three together
ABLATION_SEEDS = 5  # at most
NEW_EDGES, FLIPPED_LABELS, HELD_BACK = 0.5, 0.1, 0.5  # shares

CONSENSUS = Variant("ConfGCN `consensus`", "confgcn", "consensus")
UNIFORM = CONSENSUS.changed("the same, uniform influence", influence="uniform")
LP = Variant("LP", "label_propagation")
METHODS = (CONSENSUS, UNIFORM, RELEASED, GCN, GAT, LP, TACO)
MIXED_METHODS = (CONSENSUS, UNIFORM, GCN, GAT)
SET_METHODS = (CONSENSUS, GCN, GAT, LP, TACO)
ABLATIONS = (
    CONSENSUS,
    CONSENSUS.changed("influence c / (d_M + c)", influence="distance"),
    CONSENSUS.changed("softmax normalisation over N(v)", influence="softmax"),
    CONSENSUS.changed("one step", steps=1),
    CONSENSUS.changed("without node dropout", node_dropout=0.0),
    CONSENSUS.changed("without sharpening (temperature of mu)", mu_temperature=1.0),
    CONSENSUS.changed("prediction without the consensus", consensus_share=0.0),
    CONSENSUS.changed("without L_const", lambda_const=0.0),
    CONSENSUS.changed("without L_label", lambda_label=0.0),
    CONSENSUS.changed("without L_smooth", lambda_smooth=0.0),
    CONSENSUS.changed("L_smooth over all edges", smooth_over="edges"),
    CONSENSUS.changed("without L_reg", lambda_reg=0.0),
    CONSENSUS.changed("mu and precision at the learning rate of the weights", confidence_learning_rate=None),
)
COLUMNS = (
    ("accuracy, %", "test_accuracy", percent),
    ("with uniform influences, %", "uniform_accuracy", percent),
    ("log loss, raw", "nll", decimal),
    ("scaled", "scaled_nll", decimal),
    ("calibrated", "calibrated_nll", decimal),
    ("Brier score, scaled", "scaled_brier", decimal),
    ("calibrated", "calibrated_brier", decimal),
    ("ECE, scaled, %", "scaled_ece", percent),
    ("noise floor, %", "scaled_ece_floor", percent),
    ("AUROC of the confidence, scaled", "scaled_auroc_correct", decimal),
    ("calibrated", "calibrated_auroc_correct", decimal),
    ("AURC, calibrated", "calibrated_aurc", decimal),
    ("AUROC of the precision", "auroc_precision", decimal),
)


def mixed(variant: Variant) -> Variant:
    """On a graph with additional random edges between classes."""
    return variant.changed(variant.title, edges_between_classes=NEW_EDGES)


def flipped(variant: Variant) -> Variant:
    """On a graph with flipped training labels."""
    return variant.changed(variant.title, flipped_labels=FLIPPED_LABELS)


def held_back(variant: Variant) -> Variant:
    """Selected and calibrated on only a share of the validation nodes."""
    return variant.changed(variant.title, held_back_validation=HELD_BACK)


def jobs(scope: Scope) -> list[Job]:
    """Every method, on the original and on modified graphs, and the ablations."""
    compared = [*METHODS, *map(mixed, MIXED_METHODS), flipped(CONSENSUS), *map(held_back, SET_METHODS)]
    ablations = scope.jobs(ABLATED_ON, ABLATIONS, "confidence")
    return [
        *scope.jobs(DATASETS, compared, "confidence"),
        *(job for job in ablations if job.dataset in _ablated([job.dataset]) and job.seed < ABLATION_SEEDS),
    ]


def _ablated(datasets: Sequence[str]) -> list[str]:
    return [dataset for dataset in datasets if dataset in ABLATED_ON or dataset not in DATASETS]


def numbers(scope: Scope, results: Results) -> dict[str, Any]:
    """Mean and standard deviation of every measurement, and the paired differences for the targets."""
    datasets = scope.datasets_or(DATASETS)
    groups: dict[str, Sequence[Variant]] = {
        "methods": METHODS,
        "mixed": [mixed(variant) for variant in MIXED_METHODS],
        "flipped": [flipped(CONSENSUS)],
        "sets": [held_back(variant) for variant in SET_METHODS],
    }
    return {
        "datasets": list(datasets),
        "ablated_on": _ablated(datasets),
        "set_scores": list(SET_SCORES),
        "coverages": list(COVERAGES),
        "errors": list(ERRORS),
        "runs": len(results.records),
        "dates": sorted({record.date for record in results.records.values()}),
        "targets": TARGETS,
        **{name: _rows(results, variants, datasets) for name, variants in groups.items()},
        "ablations": _rows(results, ABLATIONS, _ablated(datasets), seeds=ABLATION_SEEDS),
        "uniform_trained_accuracy": {d: _cell(results.runs(d, UNIFORM), ("test_accuracy",)) for d in datasets},
        "differences": {dataset: _differences(results, dataset) for dataset in datasets},
    }


def _rows(
    results: Results, variants: Sequence[Variant], datasets: Sequence[str], *, seeds: int = MAX_SEEDS
) -> list[dict[str, Any]]:
    def runs(dataset: str, variant: Variant) -> dict[int, RunRecord]:
        return {seed: record for seed, record in results.runs(dataset, variant).items() if seed < seeds}

    return [{"title": v.title, "cells": {d: _cell(runs(d, v)) for d in datasets}} for v in variants]


def _cell(runs: Mapping[int, RunRecord], names: Sequence[str] = CONFIDENCE_NAMES) -> dict[str, Any] | None:
    """Mean and standard deviation of every measurement that some run has, and the number of runs."""
    if not runs:
        return None
    columns = {name: list(values_by_seed(runs, name).values()) for name in names}
    for score, level in product(SET_SCORES, COVERAGES):
        worst = columns.get(f"worst_by_degree_{score}_{level}", [])
        columns[f"deviation_{score}_{level}"] = [abs(coverage - level / 100) for coverage in worst]
    return {"runs": len(runs), **{name: mean_and_std(values) for name, values in columns.items() if values}}


def _differences(results: Results, dataset: str) -> dict[str, Any]:
    """Paired differences of `consensus` to other variants."""

    def between(first: Variant, second: Variant, name: str, second_name: str | None = None) -> dict[str, Any] | None:
        values = values_by_seed(results.runs(dataset, first), name)
        return paired(values, values_by_seed(results.runs(dataset, second), second_name or name))

    return {
        "released": between(CONSENSUS, RELEASED, "test_accuracy"),
        "uniform": between(CONSENSUS, UNIFORM, "test_accuracy"),
        "mixed_uniform": between(mixed(CONSENSUS), mixed(UNIFORM), "test_accuracy"),
        "mixed_gat": between(mixed(CONSENSUS), mixed(GAT), "test_accuracy"),
        "mu": between(CONSENSUS, CONSENSUS, "mu_accuracy", "test_accuracy"),
        **{
            f"{name}_{other.method}": between(CONSENSUS, other, f"calibrated_{name}", f"scaled_{name}")
            for name in ("auroc_correct", "nll", "brier")
            for other in (GCN, GAT)
        },
    }


def tables(numbers: Numbers) -> dict[str, Table]:
    """The targets, then every group of runs."""
    return {
        "targets": target_table(numbers),
        "comparison": _comparison(numbers),
        **{f"methods {dataset}": _methods(numbers, dataset) for dataset in numbers["datasets"]},
        "mixed": _mixed(numbers),
        "sets": _sets(numbers),
        "set scores": _set_scores(numbers),
        "decisions": _decisions(numbers),
        "ablations": _ablations(numbers),
    }


def _methods(numbers: Numbers, dataset: str) -> Table:
    rows = [
        [row["title"], *(write(mean_in(row["cells"][dataset], name)) for _, name, write in COLUMNS)]
        for row in numbers["methods"]
    ]
    return Table(f"{dataset}: every method, means over seeds.", ["", *(title for title, *_ in COLUMNS)], rows)


def _comparison(numbers: Numbers) -> Table:
    """Accuracy and calibration error of the default and of two common models, without and with calibration."""
    cells = {row["title"]: row["cells"] for row in numbers["methods"]}
    rows = [
        ("ConfGCN (default), calibrated", CONSENSUS, "calibrated_ece"),
        ("GAT, calibrated", GAT, "calibrated_ece"),
        ("Kipf-GCN, calibrated", GCN, "calibrated_ece"),
        ("GAT, softmax", GAT, "ece"),
        ("Kipf-GCN, softmax", GCN, "ece"),
    ]
    return Table(
        "Accuracy and calibration: test accuracy / expected calibration error, in percent.",
        ["", *numbers["datasets"]],
        [
            [title, *(_accuracy_and_error(cells[variant.title][dataset], error) for dataset in numbers["datasets"])]
            for title, variant, error in rows
        ],
    )


def _accuracy_and_error(cell: Numbers | None, error: str) -> str:
    return NOTHING if cell is None else f"{mean_std(cell['test_accuracy'])} / {percent(mean_in(cell, error))}"


def _mixed(numbers: Numbers) -> Table:
    rows = [
        [row["title"], *(NOTHING if c is None else mean_std(c["test_accuracy"]) for c in row["cells"].values())]
        for row in numbers["mixed"]
    ]
    edges = [decimal(mean_in(cell, "auroc_edge")) for cell in numbers["mixed"][0]["cells"].values()]
    over = [interval(numbers["differences"][dataset]["mixed_gat"]) for dataset in numbers["datasets"]]
    rows += [["`consensus` minus GAT", *over], ["AUROC of its influence for edges between equal labels", *edges]]
    return Table("Mixed graphs: test accuracy in percent.", ["", *numbers["datasets"]], rows)


def _sets(numbers: Numbers) -> Table:
    score, level = numbers["set_scores"][0], numbers["coverages"][0]
    names = [f"coverage_{score}_{level}", f"size_{score}_{level}", f"worst_by_degree_{score}_{level}"]
    caption = (
        f"Prediction sets at {level} % ({score} score): coverage, mean size, and coverage of the worst degree group "
        "when every group has its own quantile."
    )
    return _joined(caption, numbers["datasets"], numbers["sets"], names, (percent, decimal, percent))


def _set_scores(numbers: Numbers) -> Table:
    own = numbers["sets"][0]["cells"]
    rows = []
    for level, score in product(numbers["coverages"], numbers["set_scores"]):
        names = (f"coverage_{score}_{level}", f"size_{score}_{level}")
        cells = [_join(cell, names, (percent, decimal)) for cell in own.values()]
        rows.append([f"{score}, {level} %", *cells])
    return Table("Prediction sets of `consensus` by score: coverage and mean size.", ["", *own], rows)


def _decisions(numbers: Numbers) -> Table:
    own = numbers["methods"][0]["cells"]
    quantities = {"accepted": "test nodes accepted, %", "error": "wrong among them, %"}
    rows = [
        [f"at most {level} % wrong: {title}", *(percent(mean_in(c, f"{name}_{level}")) for c in own.values())]
        for level, (name, title) in product(numbers["errors"], quantities.items())
    ]
    return Table("Decisions of `consensus`, certified on the validation nodes.", ["", *own], rows)


def _ablations(numbers: Numbers) -> Table:
    names = ("test_accuracy", "mu_accuracy", "calibrated_nll", "auroc_edge")
    cells = [cell for row in numbers["ablations"] for cell in row["cells"].values() if cell]
    seeds = sorted({str(cell["runs"]) for cell in cells}) or ["no"]
    caption = (
        f"Ablations of `consensus`, {listed(seeds)} seeds: accuracy of the prediction, accuracy of the argmax of mu, "
        "calibrated log loss, AUROC of the influence."
    )
    formats = (percent, percent, lambda value: decimal(value, 3), decimal)
    return _joined(caption, numbers["ablated_on"], numbers["ablations"], names, formats)


def _joined(
    caption: str,
    datasets: Sequence[str],
    rows: Sequence[Numbers],
    names: Sequence[str],
    formats: Sequence[Callable[[float | None], str]],
) -> Table:
    """Several measurements in every cell, separated by slashes."""
    cells = [[row["title"], *(_join(cell, names, formats) for cell in row["cells"].values())] for row in rows]
    return Table(caption, ["", *datasets], cells)


def _join(cell: Numbers | None, names: Sequence[str], formats: Sequence[Callable[[float | None], str]]) -> str:
    return " / ".join(write(mean_in(cell, name)) for name, write in zip(names, formats, strict=True))


def draw(numbers: Numbers) -> Figure:
    """Learned and uniform influence, on the original and on mixed graphs."""
    figure, (axes,) = new_figure(rows=1, columns=2)
    names = list(numbers["datasets"])
    for axis, group, title in zip(axes, ("methods", "mixed"), ("original graphs", "mixed graphs"), strict=True):
        cells = [row["cells"] for row in numbers[group][:2]]
        accuracies = [[None if c[name] is None else c[name]["test_accuracy"] for name in names] for c in cells]
        draw_pairs(axis, names, dict(zip(("learned influence", "uniform influence"), accuracies, strict=True)))
        axis.set_title(title)
    axes[0].legend(frameon=False, loc="upper left", fontsize=7)
    return figure
