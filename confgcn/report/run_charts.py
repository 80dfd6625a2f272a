"""The charts of one run, each with a sentence that says what is seen and a table of its numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from confgcn.report.charts import Axis, Chart, Line, thinned
from confgcn.report.figure_style import GROUP_NAMES
from confgcn.report.formatting import Numbers, count, decimal, percent

SPREAD_FOR_LOG = 30.0  # from the least to the largest of what is drawn
MOST_ROWS = 25  # of a table of epochs or of a curve
SLICES = (
    ("degree", "neighbours", "By number of neighbours", "from the fewest to the most neighbours"),
    ("entropy", "mixing of the labels around the node", "By neighbourhood entropy", "from like labels to mixed ones"),
    ("distance", "hops to the nearest given label", "By distance from a label", "from near to far"),
)
WORDS = {"no_label_in_component": "none", "isolated": "alone", "distance_4_or_more": "4+"}


@dataclass(frozen=True)
class Figure:
    """A chart, what it shows in a sentence, and its numbers."""

    title: str
    sentence: str
    svg: Markup
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


def reliability(curves: Numbers) -> Figure:
    """Is what the run says of its certainty true?"""
    bins = curves["calibrated"]["reliability"]
    inside = sum(part["low"] <= part["accuracy"] <= part["high"] for part in bins)
    sentence = (
        f"Nodes of similar probability are put together. Where the probabilities are true, points lie on the "
        f"diagonal. Of {len(bins)} groups {inside} lie in the grey band, as far as chance alone would move them."
    )
    lines = [
        Line("raw", [(part["confidence"], part["accuracy"]) for part in curves["raw"]["reliability"]], "second"),
        Line("calibrated", [(part["confidence"], part["accuracy"]) for part in bins], "first", has_dots=True),
    ]
    chart = Chart(
        "Reliability diagram",
        sentence,
        Axis("probability of the predicted label", 0, 1, is_percent=True),
        Axis("share that is right", 0, 1, is_percent=True),
        lines,
        band=[(part["confidence"], part["low"], part["high"]) for part in bins],
        has_diagonal=True,
    )
    header = ("nodes", "says", "is right", "chance allows")
    rows = [
        (
            count(part["count"]),
            f"{percent(part['confidence'])} %",
            f"{percent(part['accuracy'])} %",
            f"{percent(part['low'])} to {percent(part['high'])} %",
        )
        for part in bins
    ]
    return Figure("Do the probabilities hold?", sentence, chart.svg(), header, rows)


def risk_coverage(curves: Numbers) -> Figure:
    """What is gained by keeping only the most confident?"""
    drawn = {kind: _risks(curves[kind]["risk_coverage"]) for kind in ("calibrated", "raw")}
    half = next(risk for share, risk in drawn["calibrated"] if share >= 0.5)
    sentence = (
        f"Only the most confident nodes are kept. Of all, {percent(drawn['calibrated'][-1][1])} % are wrong; of the "
        f"more confident half, {percent(half)} %."
    )
    top = max(risk for points in drawn.values() for _, risk in points)
    lines = [Line("raw", drawn["raw"], "second"), Line("calibrated", drawn["calibrated"], "first")]
    chart = Chart(
        "Risk-coverage curve",
        sentence,
        Axis("share of nodes kept, most confident first", 0, 1, is_percent=True),
        Axis("share of those that is wrong", 0, max(top, 0.01), is_percent=True),
        lines,
    )
    pairs = zip(*(thinned(drawn[kind], MOST_ROWS) for kind in ("calibrated", "raw")), strict=True)
    rows = [(f"{percent(a[0])} %", f"{percent(a[1])} %", f"{percent(b[1])} %") for a, b in pairs]
    return Figure("What if only the surest are kept?", sentence, chart.svg(), ("kept", "wrong", "wrong, raw"), rows)


def _risks(curve: Numbers) -> list[tuple[float, float]]:
    return thinned(list(zip(curve["coverage"], curve["risk"], strict=True)))


def groups(curves: Numbers) -> list[Figure]:
    """Accuracy and confidence by place in the graph; a kind of place with a single part is left out."""
    found = []
    for kind, label, title, order in SLICES:
        parts = [part for part in curves["groups"] if _kind(part["name"]) == kind]
        if len(parts) > 1:
            found.append(_slice(parts, label, title, order))
    return found


def _kind(name: str) -> str:
    return "distance" if name in WORDS else name.partition("_")[0]


def _slice(parts: Sequence[Numbers], label: str, title: str, order: str) -> Figure:
    gaps = [part["confidence"] - part["accuracy"] for part in parts]
    worst = max(range(len(parts)), key=lambda number: abs(gaps[number]))
    names = [_word(part["name"]) for part in parts]
    sentence = (
        f"Nodes in groups, {order}: how many labels are right, and what the calibrated probabilities say. They are "
        f"farthest apart in the group “{names[worst]}”: {percent(parts[worst]['confidence'])} % said, "
        f"{percent(parts[worst]['accuracy'])} % right."
    )
    values = [part[key] for part in parts for key in ("accuracy", "confidence")]
    lines = [
        Line("says", [(place, part["confidence"]) for place, part in enumerate(parts)], "second", has_dots=True),
        Line("is right", [(place, part["accuracy"]) for place, part in enumerate(parts)], "first", has_dots=True),
    ]
    chart = Chart(
        title,
        sentence,
        Axis(label, -0.4, len(parts) - 0.6, marks=list(enumerate(names))),
        Axis("share of nodes", min(0.5, math.floor(10 * min(values)) / 10), 1, is_percent=True),
        lines,
    )
    rows = [
        (name, count(part["count"]), f"{percent(part['confidence'])} %", f"{percent(part['accuracy'])} %")
        for name, part in zip(names, parts, strict=True)
    ]
    return Figure(title, sentence, chart.svg(), ("group", "nodes", "says", "is right"), rows)


def _word(name: str) -> str:
    if name in WORDS:
        return WORDS[name]
    last = name.rpartition("_")[2]
    return GROUP_NAMES[int(last[1]) - 1] if last.startswith("q") else last


def losses(history: Sequence[Numbers]) -> Figure | None:
    """The terms of the objective over the epochs; None for a method that is not trained."""
    terms = [name for name in history[0] if name.startswith("loss_")] if history else []
    if not terms:
        return None
    drawn = {name: [(record["epoch"], record[name]) for record in history if name in record] for name in terms}
    values = [value for points in drawn.values() for _, value in points]
    above = [value for value in values if value > 0]
    is_log = bool(above) and min(values) >= 0 and max(above) > SPREAD_FOR_LOG * min(above)
    if is_log:
        drawn = {name: [point for point in points if point[1] > 0] for name, points in drawn.items()}
    first, last = history[0]["loss"], history[-1]["loss"]
    sentence = (
        f"The terms of the objective, weighted, in each of {count(len(history))} epochs"
        f"{', on a logarithmic scale' if is_log else ''}. Their sum went from {first:.3g} to {last:.3g}."
    )
    lines = [
        Line(name.removeprefix("loss_"), thinned(points), f"term-{number % 6}")
        for number, (name, points) in enumerate(drawn.items())
        if points
    ]
    y = Axis("part of the loss", *_bounds(above if is_log else values, is_log=is_log), is_log=is_log)
    chart = Chart("Loss over epochs", sentence, _epochs(history), y, lines)
    rows = [
        (count(record["epoch"]), *(f"{record[name]:.4g}" if name in record else "–" for name in ("loss", *terms)))
        for record in _some(history)
    ]
    header = ("epoch", "loss", *(name.removeprefix("loss_") for name in terms))
    return Figure("Loss", sentence, chart.svg(), header, rows)


def validation(history: Sequence[Numbers], selected: int | None) -> Figure | None:
    """Accuracy on validation nodes, and the epoch whose weights were kept."""
    looks = [record for record in history if record.get("validation_accuracy") is not None]
    if not looks:
        return None
    kept = next((record for record in looks if record["epoch"] == selected), None)
    said = f"The weights of epoch {selected} were kept" if kept else "The last weights were kept"
    reached = f", with {percent(kept['validation_accuracy'])} % right" if kept else ""
    sentence = f"The share of the held-out labels that are right after each epoch. {said}{reached}."
    points = [(record["epoch"], record["validation_accuracy"]) for record in looks]
    lowest = math.floor(10 * min(value for _, value in points)) / 10
    chart = Chart(
        "Validation accuracy over epochs",
        sentence,
        _epochs(history),
        Axis("validation accuracy", min(lowest, 0.9), 1, is_percent=True),
        [Line("accuracy", thinned(points), "first")],
        rule=(kept["epoch"], f"epoch {selected}") if kept else None,
        names_lines=False,
    )
    rows = [
        (count(r["epoch"]), f"{percent(r['validation_accuracy'])} %", decimal(r.get("validation_loss"), 3))
        for r in _some(looks)
    ]
    return Figure("Validation", sentence, chart.svg(), ("epoch", "accuracy", "log loss"), rows)


def _epochs(history: Sequence[Numbers]) -> Axis:
    return Axis("epoch", history[0]["epoch"], max(history[-1]["epoch"], history[0]["epoch"] + 1))


def _bounds(values: Sequence[float], *, is_log: bool) -> tuple[float, float]:
    if is_log:
        return min(values), max(values)
    return min(0.0, min(values)), max(max(values), min(values) + 1e-12)


def _some(records: Sequence[Numbers]) -> list[Numbers]:
    """At most as many as a table is to have, the last one among them."""
    places = dict.fromkeys(round(place) for place, _ in thinned([(n, 0.0) for n in range(len(records))], MOST_ROWS))
    return [records[place] for place in places]
