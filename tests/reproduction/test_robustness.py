"""The comparison with common models: which runs, which feature scaling, which best peer, and no test figures."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from confgcn.exceptions import UsageError
from confgcn.io.json_files import to_json
from reproduction import robustness
from reproduction.folder import render
from reproduction.jobs import PAPER_GRAPHS, Job, Kind, Scope, Variant
from reproduction.measurements import NamedMeasurements
from reproduction.reproduce import Observer, ReproductionRequest, reproduce
from reproduction.results import FILES, Results, RunRecord
from reproduction.robustness import (
    DEFAULT,
    PEERS,
    SCALINGS,
    chosen_peers,
    graphs,
    jobs,
    later_jobs,
    numbers,
    other_graphs,
    scaled,
    seeds_of,
    splits,
    tables,
)
from reproduction.robustness_measurements import TEST_NAMES

GCN, GAT, APPNP, SAGE, MLP, LOGISTIC, BOOSTING = PEERS
QUICK = Variant("MLP", "mlp").changed("MLP", epochs=3)

Keep = Callable[..., None]


@pytest.fixture
def keep(results: Results) -> Keep:
    """Record runs of a kind, one for each value of the measurement, from seed 0 on."""
    tables: dict[Kind, Results] = {}

    def add(kind: Kind, dataset: str, variant: Variant, *rows: dict[str, float], first_seed: int = 0) -> None:
        into = tables.setdefault(kind, Results(results.folder, kind))
        for seed, row in enumerate(rows, start=first_seed):
            job = Job(dataset, variant, seed, kind)
            measured = FILES[kind].measured(row)
            run = f"{dataset}/{job.settings_key}/{seed}"
            identity = ("0" * 16, "e" * 16, "2026-11-18", dataset, variant.method, variant.preset, variant.changes_text)
            into.add(RunRecord(run, job.settings_key, *identity, seed, "finished", measured), {"e" * 16: {}})

    return add


def losses(keep: Keep, dataset: str, peer: Variant, **by_scaling: float) -> None:
    """Record the runs that choose the feature scaling of a peer."""
    for scaling, loss in by_scaling.items():
        keep("validation", dataset, scaled(peer, scaling), {"validation_log_loss": loss, "validation_accuracy": 0.5})


def test_the_graphs_are_the_benchmarks_and_those_of_the_folder(development: Path) -> None:
    found = graphs(Scope(development=development))
    assert list(found) == [*PAPER_GRAPHS, "groups", "halves"]
    assert found["cora"] is None
    assert found["groups"] == development / "groups"
    assert graphs(Scope(development=development, datasets=("halves", "demo"))) == {
        "halves": development / "halves",
        "demo": None,
    }
    with pytest.raises(UsageError, match="quarters"):
        Scope(development=development, datasets=("quarters",))


def test_each_scaling_of_each_peer_is_run_on_the_first_split_without_test_nodes(development: Path) -> None:
    found = [
        job
        for job in jobs(Scope(development=development, datasets=("cora", "halves")))
        if job.variant.title != DEFAULT.title
    ]
    assert {(job.kind, job.seed) for job in found} == {("validation", 0)}
    assert len([job for job in found if job.dataset == "cora"]) == len(PEERS) * len(SCALINGS)
    on_halves = [job for job in found if job.dataset == "halves"]
    assert len(on_halves) == (len(PEERS) - 1) * len(SCALINGS)
    assert "gat" not in {job.variant.method for job in on_halves}
    assert {job.folder for job in on_halves} == {development / "halves"}
    assert all(job.settings_key for job in found)


def test_methods_can_be_chosen_also_those_of_scikit_learn() -> None:
    found = jobs(Scope(datasets=("demo",), methods=("mlp", "gradient_boosting")))
    assert {job.variant.method for job in found} == {"mlp", "gradient_boosting"}
    with pytest.raises(UsageError, match="did you mean 'logistic_regression'"):
        Scope(methods=("logistic_regresion",))


def test_the_scaling_of_the_lowest_validation_log_loss_is_chosen(results: Results, keep: Keep) -> None:
    losses(keep, "demo", MLP, rows=0.5, unit=0.4, columns=0.6, none=0.4)
    losses(keep, "demo", LOGISTIC, columns=0.3)
    validation = Results(results.folder, "validation")
    assert chosen_peers([MLP, SAGE, LOGISTIC], validation, "demo") == [scaled(MLP, "unit"), scaled(LOGISTIC, "columns")]
    assert chosen_peers([MLP], validation, "cora") == []


@pytest.mark.parametrize("validation_only", [False, True])
def test_the_default_and_each_peer_with_its_scaling_run_on_every_split(
    results: Results, keep: Keep, development: Path, validation_only: bool
) -> None:
    for dataset in ("demo", "halves"):
        losses(keep, dataset, MLP, rows=0.5, unit=0.4)
    scope = Scope(
        seeds=3,
        datasets=("demo", "halves"),
        methods=("confgcn", "mlp", "sage"),
        development=development,
        validation_only=validation_only,
    )
    found = [*(job for job in jobs(scope) if job.variant == DEFAULT), *later_jobs(scope, results)]
    assert {job.kind for job in found} == {"validation" if validation_only else "robustness"}
    assert {job.variant for job in found} == {DEFAULT, scaled(MLP, "unit")}
    seeds = {
        name: [job.seed for job in found if (job.dataset, job.variant) == (name, DEFAULT)] for name in scope.datasets
    }
    assert seeds == {"demo": [0, 1, 2], "halves": [0, 1] if validation_only else [2, 3]}


def test_fewer_seeds_are_fewer_splits(development: Path) -> None:
    assert list(seeds_of(Scope(seeds=1), development / "groups")) == [2]
    assert list(seeds_of(Scope(seeds=1, validation_only=True), development / "groups")) == [0]
    assert list(seeds_of(Scope(seeds=2), None)) == [0, 1]


def compared(keep: Keep) -> None:
    """MLP has the better validation accuracy, SAGE the better test accuracy and the lower validation log loss."""
    measured = {"brier": 0.3, "auroc_correct": 0.8, "aurc": 0.1, "processor_seconds": 2.0}

    def rows(validation: float, loss: float, *accuracies: float) -> list[dict[str, float]]:
        return [
            {
                "validation_accuracy": validation,
                "validation_log_loss": loss,
                "test_accuracy": a,
                "nll": loss,
                **measured,
            }
            for a in accuracies
        ]

    for peer in (MLP, SAGE):
        losses(keep, "demo", peer, rows=0.5, unit=0.4)
    keep("robustness", "demo", DEFAULT, *rows(0.9, 0.2, 0.90, 0.92, 0.91))
    keep("robustness", "demo", scaled(MLP, "unit"), *rows(0.8, 0.4, 0.80, 0.80, 0.80))
    keep("robustness", "demo", scaled(SAGE, "unit"), *rows(0.7, 0.3, 0.95, 0.95, 0.95))
    keep("robustness", "demo", scaled(SAGE, "rows"), *rows(0.99, 0.1, 0.1, 0.1, 0.1))  # not the chosen scaling


def test_the_best_peer_is_chosen_by_validation_and_compared_by_seed(results: Results, keep: Keep) -> None:
    compared(keep)
    found = json.loads(to_json(numbers(Scope(), Results(results.folder, "robustness"))))["test"]
    assert list(found) == ["demo"]
    demo = found["demo"]
    assert (demo["metric"], demo["best_peer"], demo["best_peer_by_log_loss"]) == ("accuracy", "MLP", "SAGE")
    assert demo["scalings"] == {"MLP": "unit", "SAGE": "unit"}
    assert demo["models"]["SAGE"]["test"]["mean"] == pytest.approx(0.95)
    difference = demo["test_difference"]
    assert difference["mean"] == pytest.approx(0.11)
    assert (difference["high"] - difference["low"]) / 2 == pytest.approx(4.302653 * 0.01 / 3**0.5)
    assert demo["nll_difference"]["mean"] == pytest.approx(-0.1)


def test_tables_show_metric_confidences_seconds_and_scalings(results: Results, keep: Keep) -> None:
    compared(keep)
    found = tables(numbers(Scope(), Results(results.folder, "robustness")))
    assert list(found) == ["metric", "confidences", "seconds", "scalings"]
    (row,) = found["metric"].rows
    assert row[:2] == ["demo (accuracy)", "91.0 ± 1.0"]
    assert row[-2:] == ["MLP", "+11.0 [+8.5, +13.5]"]


def test_other_graphs_have_a_small_table_of_the_default_and_the_best_peer(results: Results, keep: Keep) -> None:
    compared(keep)
    found = numbers(Scope(), Results(results.folder, "robustness"))
    table = other_graphs(found)
    assert table is not None
    assert table.header == ["", "demo (accuracy)"]
    assert [row[1] for row in table.rows] == ["91.0 ± 1.0", "80.0 ± 0.0, MLP"]
    assert splits(found) == 3
    assert other_graphs({"titles": [], "test": {}}) is None
    assert splits({"titles": [], "test": {}}) == 0


def test_two_classes_are_compared_by_roc_auc(results: Results, keep: Keep) -> None:
    losses(keep, "demo", MLP, rows=0.4)
    for variant, area in ((DEFAULT, 0.8), (scaled(MLP, "rows"), 0.7)):
        row = {"validation_accuracy": 0.9, "validation_roc_auc": area, "test_accuracy": 0.9, "test_roc_auc": area}
        keep("robustness", "demo", variant, row, row)
    demo = numbers(Scope(), Results(results.folder, "robustness"))["test"]["demo"]
    assert demo["metric"] == "roc_auc"
    assert demo["test_difference"]["mean"] == pytest.approx(0.1)


def test_with_validation_only_no_test_figure_is_in_numbers_or_tables(results: Results, keep: Keep) -> None:
    compared(keep)
    found = numbers(Scope(validation_only=True), Results(results.folder, "robustness"))
    assert "test" not in found
    assert list(tables(found)) == ["validation", "scalings"]
    models = found["validation"]["demo"]["models"].values()
    assert all(model["test"]["mean"] is None and model["nll"]["mean"] is None for model in models)


def recorded(out: Path, kind: Kind) -> dict[tuple[str, int, str], NamedMeasurements]:
    found: dict[Any, Any] = {}
    for record in Results(out, kind).records.values():
        found[record.method, record.seed, record.changes] = record.measured
    return found


def test_runs_are_done_in_two_rounds_and_not_repeated(
    development: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(robustness, "PEERS", (QUICK, LOGISTIC))
    monkeypatch.setattr(robustness, "SCALINGS", ("unit", "none"))
    out, plans = tmp_path / "out", []

    class Plans(Observer):
        def on_plan(self, total: int, finished: int) -> None:
            plans.append((total, finished))

    def run(*, validation_only: bool) -> None:
        scope = Scope(
            datasets=("halves",),
            methods=("mlp", "logistic_regression"),
            development=development,
            validation_only=validation_only,
        )
        assert reproduce(ReproductionRequest(("robustness",), scope, processes=2, out=out), Plans()) == {}
        render(out, ("robustness",))

    run(validation_only=True)
    assert plans == [(4, 0), (4, 2)]
    assert not (out / "robustness.csv").exists()
    for file in out.iterdir():
        if file.is_file():
            assert not any(name in file.read_text() for name in TEST_NAMES if name.startswith("test_")), file.name
    run(validation_only=False)
    assert plans[2:] == [(4, 4), (4, 0)]
    run(validation_only=False)
    assert plans[4:] == [(4, 4), (4, 4)]
    measured = recorded(out, "robustness")
    assert {seed for _, seed, _ in measured} == {2, 3}
    assert all(None not in (found.get(name) for name in TEST_NAMES) for found in measured.values())
    assert "halves (ROC AUC)" in (out / "robustness.md").read_text()
    assert not list((out / "runs").iterdir())


def test_other_tables_refuse_to_leave_out_test_nodes(tmp_path: Path) -> None:
    request = ReproductionRequest(("table2",), Scope(validation_only=True), out=tmp_path / "out")
    with pytest.raises(UsageError, match="only robustness and ablations have tables without test figures"):
        reproduce(request, Observer())
