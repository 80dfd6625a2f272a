"""The charts of one run, each with a sentence that describes it and a table of its numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from confgcn.report.charts import Axis, Chart, Line, thinned
from confgcn.report.formatting import Numbers, count, decimal, percent

LOG_RATIO = 30.0  # of largest to smallest value, from which on the scale is logarithmic
MAX_ROWS = 25  # of a table of epochs or of a curve
GROUPS = (
    ("degree", "number of neighbours (quartile)", "By number of neighbours"),
    ("entropy", "entropy of the neighbours' labels (quartile)", "By label entropy of the neighbourhood"),
    ("distance", "hops to the nearest training label", "By distance to a training label"),
)
QUARTILE_LABELS = ("lowest", "2nd", "3rd", "highest")
GROUP_LABELS = {"no_label_in_component": "none", "isolated": "isolated", "distance_4_or_more": "4+"}


@dataclass(frozen=True)
class Figure:
    """A chart with a description and a table of its numbers."""

    title: str
    sentence: str
    svg: Markup
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


def reliability(curves: Numbers) -> Figure:
    """Accuracy against confidence."""
    bins = curves["calibrated"]["reliability"]
    inside = sum(b["low"] <= b["accuracy"] <= b["high"] for b in bins)
    sentence = (
        f"Nodes are grouped by confidence. Points of a calibrated model lie on the diagonal, up to chance: {inside} of "
        f"{len(bins)} points lie in the grey 95 % band."
    )
    lines = [
        Line("raw", [(b["confidence"], b["accuracy"]) for b in curves["raw"]["reliability"]], "second"),
        Line("calibrated", [(b["confidence"], b["accuracy"]) for b in bins], "first", has_dots=True),
    ]
    chart = Chart(
        "Reliability diagram",
        sentence,
        Axis("probability of the predicted label", 0, 1, is_percent=True),
        Axis("accuracy", 0, 1, is_percent=True),
        lines,
        band=[(b["confidence"], b["low"], b["high"]) for b in bins],
        has_diagonal=True,
    )
    header = ("nodes", "confidence", "accuracy", "95 % band")
    rows = [
        (
            count(b["count"]),
            f"{percent(b['confidence'])} %",
            f"{percent(b['accuracy'])} %",
            f"{percent(b['low'])} to {percent(b['high'])} %",
        )
        for b in bins
    ]
    return Figure("Reliability diagram", sentence, chart.svg(), header, rows)


def risk_coverage(curves: Numbers) -> Figure:
    """Error rate of the most confident nodes against their share."""
    drawn = {kind: _risks(curves[kind]["risk_coverage"]) for kind in ("calibrated", "raw")}
    half = next(risk for share, risk in drawn["calibrated"] if share >= 0.5)
    sentence = (
        f"The error rate when only the most confident nodes are kept: {percent(drawn['calibrated'][-1][1])} % of all "
        f"nodes, {percent(half)} % of the more confident half."
    )
    top = max(risk for points in drawn.values() for _, risk in points)
    lines = [Line("raw", drawn["raw"], "second"), Line("calibrated", drawn["calibrated"], "first")]
    chart = Chart(
        "Risk-coverage curve",
        sentence,
        Axis("coverage (share of nodes kept)", 0, 1, is_percent=True),
        Axis("error rate", 0, max(top, 0.01), is_percent=True),
        lines,
    )
    pairs = zip(*(thinned(drawn[kind], MAX_ROWS) for kind in ("calibrated", "raw")), strict=True)
    rows = [(f"{percent(a[0])} %", f"{percent(a[1])} %", f"{percent(b[1])} %") for a, b in pairs]
    return Figure("Risk-coverage curve", sentence, chart.svg(), ("coverage", "error rate", "error rate, raw"), rows)


def _risks(curve: Numbers) -> list[tuple[float, float]]:
    return thinned(list(zip(curve["coverage"], curve["risk"], strict=True)))


def groups(curves: Numbers) -> list[Figure]:
    """Accuracy and confidence by position in the graph; a property with a single group is left out."""
    charts = []
    for kind, label, title in GROUPS:
        members = [group for group in curves["groups"] if _kind(group["name"]) == kind]
        if len(members) > 1:
            charts.append(_group_chart(members, label, title))
    return charts


def _kind(name: str) -> str:
    return "distance" if name in GROUP_LABELS else name.partition("_")[0]


def _group_chart(groups: Sequence[Numbers], label: str, title: str) -> Figure:
    gaps = [group["confidence"] - group["accuracy"] for group in groups]
    worst = max(range(len(groups)), key=lambda number: abs(gaps[number]))
    names = [_group_label(group["name"]) for group in groups]
    sentence = (
        f"Accuracy and mean calibrated confidence. The largest difference is in the group “{names[worst]}”: confidence "
        f"{percent(groups[worst]['confidence'])} %, accuracy {percent(groups[worst]['accuracy'])} %."
    )
    values = [group[key] for group in groups for key in ("accuracy", "confidence")]
    lines = [
        Line("confidence", [(x, group["confidence"]) for x, group in enumerate(groups)], "second", has_dots=True),
        Line("accuracy", [(x, group["accuracy"]) for x, group in enumerate(groups)], "first", has_dots=True),
    ]
    chart = Chart(
        title,
        sentence,
        Axis(label, -0.4, len(groups) - 0.6, marks=list(enumerate(names))),
        Axis("accuracy, confidence", min(0.5, math.floor(10 * min(values)) / 10), 1, is_percent=True),
        lines,
    )
    rows = [
        (name, count(group["count"]), f"{percent(group['confidence'])} %", f"{percent(group['accuracy'])} %")
        for name, group in zip(names, groups, strict=True)
    ]
    return Figure(title, sentence, chart.svg(), ("group", "nodes", "confidence", "accuracy"), rows)


def _group_label(name: str) -> str:
    if name in GROUP_LABELS:
        return GROUP_LABELS[name]
    last = name.rpartition("_")[2]
    return QUARTILE_LABELS[int(last[1]) - 1] if last.startswith("q") else last


def losses(history: Sequence[Numbers]) -> Figure | None:
    """The terms of the objective over the epochs; None for a method that is not trained."""
    terms = [name for name in history[0] if name.startswith("loss_")] if history else []
    if not terms:
        return None
    drawn = {name: [(record["epoch"], record[name]) for record in history if name in record] for name in terms}
    values = [value for points in drawn.values() for _, value in points]
    above = [value for value in values if value > 0]
    is_log = bool(above) and min(values) >= 0 and max(above) > LOG_RATIO * min(above)
    if is_log:
        drawn = {name: [point for point in points if point[1] > 0] for name, points in drawn.items()}
    first, last = history[0]["loss"], history[-1]["loss"]
    sentence = (
        f"The weighted terms of the objective in each of {count(len(history))} epochs"
        f"{', on a logarithmic scale' if is_log else ''}. Their sum is {first:.3g} in the first and {last:.3g} in the "
        "last epoch."
    )
    lines = [
        Line(name.removeprefix("loss_"), thinned(points), f"term-{number % 6}")
        for number, (name, points) in enumerate(drawn.items())
        if points
    ]
    y = Axis("loss term", *_bounds(above if is_log else values, is_log=is_log), is_log=is_log)
    chart = Chart("Loss over epochs", sentence, _epochs(history), y, lines)
    rows = [
        (count(record["epoch"]), *(f"{record[name]:.4g}" if name in record else "–" for name in ("loss", *terms)))
        for record in _some(history)
    ]
    header = ("epoch", "loss", *(name.removeprefix("loss_") for name in terms))
    return Figure("Loss", sentence, chart.svg(), header, rows)


def validation(history: Sequence[Numbers], selected: int | None) -> Figure | None:
    """Accuracy on validation nodes, and the epoch whose weights were selected."""
    records = [record for record in history if record.get("validation_accuracy") is not None]
    if not records:
        return None
    kept = next((record for record in records if record["epoch"] == selected), None)
    choice = f"The weights of epoch {selected} were selected" if kept else "The last weights were selected"
    value = f", with an accuracy of {percent(kept['validation_accuracy'])} %" if kept else ""
    sentence = f"Accuracy on the validation nodes after each epoch. {choice}{value}."
    points = [(record["epoch"], record["validation_accuracy"]) for record in records]
    lowest = math.floor(10 * min(value for _, value in points)) / 10
    chart = Chart(
        "Validation accuracy over epochs",
        sentence,
        _epochs(history),
        Axis("validation accuracy", min(lowest, 0.9), 1, is_percent=True),
        [Line("accuracy", thinned(points), "first")],
        marker=(kept["epoch"], f"epoch {selected}") if kept else None,
        has_line_labels=False,
    )
    rows = [
        (count(r["epoch"]), f"{percent(r['validation_accuracy'])} %", decimal(r.get("validation_loss"), 3))
        for r in _some(records)
    ]
    return Figure("Validation accuracy", sentence, chart.svg(), ("epoch", "accuracy", "log loss"), rows)


def _epochs(history: Sequence[Numbers]) -> Axis:
    return Axis("epoch", history[0]["epoch"], max(history[-1]["epoch"], history[0]["epoch"] + 1))


def _bounds(values: Sequence[float], *, is_log: bool) -> tuple[float, float]:
    if is_log:
        return min(values), max(values)
    return min(0.0, min(values)), max(max(values), min(values) + 1e-12)


def _some(records: Sequence[Numbers]) -> list[Numbers]:
    """At most ``MAX_ROWS`` of the records, with the last one."""
    places = dict.fromkeys(round(place) for place, _ in thinned([(n, 0.0) for n in range(len(records))], MAX_ROWS))
    return [records[place] for place in places]
