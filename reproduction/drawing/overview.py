"""The picture of the README: learned and uniform influences, and what the probability says against what is right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confgcn.report.figure_style import GROUP_NAMES, draw_line, new_figure
from confgcn.report.formatting import Numbers, accuracy, spread
from reproduction.tables import Table
from reproduction.verdict import Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOTE = "Preset `released`. On the right, quarters of the demo graph's test nodes by the largest probability."
INFLUENCES = {"learned": "learned influence", "uniform": "every influence uniform"}
SIDES = {"right": "is right", "says": "says"}
APART = 0.24  # between two marks of one data set


def tables(numbers: Numbers) -> dict[str, Table]:
    """What the two panels show."""
    rows = [
        [words, *(accuracy(cells[key]) for cells in numbers["datasets"].values())] for key, words in INFLUENCES.items()
    ]
    found = {"influence": Table("Test accuracy in percent.", ["", *numbers["datasets"]], rows)}
    if numbers["says"]:
        sides = [[words, *map(spread, numbers[key])] for key, words in SIDES.items()]
        found["probability"] = Table("Mean probability and accuracy in percent.", ["", *GROUP_NAMES], sides)
    return found


def verdicts(numbers: Numbers) -> list[Verdict]:
    """None: the paper has no such picture."""
    return []


def draw(numbers: Numbers) -> Figure | None:
    """The picture."""
    figure, ((left, right),) = new_figure(rows=1, columns=2)
    names = list(numbers["datasets"])
    for place, (key, words) in enumerate(INFLUENCES.items()):
        places = [number + APART * (place - 0.5) for number in range(len(names))]
        draw_line(left, places, [numbers["datasets"][name][key] for name in names], place, 1, words, joined=False)
    left.set(xlim=(-0.5, len(names) - 0.5), ylabel="test accuracy, %", title="with and without influence")
    left.set_xticks(range(len(names)), names)
    left.margins(y=0.3)
    left.legend(frameon=False, loc="upper left", fontsize=7)
    for place, (key, words) in enumerate(SIDES.items()):
        draw_line(right, range(len(numbers[key])), numbers[key], place, 1, words)
    right.set(ylim=(0, 100), ylabel="%", title="what it says and what is right (demo)")
    right.set_xticks(range(len(GROUP_NAMES)), GROUP_NAMES)
    right.set_xlabel("quarter of the test nodes, by probability")
    right.legend(frameon=False)
    return figure
