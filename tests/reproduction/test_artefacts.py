"""The registry: every table and figure has its row, its numbers, its texts and its pictures."""

from __future__ import annotations

import json
from typing import Any

import pytest

from confgcn.exceptions import UsageError
from confgcn.io.json_files import to_json
from reproduction.artefacts import ALL, ARTEFACTS, BEYOND_PAPER, IN_PAPER, artefacts_named
from reproduction.jobs import Scope
from reproduction.rendering import HOLDS
from reproduction.results import Results

WITHOUT_RUNS = ("table1", "figure1")
FROM_RUNS = [name for name in ARTEFACTS if name not in WITHOUT_RUNS]
CELL = {"mean": 0.5, "std": 0.01, "runs": 2, "diverged": 0}
FIGURE2 = {"datasets": {"demo": [{"title": "GAT", "entropy": [CELL] * 4, "degree": [CELL] * 4}]}}
FIGURE3 = {
    "depths": [1, 2],
    "datasets": {
        name: [{"title": "Kipf-GCN", "activation": "with ReLU", "cells": [CELL, CELL], "drop": 0.0}]
        for name in ("cora", "pubmed")
    },
    "baselines": {},
    "controls": {},
}


def names_of(*names: str) -> list[str]:
    return [artefact.name for artefact in artefacts_named(names)]


def test_all_stands_for_the_artefacts_of_the_paper() -> None:
    assert names_of(ALL) == [row.name for row in IN_PAPER]
    assert names_of(ALL, *(row.name for row in BEYOND_PAPER)) == list(ARTEFACTS)
    assert names_of("presets", "overview") == ["overview", "presets"]


def test_names_come_in_the_order_of_the_paper() -> None:
    assert names_of("figure3", "table2", "figure3") == ["table2", "figure3"]


def test_an_unknown_name_is_refused_with_a_suggestion() -> None:
    with pytest.raises(UsageError, match=r"unknown table or figure 'figure5': did you mean 'figure\d'\?"):
        artefacts_named(("table2", "figure5"))


@pytest.mark.parametrize("name", ARTEFACTS)
def test_jobs_are_those_of_the_scope(name: str) -> None:
    jobs = ARTEFACTS[name].jobs
    assert (jobs is None) == (name in WITHOUT_RUNS)
    if jobs is not None:
        assert {(job.dataset, job.seed) for job in jobs(Scope(seeds=1, datasets=("demo",)))} == {("demo", 0)}


@pytest.mark.parametrize("name", FROM_RUNS)
def test_without_runs_there_are_empty_tables_and_no_claim_holds(name: str, results: Results) -> None:
    numbers = ARTEFACTS[name].numbers(Scope(seeds=1, datasets=("demo",)), results)
    read_again = json.loads(to_json(numbers))
    assert all(check.outcome != HOLDS for check in ARTEFACTS[name].check_claims(read_again))
    assert ARTEFACTS[name].texts(read_again).keys() == {f"{name}.md", f"{name}.tex"}


def test_every_artefact_has_its_own_title_and_a_note() -> None:
    assert len({row.title for row in ARTEFACTS.values()}) == len(ARTEFACTS)
    for name, row in ARTEFACTS.items():
        assert row.note.endswith(".")
        if name[-1].isdigit():
            assert row.title.startswith(f"{name[:-1].capitalize()} {name[-1]}: ")


def test_only_the_paper_has_claims_to_check() -> None:
    default = BEYOND_PAPER[0].check_claims
    assert {row.check_claims for row in BEYOND_PAPER} == {default}
    assert default({}) == []
    assert default not in {row.check_claims for row in IN_PAPER}


def test_texts_hold_every_table_with_its_caption() -> None:
    files = ARTEFACTS["figure3"].texts(FIGURE3)
    assert files.keys() == {"figure3.md", "figure3.tex"}
    for caption in ("cora: test accuracy", "pubmed: test accuracy"):
        assert files["figure3.md"].decode().count(caption) == 1
        assert files["figure3.tex"].decode().count(rf"\caption{{{caption}") == 1
    assert files["figure3.tex"].decode().count(r"\begin{tabular}") == 2


@pytest.mark.parametrize(("name", "numbers"), [("figure2", FIGURE2), ("figure3", FIGURE3)])
def test_the_same_numbers_give_the_same_bytes(name: str, numbers: dict[str, Any]) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    before = dict(matplotlib.rcParams)
    first, second = ARTEFACTS[name].pictures(numbers), ARTEFACTS[name].pictures(numbers)
    assert first.keys() == {f"{name}.svg", f"{name}.png"}
    assert first == second
    assert first[f"{name}.svg"].startswith(b"<?xml")
    assert first[f"{name}.png"].startswith(b"\x89PNG")
    assert dict(matplotlib.rcParams) == before


def test_without_numbers_there_is_no_picture() -> None:
    pytest.importorskip("matplotlib")
    assert ARTEFACTS["figure2"].pictures({"datasets": {}}) == {}


@pytest.mark.parametrize("name", [name for name, row in ARTEFACTS.items() if row.draw is None])
def test_a_table_has_no_picture(name: str) -> None:
    assert ARTEFACTS[name].pictures({}) == {}
