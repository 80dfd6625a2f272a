"""Ablations of the default: which runs, the same seeds for all, and the table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from reproduction.ablations import ABLATIONS, ALONE, jobs, numbers, tables
from reproduction.default_variants import DEFAULT
from reproduction.jobs import Job, Kind, Scope, Variant
from reproduction.results import FILES, Results, RunRecord

Keep = Callable[..., None]


@pytest.fixture
def keep(results: Results) -> Keep:
    """Record runs of a kind, one for each row of measurements, from seed 0 on."""
    files: dict[Kind, Results] = {}

    def add(kind: Kind, variant: Variant, *rows: dict[str, float]) -> None:
        into = files.setdefault(kind, Results(results.folder, kind))
        for seed, row in enumerate(rows):
            job = Job("cora", variant, seed, kind)
            identity = ("0" * 16, "e" * 16, "2026-11-18", "cora", variant.method, variant.preset, variant.changes_text)
            run = f"{job.settings_key}/{seed}"
            measured = FILES[kind].measured(row)
            into.add(RunRecord(run, job.settings_key, *identity, seed, "finished", measured), {"e" * 16: {}})

    return add


def test_each_ablation_is_run_on_the_first_seeds_or_report_splits(development: Path) -> None:
    found = jobs(Scope(seeds=10, development=development, datasets=("cora", "halves")))
    assert {job.kind for job in found} == {"robustness"}  # the runs of the default are those of that table
    assert [job.seed for job in found if (job.dataset, job.variant) == ("cora", DEFAULT)] == [0, 1, 2]
    assert [job.seed for job in found if (job.dataset, job.variant) == ("halves", DEFAULT)] == [2, 3]
    assert len({job.settings_key for job in found if job.dataset == "cora"}) == len(ABLATIONS)


def test_test_nodes_can_be_left_out() -> None:
    assert {job.kind for job in jobs(Scope(datasets=("cora",), validation_only=True))} == {"validation"}


def test_development_graphs_are_left_out_without_their_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONFGCN_DATA", str(tmp_path))
    assert {job.dataset for job in jobs(Scope())} == {"cora", "pubmed"}


def test_a_change_applies_to_all_candidates() -> None:
    for variant in ABLATIONS[1:]:
        (name, value) = variant.changes[-1]
        settings = variant.settings("cora")
        applied = [candidate.applied_to(settings) for candidate in settings.candidates]
        found = [{**each.data.model_dump(), **each.model, **each.recipe.model_dump()}[name] for each in applied]
        assert set(found) == {value}


def row(accuracy: float) -> dict[str, float]:
    return {"test_accuracy": accuracy, "validation_accuracy": accuracy, "nll": 0.5}


def test_all_means_are_over_the_seeds_that_all_have(results: Results, keep: Keep) -> None:
    keep("robustness", DEFAULT, row(0.80), row(0.82), row(0.1))
    keep("robustness", ABLATIONS[1], row(0.79), row(0.80))
    keep("influence", DEFAULT, *({"single_test_accuracy": a, "single_nll": 0.6} for a in (0.7, 0.7, 0.1)))
    found = numbers(Scope(), Results(results.folder, "robustness"))
    cora = found["graphs"]["cora"]
    assert cora["seeds"] == [0, 1]
    assert cora["variants"][DEFAULT.title]["metric"]["mean"] == pytest.approx(0.81)
    assert cora["variants"]["uniform influence"]["difference"]["mean"] == pytest.approx(-0.015)
    assert cora["variants"][ALONE]["metric"]["mean"] == pytest.approx(0.7)
    rows = {title: cells for title, *cells in tables(found)["ablations"].rows}
    assert rows[DEFAULT.title] == ["81.0 ± 1.4 / – / 0.500 / 81.0 ± 1.4", "–", "–", "–"]
    assert rows["without L_const"] == ["–"] * 4


def test_without_runs_there_is_no_table(results: Results) -> None:
    assert tables(numbers(Scope(), Results(results.folder, "robustness"))) == {}
