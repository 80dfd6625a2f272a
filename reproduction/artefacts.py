"""The table of tables and figures: one row each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from confgcn.exceptions import unknown_name
from reproduction import (
    about,
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
from reproduction.jobs import Job, Kind
from reproduction.results import Results
from reproduction.scope import Scope


@dataclass(frozen=True)
class Artefact:
    """``jobs`` says what has to be run, ``numbers`` what is shown, as it is written into JSON.

    An examination has no jobs: it looks at graphs or at models that it trains itself. ``kind``: of its runs.
    """

    jobs: Callable[[Scope], list[Job]]
    numbers: Callable[[Scope, Results], dict[str, Any]]
    is_examination: bool
    kind: Kind = "paper"


ALL, ABOUT = "all", "about"
OF_THE_PAPER = {
    "table1": Artefact(table1.jobs, table1.numbers, is_examination=True),
    "table2": Artefact(table2.jobs, table2.numbers, is_examination=False),
    "figure1": Artefact(figure1.jobs, figure1.numbers, is_examination=True),
    "figure2": Artefact(figure2.jobs, figure2.numbers, is_examination=False),
    "figure3": Artefact(figure3.jobs, figure3.numbers, is_examination=False),
    "figure4": Artefact(figure4.jobs, figure4.numbers, is_examination=False),
    "claims": Artefact(claims.jobs, claims.numbers, is_examination=False),
}
BEYOND = {
    "overview": Artefact(overview.jobs, overview.numbers, is_examination=False),
    "confidence": Artefact(confidence.jobs, confidence.numbers, is_examination=False, kind="confidence"),
    "presets": Artefact(presets.jobs, presets.numbers, is_examination=False),
}
ARTEFACTS = {**OF_THE_PAPER, **BEYOND, ABOUT: Artefact(about.jobs, about.numbers, is_examination=False)}


def artefacts_named(names: tuple[str, ...]) -> dict[str, Artefact]:
    """The rows with these names, and that about the runs; "all" is everything that the paper has."""
    for name in names:
        if name not in (*OF_THE_PAPER, *BEYOND, ALL):
            raise unknown_name("table or figure", name, [*OF_THE_PAPER, *BEYOND, ALL])
    wanted = {*names, ABOUT, *(OF_THE_PAPER if ALL in names else ())}
    return {name: row for name, row in ARTEFACTS.items() if name in wanted}
