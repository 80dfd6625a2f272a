"""The table of tables and figures: one row each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from confgcn.exceptions import unknown_name
from confgcn.experiments.paper import claims, figure1, figure2, figure3, figure4, presets, table1, table2
from confgcn.experiments.paper.jobs import Job
from confgcn.experiments.paper.results import Results
from confgcn.experiments.paper.scope import Scope


@dataclass(frozen=True)
class Artefact:
    """``jobs`` says what has to be run, ``numbers`` what is shown, as it is written into JSON.

    An examination has no jobs: it looks at graphs or at models that it trains itself.
    """

    jobs: Callable[[Scope], list[Job]]
    numbers: Callable[[Scope, Results], dict[str, Any]]
    is_examination: bool


ARTEFACTS = {
    module.__name__.rpartition(".")[2]: Artefact(module.jobs, module.numbers, module in (table1, figure1))
    for module in (table1, table2, figure1, figure2, figure3, figure4, claims, presets)
}
BEYOND = ("presets",)  # what the paper does not have, and "all" therefore leaves out


def artefacts_named(names: tuple[str, ...]) -> dict[str, Artefact]:
    """The rows with these names; "all" is everything that the paper has."""
    for name in names:
        if name not in (*ARTEFACTS, ALL):
            raise unknown_name("table or figure", name, [*ARTEFACTS, ALL])
    wanted = {*names, *(set(ARTEFACTS) - set(BEYOND) if ALL in names else ())}
    return {name: row for name, row in ARTEFACTS.items() if name in wanted}


ALL = "all"
