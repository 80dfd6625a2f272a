"""Figure 3: accuracy against the number of layers, with ReLU on the left and without on the right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from confgcn.reporting.ink import draw_line, new_figure
from confgcn.reporting.table2 import CONTROL, REFERENCE
from confgcn.reporting.tables import Table
from confgcn.reporting.verdict import Verdict, judged
from confgcn.reporting.words import Numbers, accuracy, listed, percent, signed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RIVAL = "Kipf-GCN"
RELU, LINEAR = "with ReLU", "without ReLU"

Kind = tuple[str, str]  # title and activation
Cells = list[Any]
Lines = dict[Kind, Cells]

COMPARISONS: dict[str, tuple[Kind, Kind]] = {
    "as released, that is without and with ReLU": ((REFERENCE, LINEAR), (RIVAL, RELU)),
    "both with ReLU": ((REFERENCE, RELU), (RIVAL, RELU)),
    "both without": ((REFERENCE, LINEAR), (RIVAL, LINEAR)),
}
CONTROLS: dict[str, tuple[Kind, Kind]] = {kind: ((REFERENCE, kind), (CONTROL, kind)) for kind in (RELU, LINEAR)}


def tables(numbers: Numbers) -> dict[str, Table]:
    """One table per data set."""
    return {dataset: _table(numbers, dataset, lines) for dataset, lines in _shown(numbers).items()}


def draw(numbers: Numbers) -> Figure | None:
    """The picture; None where there is nothing to show."""
    shown = _shown(numbers)
    if not shown:
        return None
    kinds = list(dict.fromkeys(line["activation"] for lines in shown.values() for line in lines))
    figure, axes = new_figure(rows=len(shown), columns=len(kinds))
    for row, (dataset, lines) in zip(axes, shown.items(), strict=True):
        for axis, kind in zip(row, kinds, strict=True):
            for place, line in enumerate(line for line in lines if line["activation"] == kind):
                draw_line(axis, numbers["depths"], line["cells"], place, len(lines), line["title"])
            axis.set(title=f"{dataset}, {kind}", xlabel="layers", ylabel="test accuracy, %", ylim=(0, 100))
            axis.set_xticks(numbers["depths"])
    axes[0][0].legend(frameon=False, fontsize=7)
    return figure


def _shown(numbers: Numbers) -> dict[str, list[Any]]:
    """Data sets and lines of which there is a run."""
    lines = {dataset: [line for line in lines if any(line["cells"])] for dataset, lines in numbers["datasets"].items()}
    return {dataset: found for dataset, found in lines.items() if found}


def _table(numbers: Numbers, dataset: str, lines: list[Any]) -> Table:
    header = ["layers", *map(str, numbers["depths"])]
    rows = [[f"{line['title']}, {line['activation']}", *map(accuracy, line["cells"])] for line in lines]
    return Table(f"Figure 3, {dataset}: test accuracy in percent against the number of layers.", header, rows)


def verdicts(numbers: Numbers) -> list[Verdict]:
    """Q3: is ConfGCN above Kipf-GCN at every depth, does it fall less, and are the influences the reason?"""
    lines = {dataset: _by_kind(found) for dataset, found in _shown(numbers).items()}
    pairs = [(dataset, words, *pair) for dataset, found in lines.items() for words, pair in _pairs(found, COMPARISONS)]
    above = [one > other for _, _, own, gcn in pairs for one, other in zip(_means(own), _means(gcn), strict=True)]
    gradual = [_fall(own) < _fall(gcn) for _, _, own, gcn in pairs]
    controls = [pair for found in lines.values() for _, pair in _pairs(found, CONTROLS)]
    caused = [_fall(control) - _fall(own) > _spread(control) for own, control in controls]
    return [
        Verdict("Q3: ConfGCN is above Kipf-GCN at every depth.", judged(above), _wins(pairs)),
        Verdict("Q3: Kipf-GCN falls abruptly with depth, ConfGCN gradually.", judged(gradual), _falls(numbers, lines)),
        Verdict(
            "Q3: the confidences are what makes it gradual.",
            judged(caused),
            _largest_moves(controls) + _without_relu(lines),
        ),
    ]


def _by_kind(lines: list[Any]) -> Lines:
    """Lines that have a mean at every depth, by title and activation."""
    whole = [line for line in lines if all(cell is not None and cell["mean"] is not None for cell in line["cells"])]
    return {(line["title"], line["activation"]): line["cells"] for line in whole}


def _pairs(lines: Lines, wanted: dict[str, tuple[Kind, Kind]]) -> list[tuple[str, tuple[Cells, Cells]]]:
    return [(words, (lines[a], lines[b])) for words, (a, b) in wanted.items() if a in lines and b in lines]


def _means(cells: Cells) -> list[float]:
    return [cell["mean"] for cell in cells]


def _fall(cells: Cells) -> float:
    """From the best depth to the last."""
    return max(_means(cells)) - _means(cells)[-1]


def _spread(cells: Cells) -> float:
    return cells[-1]["std"] or 0.0


def _wins(pairs: list[tuple[str, str, Cells, Cells]]) -> str:
    parts = []
    for dataset, words, own, gcn in pairs:
        wins = sum(one > other for one, other in zip(_means(own), _means(gcn), strict=True))
        parts.append(f"{wins} of {len(own)} depths on {dataset}, {words}")
    return f"{REFERENCE} is above Kipf-GCN at {listed(parts)}." if parts else ""


def _falls(numbers: Numbers, lines: dict[str, Lines]) -> str:
    return " ".join(
        f"From the best depth to {numbers['depths'][-1]} layers accuracy on {dataset} falls by, in points: "
        + listed([f"{title}, {activation}, {percent(_fall(cells))}" for (title, activation), cells in found.items()])
        + "."
        for dataset, found in lines.items()
        if found
    )


def _largest_moves(controls: list[tuple[Cells, Cells]]) -> str:
    moves = [abs(a - b) for own, control in controls for a, b in zip(_means(own), _means(control), strict=True)]
    spreads = [cell["std"] or 0.0 for own, _ in controls for cell in own]
    if not moves:
        return ""
    return (
        f"Training with uniform influences moves {REFERENCE} by at most {percent(max(moves))} points at any depth, "
        f"where the standard deviation over seeds is up to {percent(max(spreads))}."
    )


def _without_relu(lines: dict[str, Lines]) -> str:
    """What leaving the activation out does to the fall."""
    parts = [
        f"{signed(_fall(found[title, LINEAR]) - _fall(found[title, RELU]))} of {title} on {dataset}"
        for dataset, found in lines.items()
        for title in (REFERENCE, RIVAL)
        if {(title, LINEAR), (title, RELU)} <= found.keys()
    ]
    return (
        f" Leaving the ReLU out, as the released code does, changes the fall: {listed(parts)} points." if parts else ""
    )
