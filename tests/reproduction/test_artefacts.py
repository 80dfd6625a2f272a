"""Every table and figure has its row, its numbers and its ink."""

from __future__ import annotations

import json

import pytest

from confgcn.exceptions import UsageError
from confgcn.io.json_files import to_json
from reproduction.artefacts import ABOUT, ALL, ARTEFACTS, BEYOND, OF_THE_PAPER, artefacts_named
from reproduction.render import PARTS, texts_of
from reproduction.results import Results
from reproduction.scope import Scope
from reproduction.verdict import HOLDS

EXAMINATIONS = ("table1", "figure1")
FROM_RUNS = [name for name in PARTS if name not in EXAMINATIONS]


def test_what_has_numbers_has_a_part_of_the_report() -> None:
    assert list(ARTEFACTS) == [*PARTS, ABOUT]
    assert list(PARTS) == [*OF_THE_PAPER, *BEYOND]


def test_all_is_what_the_paper_has() -> None:
    everything = list(artefacts_named((ALL,)))
    assert everything == ["table1", "table2", "figure1", "figure2", "figure3", "figure4", "claims", ABOUT]
    assert list(artefacts_named((ALL, *BEYOND))) == list(ARTEFACTS)
    assert list(artefacts_named(("presets", "overview"))) == ["overview", "presets", ABOUT]


def test_names_come_in_the_order_of_the_paper() -> None:
    assert list(artefacts_named(("figure3", "table2", "figure3"))) == ["table2", "figure3", ABOUT]


def test_an_unknown_name_is_refused_with_what_was_meant() -> None:
    with pytest.raises(UsageError, match=r"unknown table or figure 'figure5': did you mean 'figure\d'\?"):
        artefacts_named(("table2", "figure5"))


def test_what_comes_with_everything_cannot_be_asked_for_by_itself() -> None:
    with pytest.raises(UsageError, match="unknown table or figure 'about'"):
        artefacts_named((ABOUT,))


@pytest.mark.parametrize("name", ARTEFACTS)
def test_runs_are_asked_for_where_they_are_needed(name: str) -> None:
    jobs = ARTEFACTS[name].jobs(Scope(seeds=1, datasets=("demo",)))
    assert bool(jobs) == (name in FROM_RUNS)
    assert ARTEFACTS[name].is_examination == (name in EXAMINATIONS)
    assert {(job.dataset, job.seed) for job in jobs} <= {("demo", 0)}


@pytest.mark.parametrize("name", FROM_RUNS)
def test_without_a_run_there_are_numbers_of_nothing(name: str, results: Results) -> None:
    numbers = ARTEFACTS[name].numbers(Scope(seeds=1, datasets=("demo",)), results)
    read_again = json.loads(to_json(numbers))
    assert all(verdict.finding != HOLDS for verdict in PARTS[name].verdicts(read_again))
    assert texts_of(name, read_again).keys() == {f"{name}.md", f"{name}.tex"}
