"""From the numbers of tables and figures to files: Markdown and LaTeX, SVG and PNG, and the page of results."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from confgcn.reporting import claims, figure1, figure2, figure3, figure4, presets, table1, table2
from confgcn.reporting.ink import house_style
from confgcn.reporting.tables import Table
from confgcn.reporting.verdict import Verdict
from confgcn.reporting.words import Numbers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PNG_DOTS_PER_INCH = 150


@dataclass(frozen=True)
class Part:
    """How a table or figure is shown."""

    tables: Callable[[Numbers], dict[str, Table]]
    verdicts: Callable[[Numbers], list[Verdict]]
    draw: Callable[[Numbers], Figure | None] | None = None


PARTS = {
    "table1": Part(table1.tables, table1.verdicts),
    "table2": Part(table2.tables, table2.verdicts),
    "figure1": Part(figure1.tables, figure1.verdicts, figure1.draw),
    "figure2": Part(figure2.tables, figure2.verdicts, figure2.draw),
    "figure3": Part(figure3.tables, figure3.verdicts, figure3.draw),
    "figure4": Part(figure4.tables, figure4.verdicts, figure4.draw),
    "claims": Part(claims.tables, claims.verdicts),
    "presets": Part(presets.tables, presets.verdicts),
}


def texts_of(name: str, numbers: Numbers) -> dict[str, bytes]:
    """The tables of one table or figure, by file name."""
    tables = PARTS[name].tables(numbers)
    files = {f"{name}.md": "\n".join(f"{table.caption}\n\n{table.markdown()}" for table in tables.values()).encode()}
    files[f"{name}.tex"] = "\n".join(table.latex() for table in tables.values()).encode()
    return files


def pictures_of(name: str, numbers: Numbers) -> dict[str, bytes]:
    """The pictures of a figure, by file name; none where it has none or nothing to show."""
    draw = PARTS[name].draw
    if draw is None:
        return {}
    with house_style():
        figure = draw(numbers)
        if figure is None:
            return {}
        return {f"{name}.svg": _saved(figure, "svg", metadata={"Date": None}), f"{name}.png": _saved(figure, "png")}


def _saved(figure: Figure, kind: str, **options: Any) -> bytes:
    stream = io.BytesIO()
    figure.savefig(stream, format=kind, dpi=PNG_DOTS_PER_INCH, **options)
    return stream.getvalue()
