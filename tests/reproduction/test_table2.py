"""Table 2's rows from runs that are there, those of one seed compared with those of the same."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from confgcn.models.registry import METHODS
from reproduction.published import GRAPHS, TABLE_2
from reproduction.results import Results
from reproduction.scope import Scope
from reproduction.table2 import GCN, NOT_IN_PRINT, RELEASED, UNIFORM, VARIANTS, jobs, numbers


def test_every_method_of_the_package_and_of_the_paper_has_a_row() -> None:
    assert {variant.method for variant in VARIANTS} == set(METHODS)
    assert TABLE_2.keys() <= set(METHODS)
    assert len({variant.title for variant in VARIANTS}) == len(VARIANTS)
    assert {dataset for row in TABLE_2.values() for dataset in row} == set(GRAPHS)


def test_every_row_is_run_on_every_graph() -> None:
    found = jobs(Scope(seeds=2))
    assert len(found) == len(set(found)) == len(VARIANTS) * len(GRAPHS) * 2


def test_a_cell_holds_the_paper_the_mean_and_the_paired_difference(results: Results, keep: Callable[..., None]) -> None:
    keep("cora", GCN, 0.80, 0.82, processor_seconds=3.0)
    keep("cora", RELEASED, 0.81, 0.81, 0.5)
    table = numbers(Scope(datasets=("cora", "demo")), results)
    rows = {row["title"]: row for row in table["rows"]}
    cell = rows["Kipf-GCN"]["cells"]["cora"]
    assert cell["published"] == (80.9, 0.4)
    assert cell["processor_seconds"] == 3.0
    assert cell["accuracy"] == {
        "mean": pytest.approx(0.81),
        "std": pytest.approx(0.02 / 2**0.5),
        "runs": 2,
        "diverged": 0,
    }
    assert (cell["difference"]["mean"], cell["difference"]["pairs"]) == (pytest.approx(0.0), 2)
    assert rows["Kipf-GCN"]["cells"]["demo"] is None
    assert [title for title, row in rows.items() if row["is_reference"]] == [RELEASED.title]
    assert rows[RELEASED.title]["cells"]["cora"]["difference"]["mean"] == 0.0


def test_what_the_paper_does_not_print_has_no_figure_beside_it(results: Results, keep: Callable[..., None]) -> None:
    for variant in VARIANTS:
        keep("cora", variant, 0.5)
    rows = numbers(Scope(datasets=("cora",)), results)["rows"]
    printed = {row["title"]: row["cells"]["cora"]["published"] for row in rows}
    assert {title for title, figure in printed.items() if figure is None} == {v.title for v in NOT_IN_PRINT}
    assert printed["Planetoid, transductive"] == (75.7, None)
    assert printed[RELEASED.title] == printed["ConfGCN `paper`"] == (82.0, 0.3)


def test_without_the_reference_there_is_no_difference(results: Results, keep: Callable[..., None]) -> None:
    keep("demo", UNIFORM, 0.7)
    table = numbers(Scope(datasets=("demo",), methods=("confgcn",)), results)
    assert [row["method"] for row in table["rows"]] == ["confgcn"] * 3
    cell = next(row for row in table["rows"] if row["title"] == UNIFORM.title)["cells"]["demo"]
    assert (cell["difference"], cell["published"]) == (None, None)
