"""Figures of `confgcn evaluate`: reliability diagram, risk-coverage curve and groups of nodes, as SVG."""

from __future__ import annotations

import io
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from confgcn.exceptions import ResourceError
from confgcn.report.formatting import Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLE: Any = {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": "0"}
SIZE = (4.3, 3.0)  # inches
KINDS = {"raw": ("s--", "white", "raw"), "calibrated": ("o-", "black", "calibrated")}


def evaluation_figures(curves: Numbers) -> dict[str, bytes]:
    """SVG by name, from the numbers of ``confgcn.runs.evaluate.curves``."""
    with figure_style():
        drawn = {"reliability": _reliability, "risk_coverage": _risk_coverage, "groups": _groups}
        return {name: _svg(draw(curves)) for name, draw in drawn.items()}


def figure_style() -> AbstractContextManager[None]:
    """A context with the style of the figures: legible in black and white, the same bytes for the same numbers."""
    try:
        import matplotlib
    except ImportError:
        raise ResourceError("drawing needs matplotlib: pip install 'confgcn[figures]'") from None
    return matplotlib.rc_context(STYLE)


def _new_figure() -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, layout="constrained")
    return figure, figure.subplots()


def _reliability(curves: Numbers) -> Figure:
    figure, axis = _new_figure()
    axis.plot([0, 1], [0, 1], color="0.7", lw=1)
    for kind, (mark, fill, title) in KINDS.items():
        bins = curves[kind]["reliability"]
        places = [b["confidence"] for b in bins]
        axis.plot(places, [b["accuracy"] for b in bins], mark, color="black", mfc=fill, ms=4, lw=1, label=title)
    bins = curves["calibrated"]["reliability"]
    places = [b["confidence"] for b in bins]
    band = [b["low"] for b in bins], [b["high"] for b in bins]
    axis.fill_between(places, *band, color="0.9", lw=0, label="95 % chance interval if calibrated")
    axis.set(xlabel="probability of the predicted label", ylabel="accuracy", xlim=(0, 1), ylim=(0, 1))
    axis.legend(frameon=False, fontsize=7)
    return figure


def _risk_coverage(curves: Numbers) -> Figure:
    figure, axis = _new_figure()
    for kind, (mark, _, title) in KINDS.items():
        curve = curves[kind]["risk_coverage"]
        axis.plot(curve["coverage"], curve["risk"], mark[1:], color="black", lw=1, label=title)
    axis.set(
        xlabel="coverage (share of nodes kept, most confident first)",
        ylabel="error rate of the kept nodes",
        xlim=(0, 1),
    )
    axis.set_ylim(bottom=0)
    axis.legend(frameon=False, fontsize=7)
    return figure


def _groups(curves: Numbers) -> Figure:
    figure, axis = _new_figure()
    groups = curves["groups"]
    places = range(len(groups))
    _points(axis, places, [group["accuracy"] for group in groups], "o", "black", "accuracy")
    _points(axis, places, [group["confidence"] for group in groups], "s", "white", "mean confidence, calibrated")
    axis.set_xticks(
        list(places), [f"{group['name'].replace('_', ' ')} ({group['count']})" for group in groups], rotation=90
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
