"""Pictures of how far one run can be trusted: reliability, risk against coverage, slice by slice."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from confgcn.report.figure_style import house_style, new_figure
from confgcn.report.formatting import Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KINDS = {"raw": ("s--", "white", "as predicted"), "calibrated": ("o-", "black", "calibrated")}


def pictures(curves: Numbers) -> dict[str, bytes]:
    """SVG by name, from the numbers of ``confgcn.runs.evaluate.curves``."""
    with house_style():
        drawn = {"reliability": _reliability, "risk_coverage": _risk_coverage, "groups": _groups}
        return {name: _svg(draw(curves)) for name, draw in drawn.items()}


def _reliability(curves: Numbers) -> Figure:
    figure, ((axis,),) = new_figure(rows=1, columns=1)
    axis.plot([0, 1], [0, 1], color="0.7", lw=1)
    for kind, (mark, fill, title) in KINDS.items():
        bins = curves[kind]["reliability"]
        places = [part["confidence"] for part in bins]
        axis.plot(places, [part["accuracy"] for part in bins], mark, color="black", mfc=fill, ms=4, lw=1, label=title)
    bins = curves["calibrated"]["reliability"]
    places = [part["confidence"] for part in bins]
    band = [part["low"] for part in bins], [part["high"] for part in bins]
    axis.fill_between(places, *band, color="0.9", lw=0, label="where the noise of so few nodes would put it")
    axis.set(xlabel="probability of the predicted label", ylabel="share that is right", xlim=(0, 1), ylim=(0, 1))
    axis.legend(frameon=False, fontsize=7)
    return figure


def _risk_coverage(curves: Numbers) -> Figure:
    figure, ((axis,),) = new_figure(rows=1, columns=1)
    for kind, (mark, _, title) in KINDS.items():
        curve = curves[kind]["risk_coverage"]
        axis.plot(curve["coverage"], curve["risk"], mark[1:], color="black", lw=1, label=title)
    axis.set(xlabel="share of nodes kept, most confident first", ylabel="share of those that is wrong", xlim=(0, 1))
    axis.set_ylim(bottom=0)
    axis.legend(frameon=False, fontsize=7)
    return figure


def _groups(curves: Numbers) -> Figure:
    figure, ((axis,),) = new_figure(rows=1, columns=1)
    parts = curves["groups"]
    places = range(len(parts))
    _points(axis, places, [part["accuracy"] for part in parts], "o", "black", "share that is right")
    _points(axis, places, [part["confidence"] for part in parts], "s", "white", "mean probability, calibrated")
    axis.set_xticks(
        list(places), [f"{part['name'].replace('_', ' ')} ({part['count']})" for part in parts], rotation=90
    )
    axis.set_ylim(0, 1)
    axis.legend(frameon=False, fontsize=7)
    return figure


def _points(axis: Axes, places: range, values: list[float], mark: str, fill: str, title: str) -> None:
    axis.plot(list(places), values, mark, color="black", mfc=fill, ms=4.5, label=title)


def _svg(figure: Figure) -> bytes:
    stream = io.BytesIO()
    figure.savefig(stream, format="svg", metadata={"Date": None})
    return stream.getvalue()
