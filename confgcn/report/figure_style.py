"""What the pictures share: readable in black and white, error bars, the same bytes for the same numbers."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from confgcn.exceptions import ResourceError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLE: Any = {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": "0"}
GROUP_NAMES = ("lowest", "2nd", "3rd", "highest")
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
