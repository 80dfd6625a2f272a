"""The claims in passing, each with numbers that bear it out and numbers that do not."""

from __future__ import annotations

from typing import Any

import pytest

from reproduction.drawing.claims import tables, verdicts
from reproduction.verdict import FAILS, HOLDS, IN_PART, UNKNOWN

LABEL_SPECIFIC, SAME_LABEL, FEWER, FORMULA, TRAINED, GAT_BELOW, GPNN_COLLAPSES, TRUST = range(8)


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


def numbers(*columns: dict[str, Any] | None, pairs: dict[str, Any] | None = None, falls: bool = True) -> dict[str, Any]:
    precisions = (0.1, 1.0, 10.0)
    none = dict.fromkeys(("GAT less Kipf-GCN", "GPNN less GGNN", "GPNN less Kipf-GCN"))
    return {
        "datasets": {f"graph{place}": {"ConfGCN `paper`": column} for place, column in enumerate(columns)},
        "pairs": {"cora": none, "cora_ml": {**none, **(pairs or {})}},
        "printed_influence": [{"precision": p, "influence": 1 / (1 + p) if falls else p} for p in precisions],
    }


def test_every_claim_has_its_verdict() -> None:
    claims = [verdict.claim for verdict in verdicts(numbers(means()))]
    assert len(claims) == len(set(claims)) == 8
    assert "label-specific" in claims[LABEL_SPECIFIC]
    assert "same label" in claims[SAME_LABEL]
    assert "printed formula" in claims[FORMULA]
    assert "trained models" in claims[TRAINED]


def test_an_influence_is_one_number_whatever_is_measured() -> None:
    assert verdicts(numbers())[LABEL_SPECIFIC] == verdicts(numbers(means()))[LABEL_SPECIFIC]
    assert verdicts(numbers())[LABEL_SPECIFIC].finding == FAILS


@pytest.mark.parametrize(
    ("claim", "name", "yes", "no"),
    [
        (SAME_LABEL, "auroc_influence", 0.7, 0.69),
        (FEWER, "effective_neighbours", 3.59, 3.6),
        (TRAINED, "influence_by_precision", [0.99, 1.2, 1.2, 1.0], [1.0, 0.9, 1.2, 1.0]),
        (TRUST, "auroc_precision", 0.7, 0.69),
    ],
    ids=["same label", "fewer neighbours", "confident neighbours", "precision"],
)
def test_a_claim_on_all_graphs_on_some_on_none_and_on_no_run(claim: int, name: str, yes: Any, no: Any) -> None:
    for values, finding in (((yes, yes), HOLDS), ((yes, no), IN_PART), ((no, no), FAILS)):
        found = numbers(*(means(**{name: value}) for value in values))
        assert verdicts(found)[claim].finding == finding
    for nothing in (numbers(None), numbers()):
        assert (verdicts(nothing)[claim].finding, verdicts(nothing)[claim].text) == (UNKNOWN, "")


def test_the_text_has_the_numbers_it_rests_on() -> None:
    found = verdicts(numbers(means(), means(auroc_influence=0.81, effective_neighbours=2.0)))
    assert "0.50 on graph0 (paper) and 0.81 on graph1 (paper)." in found[SAME_LABEL].text
    assert "3.99 of 4.00 on graph0 (paper) and 2.00 of 4.00 on graph1 (paper)." in found[FEWER].text
    assert "0.990 and 1.010 on graph0 (paper)" in found[TRAINED].text
    assert "0.45 (the probability 0.75) on graph0 (paper)" in found[TRUST].text


def test_both_presets_of_a_graph_are_cases() -> None:
    found = numbers(means(auroc_influence=0.9))
    found["datasets"]["graph0"]["ConfGCN `released`"] = means()
    assert verdicts(found)[SAME_LABEL].finding == IN_PART
    assert "0.90 on graph0 (paper) and 0.50 on graph0 (released)" in verdicts(found)[SAME_LABEL].text


def test_a_preset_all_of_whose_runs_diverged_measures_nothing() -> None:
    diverged = dict.fromkeys(means()) | {"influence_by_precision": []}
    found = numbers(diverged)
    assert [verdicts(found)[c].finding for c in (SAME_LABEL, FEWER, TRAINED, TRUST)] == [UNKNOWN] * 4
    (table,) = tables(found).values()
    assert {row[1] for row in table.rows} == {"–"}


def test_by_the_formula_a_confident_neighbour_has_less_influence() -> None:
    assert verdicts(numbers())[FORMULA].finding == FAILS
    assert verdicts(numbers(falls=False))[FORMULA].finding == HOLDS
    text = verdicts(numbers(means()))[FORMULA].text
    assert "0.91 at precision 0.1, 0.50 at precision 1 and 0.09 at precision 10" in text


@pytest.mark.parametrize(
    ("found", "finding"),
    [
        (difference(-0.02), HOLDS),
        (difference(-0.001), FAILS),
        (difference(0.02), FAILS),
        ({"mean": -0.02, "low": None, "high": None}, UNKNOWN),
        (None, UNKNOWN),
    ],
    ids=["clearly below", "not clearly", "above", "of few seeds", "not run"],
)
def test_is_gat_below_gcn_on_cora_ml(found: dict[str, Any] | None, finding: str) -> None:
    assert verdicts(numbers(pairs={"GAT less Kipf-GCN": found}))[GAT_BELOW].finding == finding


@pytest.mark.parametrize(
    ("over_gcn", "over_ggnn", "finding"),
    [
        (difference(-0.16), difference(-0.1), HOLDS),
        (difference(-0.16), difference(-0.02), IN_PART),
        (difference(-0.02), difference(0.02), FAILS),
        (difference(-0.16, width=0.2), difference(-0.049), FAILS),
        (difference(-0.16), None, HOLDS),
        (None, None, UNKNOWN),
    ],
)
def test_does_gpnn_collapse_on_cora_ml(
    over_gcn: dict[str, float] | None, over_ggnn: dict[str, float] | None, finding: str
) -> None:
    verdict = verdicts(numbers(pairs={"GPNN less Kipf-GCN": over_gcn, "GPNN less GGNN": over_ggnn}))[GPNN_COLLAPSES]
    assert verdict.finding == finding
    assert ("GPNN less Kipf-GCN: " in verdict.text) is (over_gcn is not None)
    assert ("GPNN less GGNN: " in verdict.text) is (over_ggnn is not None)


def test_a_comparison_of_few_seeds_leaves_the_other_to_decide() -> None:
    few = {"mean": -0.16, "low": None, "high": None}
    found = numbers(pairs={"GPNN less Kipf-GCN": few, "GPNN less GGNN": difference(0.02)})
    assert verdicts(found)[GPNN_COLLAPSES].finding == FAILS
    assert "GPNN less Kipf-GCN: −16.0 on cora_ml points" in verdicts(found)[GPNN_COLLAPSES].text


def test_other_graphs_are_told_and_decide_nothing() -> None:
    found = numbers(pairs={"GAT less Kipf-GCN": difference(0.02)})
    found["pairs"]["cora"] = {**found["pairs"]["cora"], "GAT less Kipf-GCN": difference(-0.02)}
    verdict = verdicts(found)[GAT_BELOW]
    assert verdict.finding == FAILS
    assert "−2.0 [−2.5, −1.5] on cora and +2.0 [+1.5, +2.5] on cora_ml points." in verdict.text


def test_a_table_for_each_preset_with_a_column_for_each_graph() -> None:
    found = numbers(means(), None)
    found["datasets"]["graph0"]["ConfGCN `released`"] = means(influence_by_precision=[], mu_accuracy=None)
    both = tables(found)
    assert list(both) == ["paper", "released"]
    assert list(both["paper"].header) == ["", "graph0", "graph1"]
    rows = {row[0]: row[1:] for row in both["paper"].rows}
    assert rows["effective neighbours, 1 / sum of squared influences"] == ["3.99", "–"]
    assert rows["mean deviation of an influence from the mean, %"] == ["0.52", "–"]
    assert rows["influence of the surest quarter"] == ["1.010", "–"]
    assert rows["predictions that change with uniform influences"] == ["3.0", "–"]
    released = {row[0]: row[1:] for row in both["released"].rows}
    assert released["influence of the surest quarter"] == ["–", "–"]
    assert released["accuracy of the largest mu, %"] == ["–", "–"]
