"""The registry of tables and figures: one row each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from confgcn.exceptions import unknown_name
from confgcn.report.figures import figure_style
from reproduction import (
    ablations,
    claims,
    confidence,
    figure1,
    figure2,
    figure3,
    figure4,
    influence,
    overview,
    presets,
    robustness,
    table1,
    table2,
    targets,
)
from reproduction.formatting import Numbers
from reproduction.jobs import Job, Kind, Scope
from reproduction.plots import saved_pictures
from reproduction.rendering import ClaimCheck, Table
from reproduction.results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _no_claims(numbers: Numbers) -> list[ClaimCheck]:
    return []


@dataclass(frozen=True)
class Artefact:
    """A table or figure.

    Attributes:
        numbers: what is shown, as written into ``<name>.json``; all other functions read these numbers only.
        jobs: the runs that the numbers are made of; None where ``numbers`` computes everything itself.
        later_jobs: runs whose settings depend on the recorded results of ``jobs``.
        note: how to read it.
        draw: the picture, None for a table; its result is None where there is nothing to draw.
        kind: of its runs.
    """

    name: str
    title: str
    note: str
    numbers: Callable[[Scope, Results], dict[str, Any]]
    tables: Callable[[Numbers], dict[str, Table]]
    check_claims: Callable[[Numbers], list[ClaimCheck]] = _no_claims
    jobs: Callable[[Scope], list[Job]] | None = None
    later_jobs: Callable[[Scope, Results], list[Job]] | None = None
    draw: Callable[[Numbers], Figure | None] | None = None
    kind: Kind = "paper"

    def texts(self, numbers: Numbers) -> dict[str, bytes]:
        """The tables as Markdown and LaTeX, by file name."""
        tables = self.tables(numbers).values()
        return {
            f"{self.name}.md": "\n".join(f"{table.caption}\n\n{table.markdown()}" for table in tables).encode(),
            f"{self.name}.tex": "\n".join(table.latex() for table in tables).encode(),
        }

    def pictures(self, numbers: Numbers) -> dict[str, bytes]:
        """The picture as SVG and PNG, by file name; empty where there is nothing to draw."""
        if self.draw is None:
            return {}
        with figure_style():
            figure = self.draw(numbers)
            return {} if figure is None else saved_pictures(self.name, figure)


def _row(module: Any, title: str, kind: Kind = "paper") -> Artefact:
    """The row of a module, whose functions have the names of the fields."""
    names = ("check_claims", "jobs", "later_jobs", "draw")
    optional = {name: getattr(module, name) for name in names if hasattr(module, name)}
    name = module.__name__.rpartition(".")[2]
    return Artefact(name, title, module.NOTE, module.numbers, module.tables, kind=kind, **optional)


ALL = "all"
IN_PAPER = (
    _row(table1, "Table 1: the data sets"),
    _row(table2, "Table 2: every method (Q1)"),
    _row(figure1, "Figure 1: the motivating picture"),
    _row(figure2, "Figure 2: mixed neighbourhoods and many neighbours (Q2)"),
    _row(figure3, "Figure 3: depth (Q3)"),
    _row(figure4, "Figure 4: ablation of the objective (Q4)"),
    _row(claims, "Claims in the text"),
)
BEYOND_PAPER = (
    _row(overview, "Beyond the paper: effect of the influences"),
    _row(confidence, "Beyond the paper: quality of the confidences", "confidence"),
    _row(presets, "Beyond the paper: other settings"),
    _row(targets, "Beyond the paper: targets of the default", "robustness"),
    _row(robustness, "Beyond the paper: the default on other graphs, against common models", "robustness"),
    _row(influence, "Beyond the paper: learned and uniform influence of the default", "influence"),
    _row(ablations, "Beyond the paper: ablations of the default", "robustness"),
)
ARTEFACTS = {row.name: row for row in (*IN_PAPER, *BEYOND_PAPER)}


def artefacts_named(names: tuple[str, ...]) -> list[Artefact]:
    """The artefacts with these names, in the order of the registry; "all" stands for those of the paper."""
    for name in names:
        if name not in (*ARTEFACTS, ALL):
            raise unknown_name("table or figure", name, [*ARTEFACTS, ALL])
    wanted = {*names, *(row.name for row in IN_PAPER if ALL in names)}
    return [row for row in ARTEFACTS.values() if row.name in wanted]
