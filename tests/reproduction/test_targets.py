"""Targets of the default: reached, aimed at, missed, not applicable, and the numbers they are compared with."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from reproduction import influence, robustness
from reproduction.artefacts import ARTEFACTS
from reproduction.default_variants import CONSENSUS, DEFAULT, mixed
from reproduction.jobs import Job, Kind, Scope, Variant
from reproduction.results import FILES, Results, RunRecord
from reproduction.robustness import PEERS, scaled
from reproduction.targets import ROWS, Result, jobs, numbers, tables

MLP = PEERS[4]


def difference(mean: float, half: float = 0.002) -> dict[str, Any]:
    return {"mean": mean, "low": mean - half, "high": mean + half, "pairs": 10}


# Every target of cora is reached, and no aim.
CORA: dict[str, Any] = {
    "metric": "accuracy",
    "test": {"mean": 0.85, "std": 0.01},
    "difference": difference(-0.01),
    "best_peer": "APPNP",
    "influence": {"chosen": {"test": difference(-0.0005)}, "learned": {"test": difference(-0.01)}},
    "mixed": {"mean": 0.745, "std": 0.01},
    "best_peer_by_log_loss": "SAGE",
    "scores": {name: {"own": 0.49, "peer": 0.5, "difference": difference(-0.01)} for name in ("nll", "brier")},
    "auroc": 0.83,
    "aurc": 0.05,
    "former_aurc": 0.06,
    "seconds": 20.0,
}
MISSED = {
    0: ("test", {"mean": 0.839, "std": 0.01}),
    1: ("difference", difference(-0.016)),
    2: ("influence", {"chosen": {"test": difference(-0.002)}, "learned": {"test": difference(-0.01)}}),
    4: ("mixed", {"mean": 0.74, "std": 0.01}),
    5: ("scores", {**CORA["scores"], "nll": {"own": 0.501, "peer": 0.5, "difference": difference(0.001)}}),
    6: ("scores", {**CORA["scores"], "brier": {"own": 0.501, "peer": 0.5, "difference": difference(0.001)}}),
    7: ("auroc", 0.814),
    8: ("aurc", 0.061),
    9: ("seconds", 25.1),
}
AIMED = {
    0: ("test", {"mean": 0.866, "std": 0.01}),
    1: ("difference", difference(0.001)),
    3: ("influence", {"chosen": {"test": difference(-0.0005)}, "learned": {"test": difference(0.01)}}),
    4: ("mixed", {"mean": 0.797, "std": 0.01}),
    5: ("scores", {**CORA["scores"], "nll": {"own": 0.44, "peer": 0.5, "difference": difference(-0.06)}}),
    6: ("scores", {**CORA["scores"], "brier": {"own": 0.44, "peer": 0.5, "difference": difference(-0.06)}}),
    7: ("auroc", 0.87),
    9: ("seconds", 4.0),
}


def cells(name: str = "cora", **changes: Any) -> list[str]:
    (table,) = tables({"graphs": {name: {**copy.deepcopy(CORA), **changes}}}).values()
    return [row[1] for row in table.rows]


def test_reached_targets_are_marked_and_counted() -> None:
    assert [cell[-1] for cell in cells()] == ["✓"] * 3 + ["]"] + ["✓"] * 6
    assert not any(cell.endswith("✓✓") for cell in cells())
    (table,) = tables({"graphs": {"cora": CORA}}).values()
    assert "9 of 9 are reached" in table.caption
    assert cells()[0] == "85.0 ± 1.0 (84.0; 86.5) ✓"
    assert cells()[4] == "74.5 ± 1.0 (74.1; 79.6) ✓"
    assert cells()[5] == "0.490, −0.010 [−0.012, −0.008], SAGE (0.500; 0.450) ✓"


@pytest.mark.parametrize("row", MISSED)
def test_a_missed_target_is_marked(row: int) -> None:
    name, value = MISSED[row]
    assert [number for number, cell in enumerate(cells(**{name: value})) if cell.endswith("✗")] == [row]


@pytest.mark.parametrize("row", AIMED)
def test_a_reached_aim_is_marked(row: int) -> None:
    name, value = AIMED[row]
    assert [number for number, cell in enumerate(cells(**{name: value})) if cell.endswith("✓✓")] == [row]


def test_an_aim_does_not_count_where_the_target_is_missed() -> None:
    assert str(Result("0.5", reached=False, aimed=True)) == "0.5 ✗"


def test_every_row_has_a_test_that_misses_it_or_reaches_its_aim() -> None:
    assert MISSED.keys() | AIMED.keys() == set(range(len(ROWS)))


def test_on_other_graphs_a_score_may_be_a_little_above_that_of_the_best_peer() -> None:
    scores = {name: {"own": 0.505, "peer": 0.5, "difference": difference(0.005)} for name in ("nll", "brier")}
    shown = cells("actor", scores=scores, mixed=None, former_aurc=None)
    assert shown[5].endswith("(0.510; 0.450) ✓")
    assert [shown[i] for i in (4, 7, 8, 9)] == ["–", "0.830", "0.050", "20.0"]


def test_missing_numbers_leave_cells_empty() -> None:
    nothing = {name: {"own": None, "peer": None, "difference": None} for name in ("nll", "brier")}
    shown = cells(difference=None, influence=None, mixed=None, scores=nothing, auroc=None, aurc=None, seconds=None)
    assert shown[1:] == ["–"] * 9
    assert str(Result("–")) == "–"


def test_the_runs_are_those_of_the_comparison_and_of_the_influences() -> None:
    scope = Scope(datasets=("cora",))
    assert jobs(scope) == [*robustness.jobs(scope), *influence.jobs(scope)]
    assert ARTEFACTS["targets"].kind == "robustness"


def record(results: Results, kind: Kind, variant: Variant, row: dict[str, float]) -> None:
    into, job = Results(results.folder, kind), Job("cora", variant, 0, kind)
    identity = ("0" * 16, "e" * 16, "2026-11-18", "cora", variant.method, variant.preset, variant.changes_text)
    measured = FILES[kind].measured(row)
    into.add(RunRecord(job.settings_key, job.settings_key, *identity, 0, "finished", measured), {"e" * 16: {}})


def test_numbers_are_those_of_the_recorded_runs(results: Results) -> None:
    row = {"validation_accuracy": 0.8, "test_accuracy": 0.85, "validation_log_loss": 0.5, "nll": 0.4, "aurc": 0.05}
    record(results, "validation", scaled(MLP, "rows"), {"validation_log_loss": 0.5})
    record(results, "robustness", scaled(MLP, "rows"), {**row, "test_accuracy": 0.8, "nll": 0.5})
    assert tables(numbers(Scope(), Results(results.folder, "robustness"))) == {}  # no run of the default
    record(results, "robustness", DEFAULT, row)
    record(results, "influence", mixed(DEFAULT), {"chosen_test_accuracy": 0.75})
    record(results, "confidence", CONSENSUS, {"calibrated_aurc": 0.06})
    found = numbers(Scope(), Results(results.folder, "robustness"))["graphs"]["cora"]
    assert found["difference"]["mean"] == pytest.approx(0.05)
    assert found["scores"]["nll"]["peer"] == 0.5
    assert found["mixed"]["mean"] == 0.75
    assert (found["aurc"], found["former_aurc"]) == (0.05, 0.06)
