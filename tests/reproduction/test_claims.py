"""Claims in the text of the paper: their numbers, and when they hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from reproduction.claims import MEASURED, check_claims, jobs, numbers, printed_influence, tables
from reproduction.jobs import Scope
from reproduction.rendering import FAILS, HOLDS, PARTLY, UNKNOWN
from reproduction.results import Results
from reproduction.table2 import GAT, GCN, RELEASED
from reproduction.table2 import jobs as jobs_of_table2


@pytest.mark.parametrize("precision", [0.1, 1.0, 10.0, 99.0])
def test_by_the_printed_formula_a_confident_neighbour_has_less_influence(precision: float) -> None:
    # scores differ by a half in both labels: d = 2 (1/2)^2 (p + 1)
    assert printed_influence(precision) == pytest.approx(1 / (0.5 * (precision + 1)))


def test_the_jobs_are_runs_of_table_2() -> None:
    found = jobs(Scope(seeds=1))
    assert len(found) == len(set(found))
    assert set(found) <= set(jobs_of_table2(Scope(seeds=1)))


def test_means_are_over_the_runs_of_a_preset(results: Results, keep: Callable[..., None]) -> None:
    groups = (0.9, 1.0, 1.0, 1.1)
    keep("demo", RELEASED, 0.7, 0.8, None, neighbours=4.0, auroc_precision=0.5, influence_by_precision=groups)
    keep("demo", GCN, 0.6, 0.7)
    keep("demo", GAT, 0.5, 0.5, 0.9)
    found = numbers(Scope(datasets=("demo",)), results)
    means = found["datasets"]["demo"][RELEASED.title]
    assert means.keys() == {*MEASURED, "influence_by_precision"}
    assert (means["test_accuracy"], means["neighbours"]) == (pytest.approx(0.75), 4.0)
    assert means["influence_by_precision"] == pytest.approx(groups)
    assert means["mu_accuracy"] is None
    assert found["datasets"]["demo"]["ConfGCN `paper`"] is None
    pair = found["pairs"]["demo"]["GAT minus Kipf-GCN"]
    assert (pair["mean"], pair["pairs"]) == (pytest.approx(-0.15), 2)
    assert found["pairs"]["demo"]["GPNN minus Kipf-GCN"] is None


LABEL_SPECIFIC, SAME_LABEL, FEWER, FORMULA, TRAINED, GAT_BELOW, GPNN_COLLAPSES, PRECISION = range(8)


def means(**changes: Any) -> dict[str, Any]:
    return {
        "test_accuracy": 0.8,
        "accuracy_made_uniform": 0.79,
        "changed_by_uniform": 3.0,
        "neighbours": 4.0,
        "effective_neighbours": 3.99,
        "influence_deviation": 0.0052,
        "auroc_influence": 0.5,
        "auroc_probability": 0.75,
        "auroc_precision": 0.45,
        "mu_accuracy": 0.2,
        "influence_by_precision": [0.99, 1.0, 1.0, 1.01],
        **changes,
    }


def difference(mean: float, width: float = 0.005) -> dict[str, float]:
    return {"low": mean - width, "mean": mean, "high": mean + width}


def numbers_of(
    *columns: dict[str, Any] | None, pairs: dict[str, Any] | None = None, falls: bool = True
) -> dict[str, Any]:
    precisions = (0.1, 1.0, 10.0)
    none = dict.fromkeys(("GAT minus Kipf-GCN", "GPNN minus GGNN", "GPNN minus Kipf-GCN"))
    return {
        "datasets": {f"graph{place}": {"ConfGCN `paper`": column} for place, column in enumerate(columns)},
        "pairs": {"cora": none, "cora_ml": {**none, **(pairs or {})}},
        "printed_influence": [{"precision": p, "influence": 1 / (1 + p) if falls else p} for p in precisions],
    }


def test_every_claim_is_checked_once() -> None:
    claims = [check.claim for check in check_claims(numbers_of(means()))]
    assert len(claims) == len(set(claims)) == 8
    assert "label-specific" in claims[LABEL_SPECIFIC]
    assert "same label" in claims[SAME_LABEL]
    assert "printed formula" in claims[FORMULA]
    assert "trained models" in claims[TRAINED]


def test_influence_is_never_label_specific() -> None:
    assert check_claims(numbers_of())[LABEL_SPECIFIC] == check_claims(numbers_of(means()))[LABEL_SPECIFIC]
    assert check_claims(numbers_of())[LABEL_SPECIFIC].outcome == FAILS


@pytest.mark.parametrize(
    ("claim", "name", "yes", "no"),
    [
        (SAME_LABEL, "auroc_influence", 0.7, 0.69),
        (FEWER, "effective_neighbours", 3.59, 3.6),
        (TRAINED, "influence_by_precision", [0.99, 1.2, 1.2, 1.0], [1.0, 0.9, 1.2, 1.0]),
        (PRECISION, "auroc_precision", 0.7, 0.69),
    ],
    ids=["same label", "fewer neighbours", "confident neighbours", "precision"],
)
def test_a_claim_holds_on_all_some_or_no_graphs(claim: int, name: str, yes: Any, no: Any) -> None:
    for values, outcome in (((yes, yes), HOLDS), ((yes, no), PARTLY), ((no, no), FAILS)):
        found = numbers_of(*(means(**{name: value}) for value in values))
        assert check_claims(found)[claim].outcome == outcome
    for nothing in (numbers_of(None), numbers_of()):
        assert (check_claims(nothing)[claim].outcome, check_claims(nothing)[claim].evidence) == (UNKNOWN, "")


def test_the_evidence_names_the_measured_numbers() -> None:
    found = check_claims(numbers_of(means(), means(auroc_influence=0.81, effective_neighbours=2.0)))
    assert "0.50 on graph0 (paper) and 0.81 on graph1 (paper)." in found[SAME_LABEL].evidence
    assert "3.99 of 4.00 on graph0 (paper) and 2.00 of 4.00 on graph1 (paper)." in found[FEWER].evidence
    assert "0.990 and 1.010 on graph0 (paper)" in found[TRAINED].evidence
    assert "0.45 (probability: 0.75) on graph0 (paper)" in found[PRECISION].evidence


def test_both_presets_of_a_graph_are_cases() -> None:
    found = numbers_of(means(auroc_influence=0.9))
    found["datasets"]["graph0"]["ConfGCN `released`"] = means()
    assert check_claims(found)[SAME_LABEL].outcome == PARTLY
    assert "0.90 on graph0 (paper) and 0.50 on graph0 (released)" in check_claims(found)[SAME_LABEL].evidence


def test_a_preset_with_only_diverged_runs_is_undetermined() -> None:
    diverged = dict.fromkeys(means()) | {"influence_by_precision": []}
    found = numbers_of(diverged)
    assert [check_claims(found)[c].outcome for c in (SAME_LABEL, FEWER, TRAINED, PRECISION)] == [UNKNOWN] * 4
    (table,) = tables(found).values()
    assert {row[1] for row in table.rows} == {"–"}


def test_the_claim_on_the_printed_formula_follows_from_the_example() -> None:
    assert check_claims(numbers_of())[FORMULA].outcome == FAILS
    assert check_claims(numbers_of(falls=False))[FORMULA].outcome == HOLDS
    text = check_claims(numbers_of(means()))[FORMULA].evidence
    assert "0.91 at precision 0.1, 0.50 at precision 1 and 0.09 at precision 10" in text


@pytest.mark.parametrize(
    ("found", "outcome"),
    [
        (difference(-0.02), HOLDS),
        (difference(-0.001), FAILS),
        (difference(0.02), FAILS),
        ({"mean": -0.02, "low": None, "high": None}, UNKNOWN),
        (None, UNKNOWN),
    ],
    ids=["clearly below", "not clearly", "above", "of few seeds", "not run"],
)
def test_gat_below_gcn_needs_an_interval_below_zero(found: dict[str, Any] | None, outcome: str) -> None:
    assert check_claims(numbers_of(pairs={"GAT minus Kipf-GCN": found}))[GAT_BELOW].outcome == outcome


@pytest.mark.parametrize(
    ("over_gcn", "over_ggnn", "outcome"),
    [
        (difference(-0.16), difference(-0.1), HOLDS),
        (difference(-0.16), difference(-0.02), PARTLY),
        (difference(-0.02), difference(0.02), FAILS),
        (difference(-0.16, width=0.2), difference(-0.049), FAILS),
        (difference(-0.16), None, HOLDS),
        (None, None, UNKNOWN),
    ],
)
def test_a_collapse_of_gpnn_needs_several_points(
    over_gcn: dict[str, float] | None, over_ggnn: dict[str, float] | None, outcome: str
) -> None:
    check = check_claims(numbers_of(pairs={"GPNN minus Kipf-GCN": over_gcn, "GPNN minus GGNN": over_ggnn}))[
        GPNN_COLLAPSES
    ]
    assert check.outcome == outcome
    assert ("GPNN minus Kipf-GCN: " in check.evidence) is (over_gcn is not None)
    assert ("GPNN minus GGNN: " in check.evidence) is (over_ggnn is not None)


def test_a_comparison_with_few_seeds_does_not_decide() -> None:
    few = {"mean": -0.16, "low": None, "high": None}
    found = numbers_of(pairs={"GPNN minus Kipf-GCN": few, "GPNN minus GGNN": difference(0.02)})
    assert check_claims(found)[GPNN_COLLAPSES].outcome == FAILS
    assert "GPNN minus Kipf-GCN: −16.0 on cora_ml points" in check_claims(found)[GPNN_COLLAPSES].evidence


def test_other_graphs_are_named_but_do_not_decide() -> None:
    found = numbers_of(pairs={"GAT minus Kipf-GCN": difference(0.02)})
    found["pairs"]["cora"] = {**found["pairs"]["cora"], "GAT minus Kipf-GCN": difference(-0.02)}
    check = check_claims(found)[GAT_BELOW]
    assert check.outcome == FAILS
    assert "−2.0 [−2.5, −1.5] on cora and +2.0 [+1.5, +2.5] on cora_ml points." in check.evidence


def test_a_table_for_each_preset_with_a_column_for_each_graph() -> None:
    found = numbers_of(means(), None)
    found["datasets"]["graph0"]["ConfGCN `released`"] = means(influence_by_precision=[], mu_accuracy=None)
    both = tables(found)
    assert list(both) == ["paper", "released"]
    assert list(both["paper"].header) == ["", "graph0", "graph1"]
    rows = {row[0]: row[1:] for row in both["paper"].rows}
    assert rows["effective neighbours, 1 / sum of squared influences"] == ["3.99", "–"]
    assert rows["mean absolute deviation of the relative influence, %"] == ["0.52", "–"]
    assert rows["relative influence of the most precise quartile"] == ["1.010", "–"]
    assert rows["predictions changed by uniform influences"] == ["3.0", "–"]
    released = {row[0]: row[1:] for row in both["released"].rows}
    assert released["relative influence of the most precise quartile"] == ["–", "–"]
    assert released["accuracy of the argmax of mu, %"] == ["–", "–"]
