"""Beyond the paper: learned minus uniform influence of the default preset, and the program's choice between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reproduction.default_variants import CONSENSUS, DEFAULT, mixed
from reproduction.development import table_order
from reproduction.formatting import NOTHING, Numbers, decimal, interval, mean_std, percent
from reproduction.influence_measurements import INFLUENCES
from reproduction.jobs import PAPER_GRAPHS, Job, Scope, Variant
from reproduction.rendering import Table
from reproduction.results import Results, RunRecord
from reproduction.robustness import graphs, seeds_of
from reproduction.robustness_tables import METRICS, decimal_interval
from reproduction.summaries import mean_and_std, paired_t, values_by_seed

NOTE = (
    "The candidates of one search are trained with uniform influence, and the chosen ones again with the influence "
    "that these teach. Three results are made of them: *uniform* and *learned* use one influence only, *chosen* is the "
    "default, which falls back to uniform influence where learned influence is not better on held-out labels by more "
    "than a standard error. All "
    "validation labels are used for choosing (`held_out=whole`). The log loss is that of probabilities after "
    "temperature scaling on the validation nodes. *Mixed* graphs have additional random edges between classes, half as "
    "many as the original edges. Differences are paired by seed or split, with a t interval."
)
MIXED_SEEDS = 5  # at most, on mixed graphs
GROUPS = {"original": "Original graphs", "mixed": "Mixed graphs"}
DIGITS = 3


def jobs(scope: Scope) -> list[Job]:
    """One search for each graph and seed; the benchmark graphs also with additional edges."""
    return [
        Job(name, variant, seed, "influence", folder)
        for name, folder in graphs(scope).items()
        for variant, most in ((DEFAULT, scope.seeds), (mixed(DEFAULT), MIXED_SEEDS if folder is None else 0))
        if scope.selected([variant])
        for seed in seeds_of(scope, folder)[:most]
    ]


def numbers(scope: Scope, results: Results) -> dict[str, Any]:
    """The three results on every graph with runs."""
    recorded = {record.dataset for record in results.records.values()}
    names = scope.datasets or (*PAPER_GRAPHS, *sorted(recorded - set(PAPER_GRAPHS), key=table_order))
    former = Results(results.folder, "confidence")
    return {
        "original": _group(results, DEFAULT, names),
        "mixed": {
            name: {**graph, "consensus": _summary(former.runs(name, mixed(CONSENSUS)), "test_accuracy")}
            for name, graph in _group(results, mixed(DEFAULT), names).items()
        },
    }


def _group(results: Results, variant: Variant, names: tuple[str, ...]) -> dict[str, Any]:
    runs = {name: results.runs(name, variant) for name in names}
    return {name: _graph_numbers(found) for name, found in runs.items() if found}


def _graph_numbers(runs: Mapping[int, RunRecord]) -> dict[str, Any]:
    """Mean and standard deviation of every result, and the differences to uniform influence."""
    metric = "roc_auc" if values_by_seed(runs, "uniform_test_roc_auc") else "accuracy"
    names = {"test": f"test_{metric}", "validation": f"validation_{metric}", "nll": "nll"}
    return {
        "metric": metric,
        "runs": len(runs),
        "learned_share": _summary(runs, "learned_share"),
        "influences": {
            influence: {key: _summary(runs, f"{influence}_{name}") for key, name in names.items()}
            for influence in INFLUENCES
        },
        "differences": {
            influence: {key: _difference(runs, influence, name) for key, name in names.items()}
            for influence in ("learned", "chosen")
        },
    }


def _summary(runs: Mapping[int, RunRecord], name: str) -> dict[str, float | None]:
    return mean_and_std(list(values_by_seed(runs, name).values()))


def _difference(runs: Mapping[int, RunRecord], influence: str, name: str) -> dict[str, Any] | None:
    return paired_t(values_by_seed(runs, f"{influence}_{name}"), values_by_seed(runs, f"uniform_{name}"))


def tables(numbers: Numbers) -> dict[str, Table]:
    """One table for the original graphs, one for those with additional edges; none without runs."""
    return {group: _table(numbers, group) for group in GROUPS if numbers[group]}


def _table(numbers: Numbers, group: str) -> Table:
    header = [
        *("", "runs", *INFLUENCES, "learned minus uniform", "chosen minus uniform"),
        "on validation nodes: chosen minus uniform",
        *("log loss: learned minus uniform", "log loss: chosen minus uniform", "share of learned influence, %"),
        *(["`consensus`"] if group == "mixed" else []),
    ]
    caption = (
        f"{GROUPS[group]}: metric on test nodes in percent, mean ± sample standard deviation, and log loss, for each "
        "influence."
    )
    return Table(caption, header, [_row(name, graph) for name, graph in numbers[group].items()])


def _row(name: str, graph: Numbers) -> list[str]:
    differences = graph["differences"]
    return [
        f"{name} ({METRICS[graph['metric']]})",
        str(graph["runs"]),
        *(_cell(graph["influences"][influence]) for influence in INFLUENCES),
        *(interval(differences[influence]["test"]) for influence in ("learned", "chosen")),
        interval(differences["chosen"]["validation"]),
        *(decimal_interval(differences[influence]["nll"]) for influence in ("learned", "chosen")),
        percent(graph["learned_share"]["mean"]),
        *([_metric(graph["consensus"])] if "consensus" in graph else []),
    ]


def _cell(result: Numbers) -> str:
    return f"{_metric(result['test'])}, {decimal(result['nll']['mean'], DIGITS)}"


def _metric(summary: Numbers) -> str:
    return NOTHING if summary["mean"] is None else mean_std(summary)
