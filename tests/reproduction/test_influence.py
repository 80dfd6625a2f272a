"""Learned and uniform influence of the default: which runs, one search for all results, and the tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from confgcn.data.synthetic import block_model
from confgcn.runs.search import Search
from reproduction.default_variants import CONSENSUS, DEFAULT, mixed
from reproduction.influence import MIXED_SEEDS, jobs, numbers, tables
from reproduction.influence_measurements import CandidateKeeper, InfluenceMeasurements, measure_influences
from reproduction.jobs import PAPER_GRAPHS, Job, Kind, Scope, Variant
from reproduction.results import FILES, Results, RunRecord
from reproduction.tasks import Task, perform

QUICK = DEFAULT.changed(DEFAULT.title, epochs=2, evaluate_every=1, hidden_dim=4)

Keep = Callable[..., None]


@pytest.fixture
def keep(results: Results) -> Keep:
    """Record runs of a kind, one for each row of measurements, from seed 0 on."""
    files: dict[Kind, Results] = {}

    def add(kind: Kind, dataset: str, variant: Variant, *rows: dict[str, float]) -> None:
        into = files.setdefault(kind, Results(results.folder, kind))
        for seed, row in enumerate(rows):
            job = Job(dataset, variant, seed, kind)
            identity = ("0" * 16, "e" * 16, "2026-11-18", dataset, variant.method, variant.preset, variant.changes_text)
            run = f"{dataset}/{job.settings_key}/{seed}"
            measured = FILES[kind].measured(row)
            into.add(RunRecord(run, job.settings_key, *identity, seed, "finished", measured), {"e" * 16: {}})

    return add


def test_benchmark_graphs_are_searched_with_and_without_additional_edges(development: Path) -> None:
    found = jobs(Scope(development=development))
    assert {job.kind for job in found} == {"influence"}
    on_cora = [(job.variant, job.seed) for job in found if job.dataset == "cora"]
    assert on_cora == [
        *((DEFAULT, seed) for seed in range(10)),
        *((mixed(DEFAULT), seed) for seed in range(MIXED_SEEDS)),
    ]
    on_halves = [(job.variant, job.seed) for job in found if job.dataset == "halves"]
    assert on_halves == [(DEFAULT, 2), (DEFAULT, 3)]
    assert {job.dataset for job in found} == {*PAPER_GRAPHS, "groups", "halves"}


def test_one_search_gives_all_results(development: Path, tmp_path: Path) -> None:
    job = Job("halves", QUICK, 2, "influence", development / "halves")
    outcome = perform(Task((job,), "key", tmp_path / "runs", None))
    assert isinstance(outcome, dict)
    measured = outcome["influence"]
    assert isinstance(measured, InfluenceMeasurements)
    assert None not in measured.cells()
    assert 0.0 <= measured.get("learned_share") <= 1.0
    assert not (tmp_path / "runs").exists()  # nothing is written


def test_a_run_and_its_influences_are_measured_of_one_search(
    development: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = Job("halves", QUICK, 2, "robustness", development / "halves")
    trained, train = [], Search.train
    monkeypatch.setattr(Search, "train", lambda search, trial: trained.append(trial.title) or train(search, trial))
    outcome = perform(Task((job, replace(job, kind="influence")), "key", tmp_path / "runs", None))
    assert isinstance(outcome, dict)
    assert len(trained) == len(set(trained))  # no candidate is trained twice
    run, influences = outcome["robustness"], outcome["influence"]
    assert influences.get("chosen_validation_accuracy") == run.get("validation_accuracy")
    assert influences.get("chosen_test_accuracy") == run.get("test_accuracy")
    assert run.get("processor_seconds") > 0
    alone = perform(Task((replace(job, kind="influence"),), "alone", tmp_path / "runs", None))
    assert isinstance(alone, dict)
    assert alone["influence"].cells() == influences.cells()


def test_roc_auc_is_for_two_classes_only() -> None:
    graph = block_model(120, num_classes=3, num_features=8, seed=1)
    measured = measure_influences(graph, mixed(QUICK).settings("demo"), seed=0, keeper=CandidateKeeper())
    assert measured.get("learned_test_roc_auc") is None
    assert measured.get("learned_test_accuracy") is not None


def row(chosen: float, learned: float, uniform: float) -> dict[str, float]:
    accuracies = {"chosen": chosen, "learned": learned, "uniform": uniform}
    measured: dict[str, float] = {"learned_share": 0.5}
    for name, value in accuracies.items():
        measured |= {f"{name}_test_accuracy": value, f"{name}_nll": 1.0 - value}
    return measured


def test_differences_are_paired_by_seed(results: Results, keep: Keep) -> None:
    keep("influence", "cora", DEFAULT, row(0.86, 0.86, 0.84), row(0.84, 0.82, 0.84), row(0.86, 0.86, 0.86))
    cora = numbers(Scope(), Results(results.folder, "influence"))["original"]["cora"]
    assert (cora["metric"], cora["runs"]) == ("accuracy", 3)
    assert cora["differences"]["learned"]["test"]["mean"] == pytest.approx(0.0)
    assert cora["differences"]["chosen"]["test"]["mean"] == pytest.approx(0.02 / 3)
    assert cora["differences"]["chosen"]["nll"]["mean"] == pytest.approx(-0.02 / 3)
    assert cora["differences"]["chosen"]["test"]["low"] < 0


def test_the_table_of_mixed_graphs_shows_the_former_default(results: Results, keep: Keep) -> None:
    keep("influence", "cora", mixed(DEFAULT), row(0.8, 0.8, 0.7), row(0.8, 0.8, 0.7))
    keep("confidence", "cora", mixed(CONSENSUS), {"test_accuracy": 0.74}, {"test_accuracy": 0.76})
    found = tables(numbers(Scope(), Results(results.folder, "influence")))
    assert list(found) == ["mixed"]
    (shown,) = found["mixed"].rows
    assert shown[:3] == ["cora (accuracy)", "2", "70.0 ± 0.0, 0.300"]
    assert shown[5:7] == ["+10.0 [+10.0, +10.0]", "+10.0 [+10.0, +10.0]"]
    assert shown[7] == "–"  # no measurement of validation nodes is recorded here
    assert shown[-2:] == ["50.0", "75.0 ± 1.4"]
    assert len(found["mixed"].header) == len(shown)


def test_without_runs_there_is_no_table(results: Results) -> None:
    empty: dict[str, Any] = numbers(Scope(), Results(results.folder, "influence"))
    assert tables(empty) == {}
