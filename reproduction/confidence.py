"""Beyond the paper: the quality of the confidences of the default preset, of the former default and the baselines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from confgcn.limits import MAX_SEEDS
from reproduction import influence
from reproduction.confidence_tables import tables
from reproduction.confidence_targets import TARGETS
from reproduction.default_variants import CONSENSUS, DEFAULT, DIVIDED, flipped, held_back, mixed
from reproduction.formatting import Numbers
from reproduction.jobs import PAPER_GRAPHS, Job, Scope, Variant
from reproduction.measurements import CONFIDENCE_NAMES, COVERAGES, ERRORS, SET_SCORES
from reproduction.plots import draw_pairs, new_figure
from reproduction.results import Results, RunRecord
from reproduction.summaries import mean_and_std, paired, values_by_seed
from reproduction.table2 import GAT, GCN, RELEASED, TACO

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw", "jobs", "numbers", "tables"]

NOTE = (
    "The default uses all validation labels for choosing (`held_out=whole`), as the other models do; for prediction "
    "sets and decisions half of them choose and the others certify (`held_out=divided`). Preset `consensus` is the "
    "former default. *Scaled*: one temperature, fitted on the validation nodes. *Calibrated*: the calibrator selected "
    "by cross-validation on the validation nodes (docs/confidence.md), with lower confidence in components without "
    "labels. For the baselines the scaled values are compared, as usual in the literature. *Mixed* graphs have "
    "additional random edges between classes, half as many as the original edges; the default's runs on them are those "
    "of the table of influences. Differences are paired by seed, with the confidence interval described above."
)
DATASETS = PAPER_GRAPHS
ABLATED_ON = ("citeseer", "cora", "cora_ml")  # pubmed takes as long as the three together
ABLATION_SEEDS = 5  # at most
DEFAULT_SEEDS = 3  # at most, of the default with flipped or with divided labels

UNIFORM = CONSENSUS.changed("the same, uniform influence", influence="uniform")
LP = Variant("LP", "label_propagation")
METHODS = (DEFAULT, CONSENSUS, UNIFORM, RELEASED, GCN, GAT, LP, TACO)
MIXED_METHODS = (CONSENSUS, UNIFORM, GCN, GAT)  # the default: in the table of influences
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


def jobs(scope: Scope) -> list[Job]:
    """Every method, on the original and on modified graphs, and the ablations of `consensus`."""
    compared = [*METHODS, *map(mixed, MIXED_METHODS), flipped(CONSENSUS), *map(held_back, SET_METHODS)]
    few = scope.jobs(DATASETS, [flipped(DEFAULT), DIVIDED], "confidence")
    ablations = scope.jobs(ABLATED_ON, ABLATIONS, "confidence")
    return [
        *scope.jobs(DATASETS, compared, "confidence"),
        *(job for job in few if job.seed < DEFAULT_SEEDS),
        *(job for job in ablations if job.dataset in _ablated([job.dataset]) and job.seed < ABLATION_SEEDS),
    ]


def _ablated(datasets: Sequence[str]) -> list[str]:
    return [dataset for dataset in datasets if dataset in ABLATED_ON or dataset not in DATASETS]


def numbers(scope: Scope, results: Results) -> dict[str, Any]:
    """Mean and standard deviation of every measurement, and the differences for the targets."""
    datasets = scope.datasets_or(DATASETS)
    searches = Results(results.folder, "influence")
    groups: dict[str, Sequence[Variant]] = {
        "methods": METHODS,
        "flipped": [flipped(DEFAULT), flipped(CONSENSUS)],
        "sets": [DIVIDED, *map(held_back, SET_METHODS)],
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
        "mixed": [_default_mixed(searches, datasets), *_rows(results, list(map(mixed, MIXED_METHODS)), datasets)],
        "ablations": _rows(results, ABLATIONS, _ablated(datasets), seeds=ABLATION_SEEDS),
        "influence": influence.numbers(scope, searches),
        "mixed_minus_gat": {dataset: _mixed_minus_gat(results, searches, dataset) for dataset in datasets},
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


def _default_mixed(searches: Results, datasets: Sequence[str]) -> dict[str, Any]:
    """The row of the default on mixed graphs, from the runs of the table of influences."""
    runs = {dataset: searches.runs(dataset, mixed(DEFAULT)) for dataset in datasets}
    cells = {
        dataset: {"runs": len(found), "test_accuracy": mean_and_std(list(_chosen(found).values()))} if found else None
        for dataset, found in runs.items()
    }
    return {"title": DEFAULT.title, "cells": cells}


def _chosen(runs: Mapping[int, RunRecord]) -> dict[int, float]:
    return values_by_seed(runs, "chosen_test_accuracy")


def _mixed_minus_gat(results: Results, searches: Results, dataset: str) -> dict[str, Any] | None:
    """The paired difference of accuracies on the mixed graph."""
    own = _chosen(searches.runs(dataset, mixed(DEFAULT)))
    return paired(own, values_by_seed(results.runs(dataset, mixed(GAT)), "test_accuracy"))


def draw(numbers: Numbers) -> Figure:
    """Learned and uniform influence of the default, on the original and on mixed graphs."""
    figure, (axes,) = new_figure(rows=1, columns=2)
    names = list(numbers["datasets"])
    for axis, (group, title) in zip(axes, influence.GROUPS.items(), strict=True):
        found = numbers["influence"][group]
        lines = {
            f"{kind} influence": [found[name]["influences"][kind]["test"] if name in found else None for name in names]
            for kind in ("learned", "uniform")
        }
        draw_pairs(axis, names, lines)
        axis.set_title(title.lower())
    axes[0].legend(frameon=False, loc="upper left", fontsize=7)
    return figure
