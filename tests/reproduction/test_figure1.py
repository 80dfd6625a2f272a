"""Figure 1: the choice of the node, one training per seed, the picture and its claim."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from confgcn.graph import Graph
from confgcn.io.atomic_files import write_atomic
from confgcn.io.json_files import read_json, to_json
from reproduction import figure1
from reproduction.artefacts import ARTEFACTS
from reproduction.figure1 import check_claims, draw, tables
from reproduction.jobs import Scope
from reproduction.node_comparison import ModelComparison
from reproduction.rendering import FAILS, HOLDS, PARTLY, UNKNOWN
from reproduction.results import Results
from reproduction.table2 import GCN, PAPER, RELEASED

VISIBLE, GAINED, ANY = range(3)


@pytest.fixture
def even(comparison: ModelComparison) -> ModelComparison:
    """The same with influences that nobody could tell apart."""
    influence = torch.ones(comparison.graph.adjacency.num_entries)
    return replace(comparison, confgcn=replace(comparison.confgcn, influence=influence))


def candidate(comparison: ModelComparison) -> tuple[int, str]:
    found = figure1._candidate(comparison)
    assert found is not None
    assert (found["preset"], found["seed"]) == (comparison.title, comparison.seed)
    return found["preference"], found["node"]["name"]


def test_a_node_visibly_corrected_by_influence_is_preferred(comparison: ModelComparison) -> None:
    assert candidate(comparison) == (VISIBLE, "1")


def test_otherwise_a_gained_node_in_the_most_mixed_neighbourhood_is_shown(even: ModelComparison) -> None:
    assert candidate(even) == (GAINED, "1")  # of 1 and 3, the one around which half the labels differ
    only_three = replace(even, confgcn=replace(even.confgcn, logits=even.gcn.logits.clone()))
    only_three.confgcn.logits[3] = even.confgcn.logits[3]
    assert candidate(only_three) == (GAINED, "3")


def test_without_gained_nodes_any_drawable_node_is_shown(comparison: ModelComparison) -> None:
    preference, name = candidate(replace(comparison, gcn=comparison.confgcn))
    assert preference == ANY
    assert int(comparison.graph.degrees[int(name)]) in figure1.DRAWABLE


def test_without_drawable_nodes_none_is_shown(comparison: ModelComparison) -> None:
    path = Graph.build(
        [(node, node + 1) for node in range(6)], np.eye(7), comparison.graph.labels, test=[1, 2, 3, 4, 5]
    )
    confgcn = replace(comparison.confgcn, influence=torch.ones(path.adjacency.num_entries))
    assert figure1._candidate(replace(comparison, graph=path, confgcn=confgcn)) is None


def seed_result(preferences: list[int], seed: int = 0) -> dict[str, Any]:
    return {"counts": [{"seed": seed}], "candidates": [{"preference": p, "seed": seed} for p in preferences]}


@pytest.mark.parametrize(
    ("seeds", "shown"),
    [
        (
            [seed_result([GAINED, VISIBLE]), seed_result([VISIBLE], seed=1)],
            (VISIBLE, 0),
        ),
        ([seed_result([GAINED]), seed_result([ANY, VISIBLE], seed=1)], (VISIBLE, 1)),
        ([seed_result([]), seed_result([GAINED], seed=1), seed_result([GAINED], seed=2)], (GAINED, 1)),
    ],
    ids=["the first of the best", "a later one that is better", "the first that has any"],
)
def test_the_first_of_the_most_preferred_candidates_is_shown(
    seeds: list[dict[str, Any]], shown: tuple[int, int]
) -> None:
    found = figure1._combined(seeds)
    assert (found["shown"]["preference"], found["shown"]["seed"]) == shown
    assert found["counts"] == [{"seed": seed} for seed in range(len(seeds))]


def test_without_candidates_there_are_only_counts() -> None:
    assert figure1._combined([seed_result([]), seed_result([], seed=1)]) == {
        "counts": [{"seed": 0}, {"seed": 1}],
        "shown": None,
    }


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Nothing is trained; the data sets and seeds that would be."""
    seen: list[tuple[str, int]] = []

    def look(scope: Scope, dataset: str, seed: int) -> dict[str, Any]:
        seen.append((dataset, seed))
        return seed_result([GAINED], seed)

    monkeypatch.setattr(figure1, "_train_and_compare", look)
    return seen


def keep_numbers(results: Results, scope: Scope) -> dict[str, Any]:
    """What is found, and kept as a reproduction keeps it."""
    found = figure1.numbers(scope, results)
    write_atomic(results.file("figure1"), to_json(found))
    return found


def seeds_of(found: dict[str, Any]) -> list[int]:
    return [counts["seed"] for counts in found["datasets"]["demo"]["counts"]]


def test_a_recorded_seed_is_not_trained_again(results: Results, trained: list[tuple[str, int]]) -> None:
    first = keep_numbers(results, Scope(seeds=2))
    assert trained == [("demo", 0), ("demo", 1)]
    assert keep_numbers(results, Scope(seeds=2)) == first
    assert len(trained) == 2
    more = keep_numbers(results, Scope(seeds=3))
    assert trained[2:] == [("demo", 2)]
    assert seeds_of(more) == [0, 1, 2]
    assert more["seeds"].items() >= first["seeds"].items()


def test_fewer_seeds_show_fewer_and_lose_none(results: Results, trained: list[tuple[str, int]]) -> None:
    keep_numbers(results, Scope(seeds=3))
    fewer = keep_numbers(results, Scope(seeds=1))
    assert (seeds_of(fewer), len(fewer["seeds"])) == ([0], 3)
    assert len(trained) == 3


def test_seeds_recorded_before_a_crash_are_kept(
    results: Results, trained: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    look: Callable[..., dict[str, Any]] = figure1._train_and_compare

    def crash(scope: Scope, dataset: str, seed: int) -> dict[str, Any]:
        if seed == 1:
            raise KeyboardInterrupt
        return look(scope, dataset, seed)

    with monkeypatch.context() as patch:
        patch.setattr(figure1, "_train_and_compare", crash)
        with pytest.raises(KeyboardInterrupt):
            figure1.numbers(Scope(seeds=2), results)
    assert len(read_json(results.file("figure1"))["seeds"]) == 1
    assert seeds_of(figure1.numbers(Scope(seeds=2), results)) == [0, 1]
    assert trained == [("demo", 0), ("demo", 1)]


@pytest.mark.parametrize("name", ["GCN", "PRESETS"])
def test_other_settings_are_trained_again(
    results: Results, trained: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    keep_numbers(results, Scope(seeds=1))
    other = {"GCN": GCN.changed("x", epochs=3), "PRESETS": (RELEASED, PAPER.changed("x", epochs=3))}
    monkeypatch.setattr(figure1, name, other[name])
    found = keep_numbers(results, Scope(seeds=1))
    assert trained == [("demo", 0)] * 2
    assert len(found["seeds"]) == 2
    assert seeds_of(found) == [0]


@pytest.mark.usefixtures("trained")
def test_numbers_of_an_earlier_version_are_recomputed(results: Results) -> None:
    write_atomic(results.file("figure1"), to_json({"datasets": {"demo": {"counts": []}}}))
    assert seeds_of(figure1.numbers(Scope(seeds=1), results)) == [0]


@pytest.mark.parametrize("methods", [("feat", "gcn"), ("confgcn",)])
def test_there_is_nothing_to_compare_without_both_methods(
    results: Results, trained: list[tuple[str, int]], methods: tuple[str, ...]
) -> None:
    assert figure1.numbers(Scope(methods=methods), results) == {"seeds": {}, "datasets": {}}
    assert trained == []


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same models after three epochs; one of ConfGCN's presets diverges."""
    monkeypatch.setattr(figure1, "GCN", GCN.changed("Kipf-GCN", epochs=3))
    diverges = PAPER.changed("diverges", learning_rate=1e6, num_layers=8)
    monkeypatch.setattr(figure1, "PRESETS", (RELEASED.changed("quick", epochs=3), diverges))


@pytest.mark.usefixtures("quick")
def test_models_are_trained_and_diverged_ones_left_out(results: Results) -> None:
    demo = figure1.numbers(Scope(seeds=2), results)["datasets"]["demo"]
    assert [(count["preset"], count["seed"]) for count in demo["counts"]] == [("quick", 0), ("quick", 1)]
    assert len({tuple(count.values())[2:] for count in demo["counts"]}) == 2  # two seeds, two models
    neighbours = demo["shown"]["node"]["neighbours"]
    assert sum(neighbour["is_node"] for neighbour in neighbours) == 1
    assert len(neighbours) - 1 in figure1.DRAWABLE


def test_without_gcn_there_is_no_comparison(comparison: ModelComparison, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figure1, "_trained", lambda *_: None)
    assert figure1._comparisons(comparison.graph, 0) == []


def neighbour(name: str, *, is_node: bool = False, influence: float = 1.0) -> dict[str, Any]:
    return {
        "name": name,
        "is_node": is_node,
        "true_label": "Rule_Learning",
        "gcn_weight": 1.25,
        "influence": influence,
        "gcn_scores": [0.4, 0.6],
        "scores": [0.0, 0.0] if is_node else [0.25, 0.75],
        "precision": [0.5, 2.0],
    }


def counts(preset: str, nodes: int, lost: int, won: int = 1) -> dict[str, Any]:
    numbers = {"gcn_wrong_confgcn_right": nodes, "lost_without_influence": lost, "right_without_influence": won}
    return {"preset": preset, "seed": 0, **numbers}


def found(*runs: dict[str, Any], uniform_prediction: str = "Theory", influence: float = 0.75) -> dict[str, Any]:
    node = {
        "name": "31336",
        "labels": ["Theory", "Rule_Learning"],
        "gcn_prediction": {"label": "Rule_Learning", "probability": 0.6},
        "confgcn_prediction": {"label": "Theory", "probability": 0.9},
        "uniform_prediction": {"label": uniform_prediction, "probability": 0.5},
        "neighbours": [neighbour("1"), neighbour("31336", is_node=True), neighbour("7", influence=influence)],
    }
    return {
        "counts": list(runs),
        "shown": {"preference": 0, "preset": "ConfGCN `paper`", "seed": 4, "node": node},
    }


@pytest.mark.parametrize(
    ("runs", "outcome"),
    [
        ([counts("a", 4, 2), counts("a", 2, 1)], HOLDS),
        ([counts("a", 4, 2), counts("b", 4, 1)], PARTLY),
        ([counts("a", 40, 2), counts("a", 2, 2)], FAILS),
        ([counts("a", 0, 0)], FAILS),
        ([], UNKNOWN),
    ],
    ids=["half of them", "one preset of two", "few", "none to put right", "no run"],
)
def test_the_claim_needs_half_of_the_gained_nodes_to_be_lost_without_influence(
    runs: list[dict[str, Any]], outcome: str
) -> None:
    (check,) = check_claims({"datasets": {"demo": found(*runs)}})
    assert check.outcome == outcome


def test_counts_are_added_over_the_runs_of_a_preset() -> None:
    (check,) = check_claims({"datasets": {"demo": found(counts("a", 4, 2, 5), counts("a", 3, 1, 6))}})
    assert (
        "Over 2 runs of a on demo, ConfGCN predicts 7 test nodes correctly that Kipf-GCN predicts wrongly"
        in check.evidence
    )
    assert "3 of them are lost" in check.evidence
    assert "11 others are gained" in check.evidence


def test_the_evidence_describes_the_picture() -> None:
    (check,) = check_claims({"datasets": {"demo": found()}})
    assert "node 31336 in run 4 of ConfGCN `paper`" in check.evidence
    assert "ConfGCN predicts the same label" in check.evidence
    (other,) = check_claims({"datasets": {"demo": found(uniform_prediction="Rule_Learning")}})
    assert "ConfGCN predicts another label" in other.evidence


@pytest.mark.parametrize(
    ("influence", "words"),
    [(0.75, "is 25.0 %"), (1.001, "is 0.1 %"), (1.000234, "is 0.02 %"), (1.0, "is 0 %")],
)
def test_the_evidence_names_the_largest_deviation_of_an_influence(influence: float, words: str) -> None:
    (check,) = check_claims({"datasets": {"demo": found(influence=influence)}})
    assert words in check.evidence


def test_counts_without_a_node_to_show_decide_the_claim() -> None:
    nothing_shown = {**found(counts("a", 4, 2)), "shown": None}
    (check,) = check_claims({"datasets": {"demo": nothing_shown}})
    assert check.outcome == HOLDS
    assert "The picture shows" not in check.evidence
    assert tables({"datasets": {"demo": nothing_shown}}) == {}
    assert draw({"datasets": {"demo": nothing_shown}}) is None


def test_the_table_has_a_row_for_each_neighbour() -> None:
    table = tables({"datasets": {"demo": found()}})["demo"]
    assert [row[0] for row in table.rows] == ["1", "the node", "7"]
    assert table.rows[2] == ["7", "Rule_Learning", "1.250", "0.75000", "0.2500", "0.7500", "0.5000", "2.0000"]
    assert all(len(row) == len(table.header) for row in table.rows)


def test_there_are_two_panels_per_data_set_and_a_circle_per_node() -> None:
    pytest.importorskip("matplotlib")
    nothing_shown = {**found(), "shown": None}
    figure = draw({"datasets": {"demo": found(), "citeseer": nothing_shown, "cora": found()}})
    assert figure is not None
    assert len(figure.axes) == 4
    left, right = figure.axes[:2]
    assert "Kipf-GCN predicts Rule_Learning (60 %)" in left.get_title()
    assert "ConfGCN paper predicts Theory (90 %)" in right.get_title()
    widths = sorted(line.get_linewidth() for line in right.lines)
    assert widths[0] == pytest.approx(0.75 * widths[1])
    circles = [patch for patch in left.patches if hasattr(patch, "get_radius")]
    assert len(circles) == 3
    assert len(right.patches) == 3 + 2 * 3  # and two bars of precision each


def test_it_can_be_written() -> None:
    pytest.importorskip("matplotlib")
    assert ARTEFACTS["figure1"].pictures({"datasets": {"demo": found()}}).keys() == {"figure1.svg", "figure1.png"}


def test_without_runs_there_is_no_picture_and_no_table() -> None:
    assert draw({"datasets": {}}) is None
    assert tables({"datasets": {}}) == {}
    assert check_claims({"datasets": {}})[0].outcome == UNKNOWN
