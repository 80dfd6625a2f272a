"""Claims in the text of the paper about influences and confidences, checked on the runs of Table 2."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch

from confgcn.graph import Graph
from confgcn.ops import edge_distance
from reproduction.formatting import NOTHING, Numbers, decimal, interval, listed, percent, preset_of
from reproduction.jobs import PAPER_GRAPHS, Job, Scope, Variant
from reproduction.rendering import FAILS, HOLDS, ClaimCheck, Table, outcome_of
from reproduction.results import Results
from reproduction.summaries import all_satisfy, group_cells, is_below, mean_of, paired_difference
from reproduction.table2 import GAT, GCN, GGNN, GPNN, PAPER, RELEASED

NOTE = (
    "Means over the runs of Table 2. Relative influences are divided by the mean of the neighbourhood. "
    "AUROC: 0.5 = random."
)
DATASETS = PAPER_GRAPHS
VARIANTS = (RELEASED, PAPER)
MEASURED = (
    "test_accuracy",
    "accuracy_made_uniform",
    "changed_by_uniform",
    "neighbours",
    "effective_neighbours",
    "influence_deviation",
    "auroc_influence",
    "auroc_probability",
    "auroc_precision",
    "mu_accuracy",
)
PAIRS = {
    f"{first.title} minus {second.title}": (first, second) for first, second in ((GAT, GCN), (GPNN, GCN), (GPNN, GGNN))
}
PRECISIONS = (0.1, 1.0, 10.0)  # of the neighbour in the example
SEPARATES = 0.7  # AUROC from which a quantity separates two groups
FEWER = 0.9  # effective neighbours over neighbours, below which they are fewer
COLLAPSE = -0.05  # points of accuracy

ROWS: tuple[tuple[str, Callable[[Any], str]], ...] = (
    ("neighbours, including the node", lambda m: decimal(m["neighbours"])),
    ("effective neighbours, 1 / sum of squared influences", lambda m: decimal(m["effective_neighbours"])),
    ("mean absolute deviation of the relative influence, %", lambda m: percent(m["influence_deviation"], 2)),
    ("AUROC of the influence for edges between equal labels", lambda m: decimal(m["auroc_influence"])),
    ("relative influence of the least precise quartile of neighbours", lambda m: _group(m, 0)),
    ("relative influence of the most precise quartile", lambda m: _group(m, -1)),
    ("predictions changed by uniform influences", lambda m: decimal(m["changed_by_uniform"], 1)),
    ("test accuracy, %", lambda m: percent(m["test_accuracy"])),
    ("test accuracy of the trained model with uniform influences, %", lambda m: percent(m["accuracy_made_uniform"])),
    ("accuracy of the argmax of mu, %", lambda m: percent(m["mu_accuracy"])),
    ("AUROC of the precision for correct predictions", lambda m: decimal(m["auroc_precision"])),
    ("AUROC of the probability for correct predictions", lambda m: decimal(m["auroc_probability"])),
)


def jobs(scope: Scope) -> list[Job]:
    """Runs of Table 2."""
    return scope.jobs(DATASETS, dict.fromkeys([*VARIANTS, *(variant for pair in PAIRS.values() for variant in pair)]))


def numbers(scope: Scope, results: Results) -> dict[str, Any]:
    """Means over the runs per data set and preset, and an example of the printed formula."""
    datasets = scope.datasets_or(DATASETS)
    return {
        "datasets": {
            dataset: {v.title: _means(results, dataset, v) for v in scope.selected(VARIANTS)} for dataset in datasets
        },
        "pairs": {
            dataset: {
                name: paired_difference(results.runs(dataset, first), results.runs(dataset, second))
                for name, (first, second) in PAIRS.items()
            }
            for dataset in datasets
        },
        "printed_influence": [{"precision": value, "influence": printed_influence(value)} for value in PRECISIONS],
    }


def printed_influence(precision: float) -> float:
    """r = 1 / d_M of a neighbour with scores (3/4, 1/4), for a node with scores (1/4, 3/4) and precision one."""
    pair = Graph.build([(0, 1)], torch.eye(2).numpy(), [0, 1])
    mu = torch.tensor([[0.75, 0.25], [0.25, 0.75]])
    precisions = torch.tensor([[precision, precision], [1.0, 1.0]])
    between = pair.adjacency.indices != pair.adjacency.rows
    return float(1.0 / edge_distance(pair.adjacency, mu, precisions)[between][0])


def _means(results: Results, dataset: str, variant: Variant) -> dict[str, Any] | None:
    runs = results.runs(dataset, variant)
    if not runs:
        return None
    by_precision = [group["mean"] for group in group_cells(runs, "influence_by_precision")]
    return {**{name: mean_of(runs, name) for name in MEASURED}, "influence_by_precision": by_precision}


def tables(numbers: Numbers) -> dict[str, Table]:
    """One table per preset."""
    titles = list(dict.fromkeys(title for columns in numbers["datasets"].values() for title in columns))
    return {preset_of(title): _table(numbers, title) for title in titles}


def _table(numbers: Numbers, title: str) -> Table:
    columns = {dataset: by_title.get(title) for dataset, by_title in numbers["datasets"].items()}
    rows = [[name, *(NOTHING if c is None else write(c) for c in columns.values())] for name, write in ROWS]
    return Table(f"{title}: influences and confidences, means over the runs.", ["", *columns], rows)


def _group(means: Numbers, group: int) -> str:
    return decimal(means["influence_by_precision"][group], 3) if means["influence_by_precision"] else NOTHING


def check_claims(numbers: Numbers) -> list[ClaimCheck]:
    """One check for each claim."""
    return [
        ClaimCheck(
            "Influence is label-specific.",
            FAILS,
            "By its equation an influence is one number per edge, the same for every label.",
        ),
        _same_label(numbers),
        _effective_neighbours(numbers),
        _printed_formula(numbers),
        _trained_models(numbers),
        _lower(numbers, "GAT is below Kipf-GCN on Cora-ML.", ("GAT minus Kipf-GCN",), is_below),
        _lower(numbers, "GPNN collapses on Cora-ML.", ("GPNN minus Kipf-GCN", "GPNN minus GGNN"), is_collapse),
        _precision(numbers),
    ]


def is_collapse(difference: Numbers | None) -> bool:
    """Below by more than a few points?"""
    return difference is not None and is_below(difference) and bool(difference["mean"] < COLLAPSE)


def _measured(numbers: Numbers, name: str) -> dict[str, Any]:
    """A measurement for every data set and preset that has it."""
    values = {
        f"{dataset} ({preset_of(title)})": means[name]
        for dataset, columns in numbers["datasets"].items()
        for title, means in columns.items()
        if means is not None
    }
    return {where: value for where, value in values.items() if value is not None}


def _same_label(numbers: Numbers) -> ClaimCheck:
    aurocs = _measured(numbers, "auroc_influence")
    values = [f"{decimal(value)} on {where}" for where, value in aurocs.items()]
    evidence = f"Its AUROC for edges between equal labels (at least {SEPARATES} required) is {listed(values)}."
    outcome = outcome_of([value >= SEPARATES for value in aurocs.values()])
    return ClaimCheck("Neighbours of the same label have more influence.", outcome, evidence if values else "")


def _effective_neighbours(numbers: Numbers) -> ClaimCheck:
    sizes = _measured(numbers, "neighbours")
    effective = _measured(numbers, "effective_neighbours")
    values = [f"{decimal(effective[where])} of {decimal(size)} on {where}" for where, size in sizes.items()]
    outcome = outcome_of([effective[where] < FEWER * size for where, size in sizes.items()])
    evidence = f"Effective neighbours (below {percent(FEWER, 0)} % required): {listed(values)}." if values else ""
    return ClaimCheck("Confidences reduce the number of effective neighbours.", outcome, evidence)


def _printed_formula(numbers: Numbers) -> ClaimCheck:
    example = numbers["printed_influence"]
    rises = all(lower["influence"] < higher["influence"] for lower, higher in pairwise(example))
    values = [f"{decimal(e['influence'])} at precision {e['precision']:g}" for e in example]
    evidence = (
        "The distance is multiplied by the precisions, so it is small where variances are large. With the same scores "
        f"the influence of a neighbour is {listed(values)}."
    )
    claim = "By the printed formula a confident neighbour has more influence than an uncertain one."
    return ClaimCheck(claim, HOLDS if rises else FAILS, evidence)


def _trained_models(numbers: Numbers) -> ClaimCheck:
    groups = {where: g for where, g in _measured(numbers, "influence_by_precision").items() if g}
    values = [f"{decimal(g[0], 3)} and {decimal(g[-1], 3)} on {where}" for where, g in groups.items()]
    evidence = f"Relative influence of the least and the most precise quartile of neighbours: {listed(values)}."
    outcome = outcome_of([g[-1] > g[0] for g in groups.values()])
    return ClaimCheck(
        "In trained models a confident neighbour has more influence.", outcome, evidence if values else ""
    )


def _lower(numbers: Numbers, claim: str, names: tuple[str, ...], condition: Callable[[Any], bool]) -> ClaimCheck:
    by_pair = {name: {d: pairs[name] for d, pairs in numbers["pairs"].items() if pairs[name]} for name in names}
    cases = [all_satisfy([pairs["cora_ml"]], condition) for pairs in by_pair.values() if "cora_ml" in pairs]
    values = {name: [f"{interval(pair)} on {d}" for d, pair in pairs.items()] for name, pairs in by_pair.items()}
    texts = [f"{name}: {listed(differences)} points" for name, differences in values.items() if differences]
    return ClaimCheck(claim, outcome_of(cases), "; ".join(texts) + ("." if texts else ""))


def _precision(numbers: Numbers) -> ClaimCheck:
    precision, probability = _measured(numbers, "auroc_precision"), _measured(numbers, "auroc_probability")
    values = [f"{decimal(value)} (probability: {decimal(probability[w])}) on {w}" for w, value in precision.items()]
    outcome = outcome_of([value >= SEPARATES for value in precision.values()])
    evidence = (
        f"AUROC of the learned precision for correct predictions (at least {SEPARATES} required): {listed(values)}."
    )
    claim = "The learned confidence of a label indicates whether the prediction is correct."
    return ClaimCheck(claim, outcome, evidence if values else "")
