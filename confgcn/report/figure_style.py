"""What the pictures share: readable in black and white, error bars, the same bytes for the same numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from confgcn.exceptions import ResourceError
from confgcn.report.formatting import Numbers, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLE: Any = {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": "0"}
MARKS = ("o-", "s--", "^-.", "v:", "D-", "x--")
FILLS = ("black", "white", "0.6", "black", "white", "black")
GROUP_NAMES = ("lowest", "2nd", "3rd", "highest")
SHIFT = 0.07  # between lines that would hide each other
PANEL = (4.3, 3.0)  # inches


def house_style() -> AbstractContextManager[None]:
    """Within, pictures look as ours do; the settings of whoever called are left as they were."""
    try:
        import matplotlib
    except ImportError:
        raise ResourceError("drawing needs matplotlib: pip install 'confgcn[figures]'") from None
    return matplotlib.rc_context(STYLE)


def new_figure(*, rows: int, columns: int) -> tuple[Figure, list[list[Axes]]]:
    """A grid of panels."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(PANEL[0] * columns, PANEL[1] * rows), layout="constrained")
    return figure, [list(row) for row in figure.subplots(rows, columns, squeeze=False)]


def draw_line(
    axis: Axes,
    places: Iterable[float],
    cells: Sequence[Numbers | None],
    number: int,
    spread_over: int,
    title: str,
    *,
    joined: bool = True,
) -> None:
    """One line of cells with error bars; a place without a mean is left out. ``number`` chooses mark and fill."""
    shift = SHIFT * (number - (spread_over - 1) / 2) if spread_over > 1 else 0.0
    found = [
        (place + shift, cell) for place, cell in zip(places, cells, strict=True) if cell and cell["mean"] is not None
    ]
    mark = MARKS[number % len(MARKS)]
    options: dict[str, Any] = {"color": "black", "markerfacecolor": FILLS[number % len(FILLS)], "capsize": 2, "ms": 4.5}
    axis.errorbar(
        [place for place, _ in found],
        [100 * cell["mean"] for _, cell in found],
        [100 * (cell["std"] or 0.0) for _, cell in found],
        fmt=mark if joined else mark[0],
        lw=1,
        label=plain(title),
        **options,
    )
