"""Beyond the paper: the default preset against common models, on the benchmark graphs and on graphs of other kinds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reproduction.default_variants import DEFAULT
from reproduction.development import design_splits, development_graphs, report_splits, table_order
from reproduction.formatting import Numbers
from reproduction.jobs import PAPER_GRAPHS, Job, Kind, Scope, Variant
from reproduction.peers import COMPONENTS, FeatureClassifier
from reproduction.rendering import Table
from reproduction.results import Results, RunRecord
from reproduction.robustness_tables import (
    confidence_table,
    metric_table,
    other_graphs_table,
    scaling_table,
    seconds_table,
)
from reproduction.summaries import mean_and_std, mean_of, paired_t, values_by_seed
from reproduction.table2 import GAT

NOTE = (
    "The default preset is run as `confgcn train` runs it, with all validation labels used for choosing, as the "
    "other models use them (`held_out=whole`); nothing is certified. Every other model gets one feature scaling per "
    "graph: the one with the lowest validation log loss on the first split. All models choose their epoch or their "
    "settings on the validation nodes. Logistic regression uses the features only. Gradient boosting uses features, "
    f"their means over the neighbours and log degree; more than {COMPONENTS} features are first reduced to "
    f"{COMPONENTS} by a truncated singular value decomposition. GAT is run on the benchmark graphs only. The best "
    "peer of a graph is the one with the best mean validation metric. Differences are paired by seed or split, with "
    "a t interval. Graphs of the development folder are evaluated on the second half of their splits; settings were "
    "designed on the first half. Probabilities are calibrated: those of the default by the run itself, the others "
    "by temperature scaling on the validation nodes. CPU seconds are those of one thread for a whole run, "
    "reading and writing included (for the classifiers of scikit-learn: for fitting), without the choice of the "
    "feature scaling; those of the default include its search for settings."
)

SCALINGS = ("rows", "unit", "columns", "none")
# One rule for every metric: accuracies on validation nodes can all be equal where one class is frequent.
ON_VALIDATION = {"epochs": 1000, "stop": "no_improvement", "patience": 100, "select": "best_validation_loss"}
PEERS = (
    Variant("GCN", "gcn").changed("GCN", **ON_VALIDATION),
    GAT,
    Variant("APPNP", "appnp").changed("APPNP", **ON_VALIDATION),
    Variant("SAGE", "sage"),
    Variant("MLP", "mlp"),
    FeatureClassifier("logistic regression", "logistic_regression"),
    FeatureClassifier("gradient boosting", "gradient_boosting"),
)
TITLES = [variant.title for variant in (DEFAULT, *PEERS)]
CONFIDENCES = ("nll", "brier", "auroc_correct", "aurc")


def graphs(scope: Scope) -> dict[str, Path | None]:
    """The graphs of a scope, each with its folder in the development format; None for a built-in data set."""
    development = development_graphs(scope.development)
    names = scope.datasets_or((*PAPER_GRAPHS, *development))
    return {name: development.get(name) for name in names}


def jobs(scope: Scope) -> list[Job]:
    """The default on every split, and the runs that choose the feature scalings of the peers.

    These are every peer with every feature scaling on the first split, measured on validation nodes only.
    """
    found = graphs(scope)
    scalings = [
        Job(name, scaled(peer, scaling), 0, "validation", folder)
        for name, folder in found.items()
        for peer in scope.selected(_peers_on(folder))
        for scaling in SCALINGS
    ]
    own = [job for name, folder in found.items() for job in _on_every_split(scope, name, folder, [DEFAULT])]
    return [*scalings, *own]


def later_jobs(scope: Scope, results: Results) -> list[Job]:
    """Every peer with its chosen feature scaling, on every split."""
    validation = Results(results.folder, "validation")
    return [
        job
        for name, folder in graphs(scope).items()
        for job in _on_every_split(scope, name, folder, chosen_peers(_peers_on(folder), validation, name))
    ]


def _on_every_split(scope: Scope, name: str, folder: Path | None, variants: Sequence[Variant]) -> list[Job]:
    kind: Kind = "validation" if scope.validation_only else "robustness"
    seeds = seeds_of(scope, folder)
    return [Job(name, variant, seed, kind, folder) for variant in scope.selected(variants) for seed in seeds]


def seeds_of(scope: Scope, folder: Path | None) -> Sequence[int]:
    """Seeds from zero on; the numbers of splits for a graph of the development folder."""
    if folder is None:
        return range(scope.seeds)
    splits = design_splits(folder) if scope.validation_only else report_splits(folder)
    return splits[: scope.seeds]


def scaled(peer: Variant, scaling: str) -> Variant:
    """A peer with a feature scaling."""
    return peer.changed(peer.title, feature_scaling=scaling)


def chosen_peers(peers: Sequence[Variant], validation: Results, dataset: str) -> list[Variant]:
    """Each peer with the feature scaling of the lowest validation log loss on the first split, ties as listed.

    A peer without a recorded run is left out.
    """
    chosen = []
    for peer in peers:
        losses: dict[str, float] = {}
        for scaling in SCALINGS:
            first = validation.runs(dataset, scaled(peer, scaling)).get(0)
            loss = None if first is None else first.measured.get("validation_log_loss")
            if loss is not None:
                losses[scaling] = loss
        if losses:
            chosen.append(scaled(peer, min(losses, key=losses.__getitem__)))
    return chosen


def _peers_on(folder: Path | None) -> list[Variant]:
    return [peer for peer in PEERS if folder is None or peer is not GAT]


def numbers(scope: Scope, results: Results) -> dict[str, Any]:
    """The comparison on validation nodes and, unless the scope leaves them out, on test nodes."""
    validation = Results(results.folder, "validation")
    shown = {"validation": validation} if scope.validation_only else {"validation": validation, "test": results}
    return {"titles": TITLES, **{name: _comparison(scope, runs, validation) for name, runs in shown.items()}}


def _comparison(scope: Scope, results: Results, validation: Results) -> dict[str, Any]:
    """For every graph with runs: the summary of each model, the best peers and the differences to them."""
    recorded = {record.dataset for record in results.records.values()}
    names = scope.datasets or (*PAPER_GRAPHS, *sorted(recorded - set(PAPER_GRAPHS), key=table_order))
    return {name: _graph_numbers(scope, results, validation, name) for name in names if name in recorded}


def _graph_numbers(scope: Scope, results: Results, validation: Results, name: str) -> dict[str, Any]:
    variants = [DEFAULT, *chosen_peers(PEERS, validation, name)]
    runs = {variant.title: results.runs(name, variant) for variant in scope.selected(variants)}
    runs = {title: found for title, found in runs.items() if found}
    is_binary = any(values_by_seed(found, "validation_roc_auc") for found in runs.values())
    metric = "roc_auc" if is_binary else "accuracy"
    peers = {title: found for title, found in runs.items() if title != DEFAULT.title}
    best = _best(peers, f"validation_{metric}", sign=1)
    sharpest = _best(peers, "validation_log_loss", sign=-1)
    own = runs.get(DEFAULT.title, {})
    return {
        "metric": metric,
        "scalings": {v.title: dict(v.changes).get("feature_scaling") for v in variants if v.title in peers},
        "models": {title: _summary(found, metric) for title, found in runs.items()},
        "best_peer": best,
        "best_peer_by_log_loss": sharpest,
        "test_difference": _difference(own, peers.get(best or "", {}), f"test_{metric}"),
        "validation_difference": _difference(own, peers.get(best or "", {}), f"validation_{metric}"),
        **{f"{score}_difference": _difference(own, peers.get(sharpest or "", {}), score) for score in ("nll", "brier")},
    }


def _best(runs: Mapping[str, Mapping[int, RunRecord]], name: str, *, sign: int) -> str | None:
    """The model with the highest (``sign`` 1) or lowest (-1) mean of a measurement; the first of equals."""
    means = {title: mean_of(found, name) for title, found in runs.items()}
    known = {title: sign * mean for title, mean in means.items() if mean is not None}
    return max(known, key=known.__getitem__) if known else None


def _summary(runs: Mapping[int, RunRecord], metric: str) -> dict[str, Any]:
    """Mean and standard deviation over the runs; ``test`` and ``validation`` are those of the metric."""
    names = ("validation_log_loss", "balanced_accuracy", *CONFIDENCES, "processor_seconds")
    columns = {"test": f"test_{metric}", "validation": f"validation_{metric}", **{name: name for name in names}}
    return {
        "runs": len(runs),
        **{key: mean_and_std(list(values_by_seed(runs, name).values())) for key, name in columns.items()},
    }


def _difference(own: Mapping[int, RunRecord], other: Mapping[int, RunRecord], name: str) -> dict[str, Any] | None:
    return paired_t(values_by_seed(own, name), values_by_seed(other, name))


def other_graphs(numbers: Numbers) -> Table | None:
    """The default beside the best peer on graphs that are not the paper's; None without runs on them."""
    names = _other_names(numbers)
    return other_graphs_table(numbers, names) if names else None


def splits(numbers: Numbers) -> int:
    """The largest number of splits of a graph that is not the paper's."""
    models = [model for name in _other_names(numbers) for model in numbers["test"][name]["models"].values()]
    return max((model["runs"] for model in models), default=0)


def _other_names(numbers: Numbers) -> list[str]:
    return [name for name in numbers.get("test", {}) if name not in PAPER_GRAPHS]


def tables(numbers: Numbers) -> dict[str, Table]:
    """The comparison on test nodes, then the one on validation nodes; none without runs."""
    found: dict[str, Table] = {}
    if numbers.get("test"):
        found |= {
            "metric": metric_table(numbers, "test"),
            "confidences": confidence_table(numbers, CONFIDENCES),
            "seconds": seconds_table(numbers),
            "scalings": scaling_table(numbers, "test"),
        }
    elif numbers["validation"]:
        found |= {"validation": metric_table(numbers, "validation"), "scalings": scaling_table(numbers, "validation")}
    return found
