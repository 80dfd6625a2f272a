"""Figure 2's quarters, averaged over runs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from reproduction.figure2 import VARIANTS, jobs, numbers
from reproduction.results import Results
from reproduction.scope import Scope
from reproduction.table2 import GCN, RELEASED
from reproduction.table2 import jobs as jobs_of_table2


def test_its_runs_are_those_of_table_2() -> None:
    assert set(jobs(Scope(seeds=1))) <= set(jobs_of_table2(Scope(seeds=1)))


def test_a_line_has_four_means_by_either_quantity(results: Results, keep: Callable[..., None]) -> None:
    entropy, degree = (0.9, 0.8, 0.7, 0.6), (0.1, 0.2, 0.3, 0.4)
    keep("demo", GCN, 0.5, 0.5, None, accuracy_by_entropy=entropy, accuracy_by_degree=degree)
    found = numbers(Scope(datasets=("demo", "cora")), results)["datasets"]
    assert found["cora"] == []
    (line,) = found["demo"]
    assert line["title"] == GCN.title
    assert [cell["mean"] for cell in line["entropy"]] == pytest.approx(entropy)
    assert [cell["mean"] for cell in line["degree"]] == pytest.approx(degree)
    assert [cell["std"] for cell in line["degree"]] == pytest.approx([0.0] * 4)


def test_what_confgcn_has_more_is_paired_by_seed_in_every_quarter(results: Results, keep: Callable[..., None]) -> None:
    own = {"accuracy_by_entropy": (0.9, 0.8, 0.7, 0.6), "accuracy_by_degree": (0.9, 0.9, 0.9, 0.8)}
    theirs = {"accuracy_by_entropy": (0.9, 0.7, 0.8, 0.3), "accuracy_by_degree": (0.8, 0.8, 0.8, 0.9)}
    keep("demo", RELEASED, *[0.5] * 6, **own)
    keep("demo", GCN, 0.5, None, *[0.5] * 4, **theirs)
    lines = {line["title"]: line for line in numbers(Scope(datasets=("demo",)), results)["datasets"]["demo"]}
    more = lines[GCN.title]["confgcn_less_this"]
    assert [cell["mean"] for cell in more["entropy"]] == pytest.approx([0.0, 0.1, -0.1, 0.3])
    assert [cell["low"] for cell in more["degree"]] == pytest.approx([0.1, 0.1, 0.1, -0.1])
    assert {cell["pairs"] for cells in more.values() for cell in cells} == {5}
    assert [cell["mean"] for cell in lines[RELEASED.title]["confgcn_less_this"]["entropy"]] == [0.0] * 4


def test_without_confgcn_there_is_nothing_to_compare(results: Results, keep: Callable[..., None]) -> None:
    keep("demo", GCN, 0.5, accuracy_by_entropy=(1.0,) * 4, accuracy_by_degree=(1.0,) * 4)
    (line,) = numbers(Scope(datasets=("demo",)), results)["datasets"]["demo"]
    assert line["confgcn_less_this"] == {"entropy": [None] * 4, "degree": [None] * 4}


def test_lines_come_in_the_order_of_the_legend(results: Results, keep: Callable[..., None]) -> None:
    quarters = {"accuracy_by_entropy": (1.0,) * 4, "accuracy_by_degree": (1.0,) * 4}
    keep("demo", RELEASED, 0.5, **quarters)
    keep("demo", GCN, 0.5, **quarters)
    lines = numbers(Scope(datasets=("demo",)), results)["datasets"]["demo"]
    titles = [variant.title for variant in VARIANTS]
    assert [line["title"] for line in lines] == sorted([GCN.title, RELEASED.title], key=titles.index)


def test_a_line_all_of_whose_runs_diverged_is_left_out(results: Results, keep: Callable[..., None]) -> None:
    keep("demo", GCN, None, None)
    assert numbers(Scope(datasets=("demo",)), results) == {"datasets": {"demo": []}}
