"""Figure 2: accuracy by quarters of neighbourhood label entropy and of degree, one row of panels per data set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confgcn.reporting.ink import NAMES_OF_QUARTERS, draw_line, new_figure
from confgcn.reporting.table2 import CONTROL, REFERENCE
from confgcn.reporting.tables import Table
from confgcn.reporting.verdict import Verdict, judged
from confgcn.reporting.words import Numbers, listed, percent, signed, spread

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RIVALS = ("Kipf-GCN", "GAT")
QUANTITIES = {"entropy": "neighbourhood label entropy", "degree": "degree"}


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
                draw_line(axis, range(len(NAMES_OF_QUARTERS)), line[key], place, len(lines), line["title"])
            axis.set(title=f"{dataset}, by {words}", ylabel="test accuracy, %")
            axis.set_xticks(range(len(NAMES_OF_QUARTERS)), NAMES_OF_QUARTERS)
    axes[0][0].legend(frameon=False, fontsize=7)
    return figure


def _table(dataset: str, lines: list[Numbers]) -> Table:
    header = ["", *(f"{key} {name}" for key in QUANTITIES for name in NAMES_OF_QUARTERS)]
    rows = [[line["title"], *(spread(cell) for key in QUANTITIES for cell in line[key])] for line in lines]
    return Table(f"Figure 2, {dataset}: test accuracy in percent by quarter of the test nodes.", header, rows)


def verdicts(numbers: Numbers) -> list[Verdict]:
    """Q2: do all methods fall with entropy, and is ConfGCN best in every quarter?"""
    shown = {dataset: {line["title"]: line for line in lines} for dataset, lines in numbers["datasets"].items()}
    whole = {dataset: lines for dataset, lines in shown.items() if {REFERENCE, *RIVALS} <= lines.keys()}
    best = [is_best for lines in whole.values() for key in QUANTITIES for is_best in _best_in(lines, key)]
    every = [line for lines in shown.values() for line in lines.values()]
    falls = [line["entropy"][-1]["mean"] < line["entropy"][0]["mean"] for line in every]
    turns = [line["degree"][-1]["mean"] < line["degree"][-2]["mean"] for line in every]
    return [
        Verdict("Q2: with a more mixed neighbourhood every method gets worse.", judged(falls), _falls(whole)),
        Verdict("Q2: ConfGCN is best in every quarter of entropy and of degree.", judged(best), _text(whole)),
        Verdict("Q2: many neighbours make every method worse again.", judged(turns), _turns(whole)),
    ]


def _turns(whole: Numbers) -> str:
    pairs = {d: [percent(_mean(lines, REFERENCE, "degree", place)) for place in (-2, -1)] for d, lines in whole.items()}
    parts = [f"{third} and {last} on {dataset}" for dataset, (third, last) in pairs.items()]
    return f"In the third and the last quarter of degree {REFERENCE} has {listed(parts)}." if parts else ""


def _best_in(lines: Numbers, key: str) -> list[bool]:
    quarters = range(len(NAMES_OF_QUARTERS))
    return [all(_mean(lines, REFERENCE, key, q) > _mean(lines, rival, key, q) for rival in RIVALS) for q in quarters]


def _mean(lines: Numbers, title: str, key: str, quarter: int) -> float:
    value: float = lines[title][key][quarter]["mean"]
    return value


def _falls(whole: Numbers) -> str:
    parts = [
        f"on {dataset} from {percent(_mean(lines, REFERENCE, 'entropy', 0))} to "
        f"{percent(_mean(lines, REFERENCE, 'entropy', -1))} (Kipf-GCN {percent(_mean(lines, RIVALS[0], 'entropy', 0))} "
        f"to {percent(_mean(lines, RIVALS[0], 'entropy', -1))})"
        for dataset, lines in whole.items()
    ]
    return f"Between the first and the last quarter of entropy {REFERENCE} falls {listed(parts)}." if parts else ""


def _text(whole: Numbers) -> str:
    return " ".join(_sentences(dataset, lines) for dataset, lines in whole.items())


def _sentences(dataset: str, lines: Numbers) -> str:
    wins = [sum(_best_in(lines, key)) for key in QUANTITIES]
    gains = [signed(_mean(lines, REFERENCE, "degree", -1) - _mean(lines, rival, "degree", -1)) for rival in RIVALS]
    text = (
        f"On {dataset} {REFERENCE} is above both {listed(RIVALS)} in {wins[0]} of {len(NAMES_OF_QUARTERS)} quarters of "
        f"entropy and {wins[1]} of degree; among the nodes of the highest degree it is {listed(gains)} points from them"
    )
    if CONTROL not in lines:
        return f"{text}."
    control = _mean(lines, CONTROL, "degree", -1) - _mean(lines, REFERENCE, "degree", -1)
    return f"{text}, and uniform influences change it by {signed(control)}."
