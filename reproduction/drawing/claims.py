"""What the paper claims in passing about influences and confidences."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from confgcn.report.formatting import (
    NOTHING,
    Numbers,
    all_so,
    decimal,
    interval,
    is_below,
    listed,
    percent,
    preset_of,
)
from reproduction.tables import Table
from reproduction.verdict import FAILS, HOLDS, Verdict, judged

NOTE = (
    "Means over the runs of Table 2. Relative means over the mean of the neighbourhood; an AUROC of a half is a coin."
)
TELLS = 0.7  # an AUROC from which on a quantity tells two kinds apart
FEWER = 0.9  # effective neighbours over neighbours: below it they are fewer
COLLAPSE = -0.05  # points of accuracy

ROWS: tuple[tuple[str, Callable[[Any], str]], ...] = (
    ("neighbours, the node included", lambda m: decimal(m["neighbours"])),
    ("effective neighbours, 1 / sum of squared influences", lambda m: decimal(m["effective_neighbours"])),
    ("mean deviation of an influence from the mean, %", lambda m: percent(m["influence_deviation"], 2)),
    ("AUROC of the influence for an edge between equal labels", lambda m: decimal(m["auroc_influence"])),
    ("influence of the least sure quarter of neighbours, over the mean", lambda m: _quarter(m, 0)),
    ("influence of the surest quarter", lambda m: _quarter(m, -1)),
    ("predictions that change with uniform influences", lambda m: decimal(m["changed_by_uniform"], 1)),
    ("test accuracy, %", lambda m: percent(m["test_accuracy"])),
    ("the same with uniform influences in the trained model", lambda m: percent(m["accuracy_made_uniform"])),
    ("accuracy of the largest mu, %", lambda m: percent(m["mu_accuracy"])),
    ("AUROC of the precision for a right prediction", lambda m: decimal(m["auroc_precision"])),
    ("AUROC of the largest probability", lambda m: decimal(m["auroc_probability"])),
)


def tables(numbers: Numbers) -> dict[str, Table]:
    """One table per preset."""
    titles = list(dict.fromkeys(title for columns in numbers["datasets"].values() for title in columns))
    return {preset_of(title): _table(numbers, title) for title in titles}


def verdicts(numbers: Numbers) -> list[Verdict]:
    """One for each claim."""
    return [
        Verdict(
            "Influence is label-specific.",
            FAILS,
            "By its equation an influence is one number per edge, the same for every label.",
        ),
        _same_label(numbers),
        _effective_neighbours(numbers),
        _printed_formula(numbers),
        _trained_models(numbers),
        _below(numbers, "GAT is below Kipf-GCN on Cora-ML.", ("GAT less Kipf-GCN",), is_below),
        _below(numbers, "GPNN collapses on Cora-ML.", ("GPNN less Kipf-GCN", "GPNN less GGNN"), is_collapse),
        _precision(numbers),
    ]


def is_collapse(difference: Numbers | None) -> bool:
    """Below by more than a few points."""
    return difference is not None and is_below(difference) and bool(difference["mean"] < COLLAPSE)


def _quarter(means: Numbers, quarter: int) -> str:
    return decimal(means["influence_by_precision"][quarter], 3) if means["influence_by_precision"] else NOTHING


def _table(numbers: Numbers, title: str) -> Table:
    columns = {dataset: found.get(title) for dataset, found in numbers["datasets"].items()}
    rows = [[name, *(NOTHING if c is None else write(c) for c in columns.values())] for name, write in ROWS]
    return Table(f"{title}: what its influences and confidences do, means over the runs.", ["", *columns], rows)


def _measured(numbers: Numbers, name: str) -> dict[str, Any]:
    """A measurement of every data set and preset that has it."""
    found = {
        f"{dataset} ({preset_of(title)})": means[name]
        for dataset, columns in numbers["datasets"].items()
        for title, means in columns.items()
        if means is not None
    }
    return {where: value for where, value in found.items() if value is not None}


def _same_label(numbers: Numbers) -> Verdict:
    aurocs = _measured(numbers, "auroc_influence")
    parts = [f"{decimal(value)} on {where}" for where, value in aurocs.items()]
    text = f"Its AUROC for an edge between equal labels, which would be told from {TELLS} on, is {listed(parts)}."
    finding = judged([value >= TELLS for value in aurocs.values()])
    return Verdict("Neighbours of the same label have more influence.", finding, text if parts else "")


def _effective_neighbours(numbers: Numbers) -> Verdict:
    sizes = _measured(numbers, "neighbours")
    effective = _measured(numbers, "effective_neighbours")
    parts = [f"{decimal(effective[where])} of {decimal(size)} on {where}" for where, size in sizes.items()]
    finding = judged([effective[where] < FEWER * size for where, size in sizes.items()])
    text = f"Fewer would be less than {percent(FEWER, 0)} %. It keeps {listed(parts)}." if parts else ""
    return Verdict("Confidences leave a node fewer effective neighbours.", finding, text)


def _printed_formula(numbers: Numbers) -> Verdict:
    example = numbers["printed_influence"]
    rises = all(one["influence"] < other["influence"] for one, other in pairwise(example))
    parts = [f"{decimal(e['influence'])} at precision {e['precision']:g}" for e in example]
    text = (
        "The distance is multiplied by the precisions, so it is low where variances are large. With the same scores "
        f"the influence of a neighbour is {listed(parts)}."
    )
    claim = "By the printed formula a confident neighbour has more influence than an unsure one."
    return Verdict(claim, HOLDS if rises else FAILS, text)


def _trained_models(numbers: Numbers) -> Verdict:
    quarters = {where: q for where, q in _measured(numbers, "influence_by_precision").items() if q}
    parts = [f"{decimal(q[0], 3)} and {decimal(q[-1], 3)} on {where}" for where, q in quarters.items()]
    text = f"The least and the most sure quarter of neighbours have, relative to the mean, {listed(parts)}."
    finding = judged([q[-1] > q[0] for q in quarters.values()])
    return Verdict("In trained models a confident neighbour has more influence.", finding, text if parts else "")


def _below(numbers: Numbers, claim: str, names: tuple[str, ...], is_so: Callable[[Any], bool]) -> Verdict:
    found = {name: {d: pairs[name] for d, pairs in numbers["pairs"].items() if pairs[name]} for name in names}
    cases = [all_so([pairs["cora_ml"]], is_so) for pairs in found.values() if "cora_ml" in pairs]
    listings = {name: [f"{interval(pair)} on {d}" for d, pair in pairs.items()] for name, pairs in found.items()}
    parts = [f"{name}: {listed(listing)} points" for name, listing in listings.items() if listing]
    return Verdict(claim, judged(cases), "; ".join(parts) + ("." if parts else ""))


def _precision(numbers: Numbers) -> Verdict:
    precision, probability = _measured(numbers, "auroc_precision"), _measured(numbers, "auroc_probability")
    parts = [f"{decimal(value)} (the probability {decimal(probability[w])}) on {w}" for w, value in precision.items()]
    finding = judged([value >= TELLS for value in precision.values()])
    text = f"AUROC of the learned precision for a right prediction, told from {TELLS} on: {listed(parts)}."
    return Verdict("The confidence of a label says how far to trust it.", finding, text if parts else "")
