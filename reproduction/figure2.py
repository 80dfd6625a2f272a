"""Figure 2: accuracy by quartile groups of neighbourhood label entropy and of degree (Q2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from confgcn.report.run_charts import QUARTILE_LABELS
from reproduction.formatting import Numbers, interval, listed, mean_std, percent
from reproduction.jobs import Job, Scope
from reproduction.plots import draw_line, new_figure
from reproduction.rendering import ClaimCheck, Table, outcome_of
from reproduction.results import Results
from reproduction.summaries import accuracies, all_satisfy, group_cells, is_above, is_below, paired_groups
from reproduction.table2 import GAT, GCN, PAPER, RELEASED, UNIFORM

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOTE = (
    "The paper shows its values only as a picture. The groups are the quartiles of the test nodes. The entropy is that "
    "of the true labels of the neighbours, without the node itself. Nodes with equal entropy or degree are divided "
    "evenly among the groups that they span; groups within one tie are therefore equal."
)
DATASETS = ("cora_ml", "citeseer", "cora", "pubmed")  # the paper shows the first only
VARIANTS = (GCN, GAT, RELEASED, UNIFORM, PAPER)
BASELINES = (GCN.title, GAT.title)
QUANTITIES = {"entropy": "neighbourhood label entropy", "degree": "degree"}
PRINTED_GAIN = 0.03  # section 7.2: "an improvement of around 3%" among the nodes of the highest degree

Differences = list[tuple[str, str, list[Any]]]  # baseline, quantity, one difference per group


def jobs(scope: Scope) -> list[Job]:
    """Runs of Table 2."""
    return scope.jobs(DATASETS, VARIANTS)


def numbers(scope: Scope, results: Results) -> dict[str, Any]:
    """Per data set and method the accuracy in each group, and its difference from ConfGCN's."""
    return {
        "datasets": {
            dataset: [
                {
                    "title": variant.title,
                    "entropy": group_cells(runs, "accuracy_by_entropy"),
                    "degree": group_cells(runs, "accuracy_by_degree"),
                    "confgcn_minus_this": {
                        key: paired_groups(results.runs(dataset, RELEASED), runs, f"accuracy_by_{key}")
                        for key in ("entropy", "degree")
                    },
                }
                for variant in scope.selected(VARIANTS)
                if accuracies(runs := results.runs(dataset, variant))
            ]
            for dataset in scope.datasets_or(DATASETS)
        }
    }


def tables(numbers: Numbers) -> dict[str, Table]:
    """One table per data set."""
    return {dataset: _table(dataset, lines) for dataset, lines in numbers["datasets"].items() if lines}


def _table(dataset: str, lines: list[Numbers]) -> Table:
    header = ["", *(f"{key} {name}" for key in QUANTITIES for name in QUARTILE_LABELS)]
    rows = [[line["title"], *(mean_std(cell) for key in QUANTITIES for cell in line[key])] for line in lines]
    return Table(f"{dataset}: test accuracy in percent by quartile group of the test nodes.", header, rows)


def draw(numbers: Numbers) -> Figure | None:
    """One row of panels per data set; None without runs."""
    panels = {dataset: lines for dataset, lines in numbers["datasets"].items() if lines}
    if not panels:
        return None
    figure, axes = new_figure(rows=len(panels), columns=len(QUANTITIES))
    for row, (dataset, lines) in zip(axes, panels.items(), strict=True):
        for axis, (key, quantity) in zip(row, QUANTITIES.items(), strict=True):
            for index, line in enumerate(lines):
                draw_line(axis, range(len(QUARTILE_LABELS)), line[key], index, line["title"], num_lines=len(lines))
            axis.set(title=f"{dataset}, by {quantity}", ylabel="test accuracy, %")
            axis.set_xticks(range(len(QUARTILE_LABELS)), QUARTILE_LABELS)
    axes[0][0].legend(frameon=False, fontsize=7)
    return figure


def check_claims(numbers: Numbers) -> list[ClaimCheck]:
    """Q2: what is the effect of mixed neighbourhoods and of many neighbours, and is ConfGCN best for both?"""
    shown = {
        dataset: {line["title"]: line for line in lines} for dataset, lines in numbers["datasets"].items() if lines
    }
    every = [line for lines in shown.values() for line in lines.values()]
    falls = [line["entropy"][-1]["mean"] < line["entropy"][0]["mean"] for line in every]
    turns = [line["degree"][-1]["mean"] < line["degree"][-2]["mean"] for line in every]
    pairs = {d: _differences(lines) for d, lines in shown.items() if {RELEASED.title, *BASELINES} <= lines.keys()}
    best = [all_satisfy(groups, is_above) for differences in pairs.values() for _, _, groups in differences]
    tops = {
        dataset: [groups[-1] for _, key, groups in differences if key == "degree"]
        for dataset, differences in pairs.items()
    }
    gains = [all_satisfy(differences, _is_gain) for differences in tops.values()]
    return [
        ClaimCheck("Q2: every method is worse in mixed neighbourhoods.", outcome_of(falls), _ends(shown, "entropy", 0)),
        ClaimCheck(
            "Q2: every method is worse for nodes with many neighbours.", outcome_of(turns), _ends(shown, "degree", -2)
        ),
        ClaimCheck("Q2: ConfGCN is best in every group of entropy and of degree.", outcome_of(best), _wins(pairs)),
        ClaimCheck(
            "Q2: ConfGCN gains some points among the nodes of the highest degree.",
            outcome_of(gains),
            _gains(tops, shown),
        ),
    ]


def _is_gain(difference: Numbers | None) -> bool:
    """At least half of the gain in the paper?"""
    return difference is not None and is_above(difference) and bool(difference["mean"] >= PRINTED_GAIN / 2)


def _differences(lines: Numbers) -> Differences:
    """ConfGCN minus each baseline, by either quantity."""
    return [(name, key, lines[name]["confgcn_minus_this"][key]) for name in BASELINES for key in QUANTITIES]


def _ends(shown: Numbers, key: str, first: int) -> str:
    cells = {dataset: lines[RELEASED.title][key] for dataset, lines in shown.items() if RELEASED.title in lines}
    values = [f"{percent(g[first]['mean'])} and {percent(g[-1]['mean'])} on {dataset}" for dataset, g in cells.items()]
    groups = f"the {QUARTILE_LABELS[first]} and the {QUARTILE_LABELS[-1]} group of {QUANTITIES[key]}"
    return f"In {groups} {RELEASED.title} has {listed(values)}." if values else ""


def _wins(pairs: dict[str, Differences]) -> str:
    counts = [
        f"{name} by {key} on {dataset}: {sum(map(is_above, groups))} / {sum(map(is_below, groups))}"
        for dataset, differences in pairs.items()
        for name, key, groups in differences
    ]
    head = f"Number of the {len(QUARTILE_LABELS)} groups in which {RELEASED.title} is significantly above / below"
    return f"{head} {'; '.join(counts)}." if counts else ""


def _gains(tops: dict[str, list[Any]], shown: Numbers) -> str:
    gains = [
        f"{interval(top)} over {name} on {dataset}"
        for dataset, differences in tops.items()
        for name, top in zip(BASELINES, differences, strict=True)
    ]
    if not gains:
        return ""
    controls = {
        dataset: lines[UNIFORM.title]["confgcn_minus_this"]["degree"][-1]
        for dataset, lines in shown.items()
        if UNIFORM.title in lines
    }
    text = f"The paper reports {percent(PRINTED_GAIN, 0)} points. Here: {listed(gains)}."
    over = listed([f"{interval(control)} on {dataset}" for dataset, control in controls.items()])
    return f"{text} Over its own control with uniform influences: {over}." if controls else text
