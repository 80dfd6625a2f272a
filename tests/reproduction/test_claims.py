"""What the paper claims in passing, as numbers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from reproduction.claims import MEASURED, jobs, numbers, printed_influence
from reproduction.results import Results
from reproduction.scope import Scope
from reproduction.table2 import GAT, GCN, RELEASED
from reproduction.table2 import jobs as jobs_of_table2


@pytest.mark.parametrize("precision", [0.1, 1.0, 10.0, 99.0])
def test_by_the_printed_formula_a_confident_neighbour_has_less_influence(precision: float) -> None:
    # scores differ by a half in both labels: d = 2 (1/2)^2 (p + 1)
    assert printed_influence(precision) == pytest.approx(1 / (0.5 * (precision + 1)))


def test_its_runs_are_those_of_table_2() -> None:
    found = jobs(Scope(seeds=1))
    assert len(found) == len(set(found))
    assert set(found) <= set(jobs_of_table2(Scope(seeds=1)))


def test_means_are_over_the_runs_of_a_preset(results: Results, keep: Callable[..., None]) -> None:
    quarters = (0.9, 1.0, 1.0, 1.1)
    keep("demo", RELEASED, 0.7, 0.8, None, neighbours=4.0, auroc_precision=0.5, influence_by_precision=quarters)
    keep("demo", GCN, 0.6, 0.7)
    keep("demo", GAT, 0.5, 0.5, 0.9)
    found = numbers(Scope(datasets=("demo",)), results)
    means = found["datasets"]["demo"][RELEASED.title]
    assert means.keys() == {*MEASURED, "influence_by_precision"}
    assert (means["test_accuracy"], means["neighbours"]) == (pytest.approx(0.75), 4.0)
    assert means["influence_by_precision"] == pytest.approx(quarters)
    assert means["mu_accuracy"] is None
    assert found["datasets"]["demo"]["ConfGCN `paper`"] is None
    pair = found["pairs"]["demo"]["GAT less Kipf-GCN"]
    assert (pair["mean"], pair["pairs"]) == (pytest.approx(-0.15), 2)
    assert found["pairs"]["demo"]["GPNN less Kipf-GCN"] is None
