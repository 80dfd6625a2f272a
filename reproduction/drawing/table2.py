"""Table 2 beside ours; and what the runs cost, and how far each method is from ConfGCN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from confgcn.report.formatting import (
    NOTHING,
    Numbers,
    accuracy,
    all_so,
    decimal,
    has_interval,
    interval,
    is_above,
    is_below,
    listed,
    published,
    spread,
)
from reproduction.tables import Table
from reproduction.verdict import Verdict, judged

NOTE = (
    "† marks what is more than its printed standard deviation below the paper's figure, or more than a point where "
    "none is printed. Methods that draw nothing have the same result with every seed on a public split."
)
REFERENCE = "ConfGCN `released`"
CONTROL = "ConfGCN `released`, uniform influence"
PRINTED = "ConfGCN `paper`"
MARGIN = 1.0  # how far below a figure that is printed without its deviation a row may be


def tables(numbers: Numbers) -> dict[str, Table]:
    """Accuracy, paired differences, seconds."""
    return {
        "": _table(numbers, "Test accuracy in percent, the paper's figure in brackets.", _beside_paper),
        "difference": _table(
            numbers, "Difference to ConfGCN `released` in points, paired by seed, with its interval.", _difference
        ),
        "seconds": _table(
            numbers, "Processor seconds of one run with one thread: reading, training, predicting.", _seconds
        ),
    }


def is_short(cell: Numbers) -> bool:
    """Is a row more than a standard deviation (or the margin, where none is printed) below the paper's figure?"""
    if cell["published"] is None or cell["accuracy"]["mean"] is None:
        return False
    figure, deviation = cell["published"]
    lowest = figure - (MARGIN if deviation is None else deviation)
    reached: float = round(100 * cell["accuracy"]["mean"], 1)
    return bool(reached < round(lowest, 1))


def _table(numbers: Numbers, caption: str, write: Callable[[Any, Any], str]) -> Table:
    rows = [
        [row["title"], *(NOTHING if cell is None else write(row, cell) for cell in row["cells"].values())]
        for row in numbers["rows"]
    ]
    return Table(caption, ["", *numbers["datasets"]], rows)


def _beside_paper(row: Numbers, cell: Numbers) -> str:
    if cell["published"] is None:
        return accuracy(cell["accuracy"])
    return f"{accuracy(cell['accuracy'])}{' †' if is_short(cell) else ''} ({published(cell['published'])})"


def _difference(row: Numbers, cell: Numbers) -> str:
    return NOTHING if row["is_reference"] else interval(cell["difference"])


def _seconds(row: Numbers, cell: Numbers) -> str:
    seconds = cell["processor_seconds"]
    return NOTHING if seconds is None else decimal(seconds, 1 if seconds >= 1 else 2)


def verdicts(numbers: Numbers) -> list[Verdict]:
    """Q1: is ConfGCN above every other method, and are its influences the reason?"""
    found = {dataset: _best_other(numbers, dataset) for dataset in numbers["datasets"]}
    compared = {dataset: pair for dataset, pair in found.items() if pair is not None}
    differences = [[cell["difference"] for cell in _others(numbers, dataset).values()] for dataset in compared]
    above = [all_so(found, is_below) for found in differences]
    sentences = [_comparison(dataset, *pair) for dataset, pair in compared.items()]
    sentences += [_in_print(numbers), control(numbers), _printed(numbers), _reached(numbers)]
    claim = "Q1: ConfGCN is consistently above every other method on every data set."
    return [Verdict(claim, judged(above), " ".join(filter(None, sentences)))]


def _rows(numbers: Numbers, dataset: str) -> dict[str, Any]:
    cells = {row["title"]: row["cells"].get(dataset) for row in numbers["rows"]}
    return {title: cell for title, cell in cells.items() if cell is not None and cell["accuracy"]["mean"] is not None}


def _others(numbers: Numbers, dataset: str) -> dict[str, Any]:
    own = [row["title"] for row in numbers["rows"] if row["method"] == "confgcn"]
    return {title: cell for title, cell in _rows(numbers, dataset).items() if title not in own}


def _best_other(numbers: Numbers, dataset: str) -> tuple[Any, str, Any] | None:
    """ConfGCN's cell, and title and cell of the best method that is not ConfGCN."""
    cells, others = _rows(numbers, dataset), _others(numbers, dataset)
    if REFERENCE not in cells or not others:
        return None
    best = max(others, key=lambda title: others[title]["accuracy"]["mean"])
    return cells[REFERENCE], best, others[best]


def _comparison(dataset: str, own: Numbers, title: str, other: Numbers) -> str:
    difference = other["difference"]
    is_open = has_interval(difference) and not is_above(difference) and not is_below(difference)
    words = ", which is not told from zero" if is_open else ""
    return (
        f"On {dataset} {REFERENCE} has {spread(own['accuracy'])} and the best other method, {title}, "
        f"{spread(other['accuracy'])}; the latter less the former is {interval(other['difference'])} points{words}."
    )


def _in_print(numbers: Numbers) -> str:
    """Where the paper's own figures are against its claim."""
    figures = {
        (row["title"], dataset): cell["published"][0]
        for row in numbers["rows"]
        for dataset, cell in row["cells"].items()
        if row["title"] != PRINTED and cell and cell["published"]
    }
    own = {dataset: figure for (title, dataset), figure in figures.items() if title == REFERENCE}
    above = [f"{title} on {d}" for (title, d), figure in figures.items() if d in own and figure > own[d]]
    return f"In the paper's own table {listed(above)} is above ConfGCN." if above else ""


def control(numbers: Numbers) -> str:
    """What uniform influences do to ConfGCN's accuracy, in one sentence."""
    found = _differences(numbers, CONTROL)
    return f"Making every influence uniform changes the accuracy of {REFERENCE} by {found}." if found else ""


def _printed(numbers: Numbers) -> str:
    found = _differences(numbers, PRINTED)
    return f"The printed equations ({PRINTED}) differ from it by {found}." if found else ""


def _differences(numbers: Numbers, title: str) -> str:
    cells = {dataset: _rows(numbers, dataset).get(title) for dataset in numbers["datasets"]}
    return listed([f"{interval(cell['difference'])} on {dataset}" for dataset, cell in cells.items() if cell])


def _reached(numbers: Numbers) -> str:
    cells = [cell for row in numbers["rows"] if row["title"] != PRINTED for cell in row["cells"].values() if cell]
    printed = [cell for cell in cells if cell["published"] is not None and cell["accuracy"]["mean"] is not None]
    below = sum(map(is_short, printed))
    if not printed:
        return ""
    return (
        f"Of {len(printed)} cells that have a figure in the paper's table, {PRINTED} left aside, {below} are more than "
        "a standard deviation (a point, where none is printed) below it."
    )
