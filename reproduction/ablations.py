"""Beyond the paper: the default preset without one of its parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from reproduction.default_variants import DEFAULT
from reproduction.development import development_graphs
from reproduction.formatting import NOTHING, Numbers, decimal, interval, mean_std
from reproduction.influence_measurements import SINGLE
from reproduction.jobs import Job, Kind, Scope
from reproduction.rendering import Table
from reproduction.results import Results, RunRecord
from reproduction.robustness import seeds_of
from reproduction.robustness_tables import METRICS
from reproduction.summaries import mean_and_std, paired_t, values_by_seed

NOTE = (
    "Each change applies to all candidates of the search. Without the label channel there is still the candidate that "
    "propagates labels alone. All validation labels are used for choosing (`held_out=whole`). Log losses are of the "
    "calibrated probabilities of the run itself. The best candidate alone, with uniform influence, is taken from the "
    "runs of the table of influences; its log loss is after temperature scaling on the validation nodes. Differences "
    "are paired by seed or split, with a t interval."
)
GRAPHS = ("cora", "pubmed", "amazon_photo", "minesweeper")
SEEDS = 3  # at most
ABLATIONS = (
    DEFAULT,
    DEFAULT.changed("uniform influence", influence="uniform"),
    DEFAULT.changed("without L_const", lambda_const=0.0),
    DEFAULT.changed("without sharpening", sharpening=1.0),
    DEFAULT.changed("without random views", view_size=0),
    DEFAULT.changed("without the label channel", label_channel=False),
    DEFAULT.changed("summed features only", channels="summed"),
    DEFAULT.changed("own features only", channels="own"),
)
ALONE = "the best candidate alone"
DIGITS = 3


def jobs(scope: Scope) -> list[Job]:
    """Every ablation on every graph; graphs of the development folder where it is given."""
    folders, few = development_graphs(scope.development), replace(scope, seeds=min(scope.seeds, SEEDS))
    kind: Kind = "validation" if scope.validation_only else "robustness"
    names = scope.datasets or [name for name in GRAPHS if name in folders or name in ("cora", "pubmed")]
    return [
        Job(name, variant, seed, kind, folders.get(name))
        for name in names
        for variant in scope.selected(ABLATIONS)
        for seed in seeds_of(few, folders.get(name))
    ]


def numbers(scope: Scope, results: Results) -> dict[str, Any]:
    """Metric and log loss of every ablation on every graph, and the differences to the default."""
    runs = Results(results.folder, "validation") if scope.validation_only else results
    single = Results(results.folder, "influence")
    nodes = "validation" if scope.validation_only else "test"
    return {
        "nodes": nodes,
        "titles": [*(variant.title for variant in ABLATIONS), ALONE],
        "graphs": {name: _graph_numbers(runs, single, name, nodes) for name in scope.datasets_or(GRAPHS)},
    }


def _graph_numbers(results: Results, single: Results, name: str, nodes: str) -> dict[str, Any]:
    found = {variant.title: results.runs(name, variant) for variant in ABLATIONS}
    seeds = _common_seeds(found)
    metric = "roc_auc" if values_by_seed(found[DEFAULT.title], "validation_roc_auc") else "accuracy"
    names = {"metric": f"{nodes}_{metric}", "nll": "nll", "validation": f"validation_{metric}"}
    values = {
        title: {key: _values(runs, column, seeds) for key, column in names.items()} for title, runs in found.items()
    }
    alone = {} if nodes == "validation" else single.runs(name, DEFAULT)
    values[ALONE] = {key: _values(alone, f"{SINGLE}_{column}", seeds) for key, column in names.items()}
    own = values[DEFAULT.title]
    return {
        "metric": metric,
        "seeds": seeds,
        "variants": {
            title: {
                **{key: mean_and_std(list(of_seed.values())) for key, of_seed in columns.items()},
                "difference": None if title == DEFAULT.title else paired_t(columns["metric"], own["metric"]),
            }
            for title, columns in values.items()
        },
    }


def _common_seeds(found: Mapping[str, Mapping[int, RunRecord]]) -> list[int]:
    """The first seeds that every ablation has, so that all means are over the same runs."""
    shared = set.intersection(*(set(runs) for runs in found.values() if runs)) if any(found.values()) else set()
    return sorted(shared)[:SEEDS]


def _values(runs: Mapping[int, RunRecord], name: str, seeds: list[int]) -> dict[int, float]:
    return {seed: value for seed, value in values_by_seed(runs, name).items() if seed in seeds}


def tables(numbers: Numbers) -> dict[str, Table]:
    """One table; none without runs."""
    graphs = numbers["graphs"]
    if not any(graph["seeds"] for graph in graphs.values()):
        return {}
    header = ["", *(f"{name} ({METRICS[graph['metric']]})" for name, graph in graphs.items())]
    rows = [[title, *(_cell(graph["variants"][title]) for graph in graphs.values())] for title in numbers["titles"]]
    caption = (
        f"Ablations of the default: metric on {numbers['nodes']} nodes in percent, mean ± sample standard deviation; "
        "difference to the default; calibrated log loss; metric on validation nodes."
    )
    return {"ablations": Table(caption, header, rows)}


def _cell(variant: Numbers) -> str:
    if variant["metric"]["mean"] is None:
        return NOTHING
    difference = interval(variant["difference"])
    log_loss = decimal(variant["nll"]["mean"], DIGITS)
    return f"{mean_std(variant['metric'])} / {difference} / {log_loss} / {mean_std(variant['validation'])}"
