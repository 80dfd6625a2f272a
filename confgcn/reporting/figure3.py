"""Figure 3: accuracy against the number of layers, with ReLU on the left and without on the right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from confgcn.reporting.ink import draw_line, new_figure
from confgcn.reporting.table2 import CONTROL, REFERENCE
from confgcn.reporting.tables import Table
from confgcn.reporting.verdict import Verdict, judged
from confgcn.reporting.words import Numbers, accuracy, listed, percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RIVAL = "Kipf-GCN"
RELU, LINEAR = "with ReLU", "without ReLU"


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
                draw_line(axis, numbers["depths"], line["cells"], place, 1, line["title"])
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
    """Q3: does Kipf-GCN fall abruptly with depth and ConfGCN gradually, and is ConfGCN above at every depth?"""
    lines = {
        d: {(line["title"], line["activation"]): line["cells"] for line in found}
        for d, found in _shown(numbers).items()
    }
    pairs: dict[str, tuple[Any, Any]] = {
        d: (found.get((RIVAL, RELU)), found.get((REFERENCE, LINEAR))) for d, found in lines.items()
    }
    whole = {d: (gcn, own) for d, (gcn, own) in pairs.items() if _complete(gcn) and _complete(own)}
    above = [_value(own, i) > _value(gcn, i) for gcn, own in whole.values() for i in range(len(own))]
    gradual = [_fall(own) < _fall(gcn) for gcn, own in whole.values()]
    texts = [_sentences(d, numbers["depths"], gcn, own, lines[d]) for d, (gcn, own) in whole.items()]
    return [
        Verdict("Q3: ConfGCN is above Kipf-GCN at every depth.", judged(above), " ".join(text[0] for text in texts)),
        Verdict(
            "Q3: Kipf-GCN falls abruptly with depth, ConfGCN gradually.",
            judged(gradual),
            " ".join(text[1] for text in texts),
        ),
    ]


def _complete(cells: Any) -> bool:
    return cells is not None and all(cell is not None and cell["mean"] is not None for cell in cells)


def _value(cells: list[Any], place: int) -> float:
    value: float = cells[place]["mean"]
    return value


def _fall(cells: list[Any]) -> float:
    """From the best depth to the last."""
    return max(_value(cells, place) for place in range(len(cells))) - _value(cells, -1)


def _sentences(
    dataset: str, depths: list[int], gcn: list[Any], own: list[Any], lines: dict[Any, Any]
) -> tuple[str, str]:
    wins = sum(_value(own, i) > _value(gcn, i) for i in range(len(depths)))
    first = (
        f"On {dataset} {REFERENCE} (which has no ReLU) is above Kipf-GCN (which has) at {wins} of {len(depths)} depths."
    )
    falls = [
        f"{title} {activation} {percent(_fall(cells))}"
        for (title, activation), cells in lines.items()
        if _complete(cells)
    ]
    second = f"From the best depth to {depths[-1]} layers accuracy on {dataset} falls by, in points: {listed(falls)}."
    control: Any = lines.get((CONTROL, LINEAR))
    if _complete(control):
        largest = max(abs(_value(own, i) - _value(control, i)) for i in range(len(depths)))
        second += f" Uniform influences move {REFERENCE} by at most {percent(largest)} points at any depth."
    return first, second
