"""How every table and figure is shown: one row each. From numbers to Markdown and LaTeX, SVG and PNG."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from confgcn.report.figure_style import house_style
from confgcn.report.formatting import Numbers
from reproduction.drawing import (
    claims,
    confidence,
    figure1,
    figure2,
    figure3,
    figure4,
    overview,
    presets,
    table1,
    table2,
)
from reproduction.tables import Table
from reproduction.verdict import Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PNG_DOTS_PER_INCH = 150


@dataclass(frozen=True)
class Part:
    """``note`` says how to read it; every table has its caption besides."""

    title: str
    note: str
    tables: Callable[[Numbers], dict[str, Table]]
    verdicts: Callable[[Numbers], list[Verdict]]
    draw: Callable[[Numbers], Figure | None] | None = None


PARTS = {
    "table1": Part("Table 1: the data sets", table1.NOTE, table1.tables, table1.verdicts),
    "table2": Part("Table 2: every method (Q1)", table2.NOTE, table2.tables, table2.verdicts),
    "figure1": Part("Figure 1: the motivating picture", figure1.NOTE, figure1.tables, figure1.verdicts, figure1.draw),
    "figure2": Part(
        "Figure 2: mixed neighbourhoods and many neighbours (Q2)",
        figure2.NOTE,
        figure2.tables,
        figure2.verdicts,
        figure2.draw,
    ),
    "figure3": Part("Figure 3: depth (Q3)", figure3.NOTE, figure3.tables, figure3.verdicts, figure3.draw),
    "figure4": Part(
        "Figure 4: without terms of the objective (Q4)",
        figure4.NOTE,
        figure4.tables,
        figure4.verdicts,
        figure4.draw,
    ),
    "claims": Part("What the text claims in passing", claims.NOTE, claims.tables, claims.verdicts),
    "overview": Part(
        "Beyond the paper: do the confidences matter?",
        overview.NOTE,
        overview.tables,
        overview.verdicts,
        overview.draw,
    ),
    "confidence": Part(
        "Beyond the paper: confidences that are true",
        confidence.NOTE,
        confidence.tables,
        confidence.verdicts,
        confidence.draw,
    ),
    "presets": Part("Beyond the paper: other settings", presets.NOTE, presets.tables, presets.verdicts),
}


def texts_of(name: str, numbers: Numbers) -> dict[str, bytes]:
    """The tables of one table or figure, by file name."""
    tables = PARTS[name].tables(numbers).values()
    return {
        f"{name}.md": "\n".join(f"{table.caption}\n\n{table.markdown()}" for table in tables).encode(),
        f"{name}.tex": "\n".join(table.latex() for table in tables).encode(),
    }


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
