"""Which node Figure 1 shows, and that every seed is looked at once."""

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
from reproduction.case import Case
from reproduction.results import Results
from reproduction.scope import Scope
from reproduction.table2 import GCN, PAPER, RELEASED

VISIBLY_BY_INFLUENCE, GAINED, ANY = range(3)


@pytest.fixture
def even(case: Case) -> Case:
    """The same with influences that nobody could tell apart."""
    influence = torch.ones(case.graph.adjacency.num_entries)
    return replace(case, confgcn=replace(case.confgcn, influence=influence))


def candidate(case: Case) -> tuple[int, str]:
    found = figure1._candidate(case)
    assert found is not None
    assert (found["preset"], found["seed"]) == (case.title, case.seed)
    return found["preference"], found["node"]["name"]


def test_shown_is_what_influence_visibly_put_right(case: Case) -> None:
    assert candidate(case) == (VISIBLY_BY_INFLUENCE, "1")


def test_else_what_was_put_right_otherwise_in_the_most_mixed_neighbourhood(even: Case) -> None:
    assert candidate(even) == (GAINED, "1")  # of 1 and 3, the one around which half the labels differ
    only_three = replace(even, confgcn=replace(even.confgcn, logits=even.gcn.logits.clone()))
    only_three.confgcn.logits[3] = even.confgcn.logits[3]
    assert candidate(only_three) == (GAINED, "3")


def test_where_nothing_is_gained_any_node_that_can_be_drawn_will_do(case: Case) -> None:
    preference, name = candidate(replace(case, gcn=case.confgcn))
    assert preference == ANY
    assert int(case.graph.degrees[int(name)]) in figure1.DRAWABLE


def test_where_no_node_can_be_drawn_none_is_shown(case: Case) -> None:
    path = Graph.build([(node, node + 1) for node in range(6)], np.eye(7), case.graph.labels, test=[1, 2, 3, 4, 5])
    confgcn = replace(case.confgcn, influence=torch.ones(path.adjacency.num_entries))
    assert figure1._candidate(replace(case, graph=path, confgcn=confgcn)) is None


def looked(preferences: list[int], seed: int = 0) -> dict[str, Any]:
    return {"counts": [{"seed": seed}], "candidates": [{"preference": p, "seed": seed} for p in preferences]}


@pytest.mark.parametrize(
    ("looks", "shown"),
    [
        ([looked([GAINED, VISIBLY_BY_INFLUENCE]), looked([VISIBLY_BY_INFLUENCE], seed=1)], (VISIBLY_BY_INFLUENCE, 0)),
        ([looked([GAINED]), looked([ANY, VISIBLY_BY_INFLUENCE], seed=1)], (VISIBLY_BY_INFLUENCE, 1)),
        ([looked([]), looked([GAINED], seed=1), looked([GAINED], seed=2)], (GAINED, 1)),
    ],
    ids=["the first of the best", "a later one that is better", "the first that has any"],
)
def test_of_all_seeds_the_first_that_shows_most_is_shown(looks: list[dict[str, Any]], shown: tuple[int, int]) -> None:
    found = figure1._together(looks)
    assert (found["shown"]["preference"], found["shown"]["seed"]) == shown
    assert found["counts"] == [{"seed": seed} for seed in range(len(looks))]


def test_without_a_candidate_there_are_counts_alone() -> None:
    assert figure1._together([looked([]), looked([], seed=1)]) == {
        "counts": [{"seed": 0}, {"seed": 1}],
        "shown": None,
    }


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Nothing is trained; the data sets and seeds that were looked at."""
    seen: list[tuple[str, int]] = []

    def look(scope: Scope, dataset: str, seed: int) -> dict[str, Any]:
        seen.append((dataset, seed))
        return looked([GAINED], seed)

    monkeypatch.setattr(figure1, "_look", look)
    return seen


def keep_numbers(results: Results, scope: Scope) -> dict[str, Any]:
    """What is found, and kept as a reproduction keeps it."""
    found = figure1.numbers(scope, results)
    write_atomic(results.file("figure1"), to_json(found))
    return found


def seeds_of(found: dict[str, Any]) -> list[int]:
    return [counts["seed"] for counts in found["datasets"]["demo"]["counts"]]


def test_a_seed_that_was_looked_at_is_not_trained_again(results: Results, looks: list[tuple[str, int]]) -> None:
    first = keep_numbers(results, Scope(seeds=2))
    assert looks == [("demo", 0), ("demo", 1)]
    assert keep_numbers(results, Scope(seeds=2)) == first
    assert len(looks) == 2
    more = keep_numbers(results, Scope(seeds=3))
    assert looks[2:] == [("demo", 2)]
    assert seeds_of(more) == [0, 1, 2]
    assert more["looks"].items() >= first["looks"].items()


def test_fewer_seeds_show_fewer_and_lose_none(results: Results, looks: list[tuple[str, int]]) -> None:
    keep_numbers(results, Scope(seeds=3))
    fewer = keep_numbers(results, Scope(seeds=1))
    assert (seeds_of(fewer), len(fewer["looks"])) == ([0], 3)
    assert len(looks) == 3


def test_what_was_looked_at_before_a_crash_is_kept(
    results: Results, looks: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    look: Callable[..., dict[str, Any]] = figure1._look

    def crash(scope: Scope, dataset: str, seed: int) -> dict[str, Any]:
        if seed == 1:
            raise KeyboardInterrupt
        return look(scope, dataset, seed)

    with monkeypatch.context() as patch:
        patch.setattr(figure1, "_look", crash)
        with pytest.raises(KeyboardInterrupt):
            figure1.numbers(Scope(seeds=2), results)
    assert len(read_json(results.file("figure1"))["looks"]) == 1
    assert seeds_of(figure1.numbers(Scope(seeds=2), results)) == [0, 1]
    assert looks == [("demo", 0), ("demo", 1)]


@pytest.mark.parametrize("name", ["GCN", "PRESETS"])
def test_other_settings_are_looked_at_again(
    results: Results, looks: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    keep_numbers(results, Scope(seeds=1))
    other = {"GCN": GCN.changed("x", epochs=3), "PRESETS": (RELEASED, PAPER.changed("x", epochs=3))}
    monkeypatch.setattr(figure1, name, other[name])
    found = keep_numbers(results, Scope(seeds=1))
    assert looks == [("demo", 0)] * 2
    assert len(found["looks"]) == 2
    assert seeds_of(found) == [0]


@pytest.mark.usefixtures("looks")
def test_numbers_of_an_earlier_version_are_made_again(results: Results) -> None:
    write_atomic(results.file("figure1"), to_json({"datasets": {"demo": {"counts": []}}}))
    assert seeds_of(figure1.numbers(Scope(seeds=1), results)) == [0]


@pytest.mark.parametrize("methods", [("feat", "gcn"), ("confgcn",)])
def test_there_is_nothing_to_compare_without_both_methods(
    results: Results, looks: list[tuple[str, int]], methods: tuple[str, ...]
) -> None:
    assert figure1.numbers(Scope(methods=methods), results) == {"looks": {}, "datasets": {}}
    assert looks == []


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same models after three epochs; one of ConfGCN's presets diverges."""
    monkeypatch.setattr(figure1, "GCN", GCN.changed("Kipf-GCN", epochs=3))
    diverges = PAPER.changed("diverges", learning_rate=1e6, num_layers=8)
    monkeypatch.setattr(figure1, "PRESETS", (RELEASED.changed("quick", epochs=3), diverges))


@pytest.mark.usefixtures("quick")
def test_models_are_trained_and_counted_and_one_that_diverges_is_left_out(results: Results) -> None:
    demo = figure1.numbers(Scope(seeds=2), results)["datasets"]["demo"]
    assert [(count["preset"], count["seed"]) for count in demo["counts"]] == [("quick", 0), ("quick", 1)]
    assert len({tuple(count.values())[2:] for count in demo["counts"]}) == 2  # two seeds, two models
    neighbours = demo["shown"]["node"]["neighbours"]
    assert sum(neighbour["is_node"] for neighbour in neighbours) == 1
    assert len(neighbours) - 1 in figure1.DRAWABLE


def test_without_gcn_no_case_is_made(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figure1, "_trained", lambda *_: None)
    assert figure1._cases(case.graph, 0) == []


def test_nothing_is_run_for_it() -> None:
    assert figure1.jobs(Scope()) == []
