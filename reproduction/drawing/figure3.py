"""Figure 3: accuracy against the number of layers, with ReLU on the left and without on the right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from confgcn.report.figure_style import draw_line, new_figure
from confgcn.report.formatting import Numbers, accuracy, all_so, interval, is_above, is_below, listed, percent
from reproduction.tables import Table
from reproduction.verdict import Verdict, judged

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOTE = (
    "The paper's values are in its picture alone. Every setting but the depth and the activation is that of the "
    "preset, which was chosen for two layers. Kipf-GCN has a ReLU and the released code of ConfGCN has none, so the "
    "two are also compared like with like. A fall is the accuracy at the best depth less that at the last."
)


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
            chosen = [line for line in lines if line["activation"] == kind]
            for place, line in enumerate(chosen):
                draw_line(axis, numbers["depths"], line["cells"], place, len(chosen), line["title"])
            axis.set(title=f"{dataset}, {kind}", xlabel="layers", ylabel="test accuracy, %", ylim=(0, 100))
            axis.set_xticks(numbers["depths"])
    axes[0][0].legend(frameon=False, fontsize=7)
    return figure


def verdicts(numbers: Numbers) -> list[Verdict]:
    """Q3: is ConfGCN above Kipf-GCN at every depth, does it fall less, and are the influences the reason?"""
    rivals, controls = _whole(numbers["rivals"]), _whole(numbers["controls"])
    above = [all_so(pair["depths"], is_above) for _, pair in rivals]
    gradual = [all_so([pair["fall"]], is_below) for _, pair in rivals]
    caused = [all_so([pair["fall"]], is_below) for _, pair in controls]
    return [
        Verdict("Q3: ConfGCN is above Kipf-GCN at every depth.", judged(above), _wins(rivals)),
        Verdict(
            "Q3: Kipf-GCN falls abruptly with depth, ConfGCN gradually.",
            judged(gradual),
            " ".join(filter(None, [_falls(numbers), _compared(rivals)])),
        ),
        Verdict("Q3: it is the confidences that make it gradual.", judged(caused), _compared(controls)),
    ]


def _shown(numbers: Numbers) -> dict[str, list[Any]]:
    """Data sets and lines of which there is a run."""
    lines = {dataset: [line for line in lines if any(line["cells"])] for dataset, lines in numbers["datasets"].items()}
    return {dataset: found for dataset, found in lines.items() if found}


def _whole(pairs: Numbers) -> list[tuple[str, Any]]:
    """The pairs of lines that can be compared at every depth."""
    return [
        (dataset, pair) for dataset, found in pairs.items() for pair in found if all(pair["depths"]) and pair["fall"]
    ]


def _wins(pairs: list[tuple[str, Any]]) -> str:
    parts = [
        f"{pair['one']} is above {pair['other']} at {sum(map(is_above, pair['depths']))} and below at "
        f"{sum(map(is_below, pair['depths']))} of {len(pair['depths'])} depths on {dataset}"
        for dataset, pair in pairs
    ]
    return f"{'; '.join(parts)}." if parts else ""


def _falls(numbers: Numbers) -> str:
    found = {
        dataset: [
            f"{line['title']}, {line['activation']}, {percent(line['fall'])}"
            for line in lines
            if line["fall"] is not None
        ]
        for dataset, lines in _shown(numbers).items()
    }
    return " ".join(
        f"The falls on {dataset}, in points: {'; '.join(parts)}." for dataset, parts in found.items() if parts
    )


def _compared(pairs: list[tuple[str, Any]]) -> str:
    parts = [f"{pair['one']} less {pair['other']} on {dataset}, {interval(pair['fall'])}" for dataset, pair in pairs]
    return f"Difference of the falls: {listed(parts)}." if parts else ""


def _table(numbers: Numbers, dataset: str, lines: list[Any]) -> Table:
    header = ["layers", *map(str, numbers["depths"])]
    rows = [[f"{line['title']}, {line['activation']}", *map(accuracy, line["cells"])] for line in lines]
    return Table(f"{dataset}: test accuracy in percent against the number of layers.", header, rows)
