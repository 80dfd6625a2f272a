"""The table of tables and figures: one row each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from confgcn.exceptions import unknown_name
from confgcn.experiments.paper import claims, figure1, figure2, figure3, figure4, table1, table2
from confgcn.experiments.paper.jobs import Job
from confgcn.experiments.paper.results import Results
from confgcn.experiments.paper.scope import Scope


@dataclass(frozen=True)
class Artefact:
    """``jobs`` says what has to be run, ``numbers`` what is shown, as it is written into JSON."""

    jobs: Callable[[Scope], list[Job]]
    numbers: Callable[[Scope, Results], dict[str, Any]]


ARTEFACTS = {
    module.__name__.rpartition(".")[2]: Artefact(module.jobs, module.numbers)
    for module in (table1, table2, figure1, figure2, figure3, figure4, claims)
}


def artefacts_named(names: tuple[str, ...]) -> dict[str, Artefact]:
    """The rows with these names; "all" is every one."""
    for name in names:
        if name not in (*ARTEFACTS, ALL):
            raise unknown_name("table or figure", name, [*ARTEFACTS, ALL])
    return {name: row for name, row in ARTEFACTS.items() if ALL in names or name in names}


ALL = "all"
