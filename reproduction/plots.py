"""Panels, lines with error bars and picture files, in the style of ``confgcn.report.figures``."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from reproduction.formatting import Numbers, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKERS = ("o-", "s--", "^-.", "v:", "D-", "x--")
FILLS = ("black", "white", "0.6", "black", "white", "black")
LINE_OFFSET = 0.07  # horizontal distance between lines that would overlap
PAIR_OFFSET = 0.24  # horizontal distance between the two markers of one data set
PANEL = (4.3, 3.0)  # inches
PNG_DOTS_PER_INCH = 150


def new_figure(*, rows: int, columns: int) -> tuple[Figure, list[list[Axes]]]:
    """A grid of panels."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(PANEL[0] * columns, PANEL[1] * rows), layout="constrained")
    return figure, [list(row) for row in figure.subplots(rows, columns, squeeze=False)]


def draw_line(
    axis: Axes,
    positions: Iterable[float],
    cells: Sequence[Numbers | None],
    index: int,
    title: str,
    *,
    num_lines: int = 1,
    joined: bool = True,
) -> None:
    """Draw cells with error bars; cells without a mean are left out.

    ``index`` selects marker and fill; ``num_lines`` lines that would overlap are drawn side by side.
    """
    offset = LINE_OFFSET * (index - (num_lines - 1) / 2) if num_lines > 1 else 0.0
    points = [(x + offset, cell) for x, cell in zip(positions, cells, strict=True) if cell and cell["mean"] is not None]
    marker = MARKERS[index % len(MARKERS)]
    options: dict[str, Any] = {"color": "black", "markerfacecolor": FILLS[index % len(FILLS)], "capsize": 2, "ms": 4.5}
    axis.errorbar(
        [x for x, _ in points],
        [100 * cell["mean"] for _, cell in points],
        [100 * (cell["std"] or 0.0) for _, cell in points],
        fmt=marker if joined else marker[0],
        lw=1,
        label=plain(title),
        **options,
    )


def draw_pairs(axis: Axes, names: Sequence[str], lines: dict[str, list[Numbers | None]]) -> None:
    """Test accuracy of two variants side by side on every data set."""
    for index, (title, cells) in enumerate(lines.items()):
        positions = [place + PAIR_OFFSET * (index - 0.5) for place in range(len(names))]
        draw_line(axis, positions, cells, index, title, joined=False)
    axis.set(xlim=(-0.5, len(names) - 0.5), ylabel="test accuracy, %")
    axis.set_xticks(range(len(names)), names)
    axis.margins(y=0.3)


def saved_pictures(name: str, figure: Figure) -> dict[str, bytes]:
    """A figure as SVG and PNG, by file name."""
    return {f"{name}.svg": _saved(figure, "svg", metadata={"Date": None}), f"{name}.png": _saved(figure, "png")}


def _saved(figure: Figure, suffix: str, **options: Any) -> bytes:
    stream = io.BytesIO()
    figure.savefig(stream, format=suffix, dpi=PNG_DOTS_PER_INCH, **options)
    return stream.getvalue()
