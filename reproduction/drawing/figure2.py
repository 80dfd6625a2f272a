"""Figure 2: accuracy by quarters of neighbourhood label entropy and of degree, one row of panels per data set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from confgcn.report.figure_style import GROUP_NAMES, draw_line, new_figure
from confgcn.report.formatting import Numbers, all_so, interval, is_above, is_below, listed, percent, spread
from reproduction.drawing.table2 import CONTROL, REFERENCE
from reproduction.tables import Table
from reproduction.verdict import Verdict, judged

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOTE = (
    "The paper's values are in its picture alone. Quarters of the test nodes. The entropy is that of the true labels "
    "of the neighbours, the node itself left out. Rule for ties: nodes of equal entropy or degree share their places, "
    "so each counts in a quarter by the share of those places that lies in it; quarters that lie within one tie are "
    "equal."
)
RIVALS = ("Kipf-GCN", "GAT")
QUANTITIES = {"entropy": "neighbourhood label entropy", "degree": "degree"}
PRINTED_GAIN = 0.03  # section 7.2: "an improvement of around 3%" among the nodes of the highest degree


def tables(numbers: Numbers) -> dict[str, Table]:
    """One table per data set."""
    return {dataset: _table(dataset, lines) for dataset, lines in numbers["datasets"].items() if lines}


def draw(numbers: Numbers) -> Figure | None:
    """The picture; None where there is nothing to show."""
    panels = {dataset: lines for dataset, lines in numbers["datasets"].items() if lines}
    if not panels:
        return None
    figure, axes = new_figure(rows=len(panels), columns=len(QUANTITIES))
    for row, (dataset, lines) in zip(axes, panels.items(), strict=True):
        for axis, (key, words) in zip(row, QUANTITIES.items(), strict=True):
            for place, line in enumerate(lines):
                draw_line(axis, range(len(GROUP_NAMES)), line[key], place, len(lines), line["title"])
            axis.set(title=f"{dataset}, by {words}", ylabel="test accuracy, %")
            axis.set_xticks(range(len(GROUP_NAMES)), GROUP_NAMES)
    axes[0][0].legend(frameon=False, fontsize=7)
    return figure


def verdicts(numbers: Numbers) -> list[Verdict]:
    """Q2: what do mixed neighbourhoods and many neighbours do, and is ConfGCN best among both?"""
    shown = {
        dataset: {line["title"]: line for line in lines} for dataset, lines in numbers["datasets"].items() if lines
    }
    every = [line for lines in shown.values() for line in lines.values()]
    falls = [line["entropy"][-1]["mean"] < line["entropy"][0]["mean"] for line in every]
    turns = [line["degree"][-1]["mean"] < line["degree"][-2]["mean"] for line in every]
    pairs = {dataset: _against(lines) for dataset, lines in shown.items() if {REFERENCE, *RIVALS} <= lines.keys()}
    best = [all_so(quarters, is_above) for found in pairs.values() for _, _, quarters in found]
    tops = {
        dataset: [quarters[-1] for _, key, quarters in found if key == "degree"] for dataset, found in pairs.items()
    }
    gains = [all_so(found, _is_gain) for found in tops.values()]
    return [
        Verdict(
            "Q2: with a more mixed neighbourhood every method gets worse.", judged(falls), _ends(shown, "entropy", 0)
        ),
        Verdict("Q2: many neighbours make every method worse again.", judged(turns), _ends(shown, "degree", -2)),
        Verdict("Q2: ConfGCN is best in every quarter of entropy and of degree.", judged(best), _wins(pairs)),
        Verdict("Q2: among the nodes of the highest degree it gains some points.", judged(gains), _gains(tops, shown)),
    ]


def _is_gain(difference: Numbers | None) -> bool:
    """About as large as the paper's: half of it at least."""
    return difference is not None and is_above(difference) and bool(difference["mean"] >= PRINTED_GAIN / 2)


def _against(lines: Numbers) -> list[tuple[str, str, list[Any]]]:
    """What ConfGCN has more than each rival, by either quantity, quarter by quarter."""
    return [(rival, key, lines[rival]["confgcn_less_this"][key]) for rival in RIVALS for key in QUANTITIES]


def _ends(shown: Numbers, key: str, first: int) -> str:
    found = {dataset: lines[REFERENCE][key] for dataset, lines in shown.items() if REFERENCE in lines}
    parts = [f"{percent(q[first]['mean'])} and {percent(q[-1]['mean'])} on {dataset}" for dataset, q in found.items()]
    words = f"the {GROUP_NAMES[first]} and the {GROUP_NAMES[-1]} quarter of {QUANTITIES[key]}"
    return f"In {words} {REFERENCE} has {listed(parts)}." if parts else ""


def _wins(pairs: dict[str, list[tuple[str, str, list[Any]]]]) -> str:
    parts = [
        f"against {rival} by {key} {sum(map(is_above, quarters))} and {sum(map(is_below, quarters))} on {dataset}"
        for dataset, found in pairs.items()
        for rival, key, quarters in found
    ]
    words = f"Of {len(GROUP_NAMES)} quarters {REFERENCE} is above and below"
    return f"{words}: {listed(parts)}." if parts else ""


def _gains(tops: dict[str, list[Any]], shown: Numbers) -> str:
    parts = [
        f"{interval(top)} over {rival} on {dataset}"
        for dataset, found in tops.items()
        for rival, top in zip(RIVALS, found, strict=True)
    ]
    controls = {d: lines[CONTROL]["confgcn_less_this"]["degree"][-1] for d, lines in shown.items() if CONTROL in lines}
    text = f"The paper reads {percent(PRINTED_GAIN, 0)} points off its picture. Here: {listed(parts)}." if parts else ""
    over = listed([f"{interval(control)} on {dataset}" for dataset, control in controls.items()])
    return f"{text} Over its own control with uniform influences: {over}." if text and controls else text


def _table(dataset: str, lines: list[Numbers]) -> Table:
    header = ["", *(f"{key} {name}" for key in QUANTITIES for name in GROUP_NAMES)]
    rows = [[line["title"], *(spread(cell) for key in QUANTITIES for cell in line[key])] for line in lines]
    return Table(f"{dataset}: test accuracy in percent by quarter of the test nodes.", header, rows)
