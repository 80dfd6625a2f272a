"""Table 2: rows from recorded runs, differences paired by seed, and the claim of Q1."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from confgcn.models.registry import METHODS
from reproduction.artefacts import ARTEFACTS
from reproduction.jobs import PAPER_GRAPHS, Scope
from reproduction.presets import COMPARED_ELSEWHERE
from reproduction.rendering import FAILS, HOLDS, PARTLY, UNKNOWN
from reproduction.results import Results
from reproduction.table2 import (
    GCN,
    PAPER,
    PUBLISHED,
    RELEASED,
    UNIFORM,
    UNPUBLISHED,
    VARIANTS,
    check_claims,
    is_below_published,
    jobs,
    numbers,
    tables,
)


def test_every_method_has_a_row_but_those_of_the_comparison_on_other_graphs() -> None:
    assert {variant.method for variant in VARIANTS} == METHODS.keys() - set(COMPARED_ELSEWHERE)
    assert PUBLISHED.keys() <= set(METHODS)
    assert len({variant.title for variant in VARIANTS}) == len(VARIANTS)
    assert {dataset for row in PUBLISHED.values() for dataset in row} == set(PAPER_GRAPHS)


def test_every_row_is_run_on_every_graph() -> None:
    found = jobs(Scope(seeds=2))
    assert len(found) == len(set(found)) == len(VARIANTS) * len(PAPER_GRAPHS) * 2


def test_a_cell_holds_published_accuracy_mean_and_paired_difference(
    results: Results, keep: Callable[..., None]
) -> None:
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


def test_unpublished_variants_have_no_published_accuracy(results: Results, keep: Callable[..., None]) -> None:
    for variant in VARIANTS:
        keep("cora", variant, 0.5)
    rows = numbers(Scope(datasets=("cora",)), results)["rows"]
    printed = {row["title"]: row["cells"]["cora"]["published"] for row in rows}
    assert {title for title, figure in printed.items() if figure is None} == {v.title for v in UNPUBLISHED}
    assert printed["Planetoid, transductive"] == (75.7, None)
    assert printed[RELEASED.title] == printed["ConfGCN `paper`"] == (82.0, 0.3)


def test_without_the_reference_there_is_no_difference(results: Results, keep: Callable[..., None]) -> None:
    keep("demo", UNIFORM, 0.7)
    table = numbers(Scope(datasets=("demo",), methods=("confgcn",)), results)
    assert [row["method"] for row in table["rows"]] == ["confgcn"] * 3
    cell = next(row for row in table["rows"] if row["title"] == UNIFORM.title)["cells"]["demo"]
    assert (cell["difference"], cell["published"]) == (None, None)


def cell(
    mean: float | None, *, std: float | None = 0.004, difference: tuple[float, float, float] | None = None, **other: Any
) -> dict[str, Any]:
    low_mean_high = dict(zip(("low", "mean", "high"), difference, strict=True)) if difference else None
    return {
        "published": None,
        "accuracy": {"mean": mean, "std": std, "runs": 10, "diverged": 10 if mean is None else 0},
        "processor_seconds": 1.26,
        "difference": low_mean_high,
        **other,
    }


def row(title: str, method: str = "gcn", **cells: Any) -> dict[str, Any]:
    return {"title": title, "method": method, "is_reference": title == RELEASED.title, "cells": cells}


def numbers_of(*rows: dict[str, Any]) -> dict[str, Any]:
    return {"datasets": list(rows[0]["cells"]), "rows": list(rows)}


ABOVE, EQUAL, BELOW = (-0.03, -0.02, -0.01), (-0.01, 0.0, 0.01), (0.01, 0.02, 0.03)  # of ConfGCN, seen from the other


@pytest.mark.parametrize(
    ("published", "mean", "short"),
    [
        ((80.9, 0.4), 0.805, False),
        ((80.9, 0.4), 0.8046, False),  # printed as 80.5
        ((80.9, 0.4), 0.8044, True),
        ((68.0, None), 0.670, False),
        ((68.0, None), 0.669, True),
        ((68.0, None), 0.9, False),
        (None, 0.1, False),
        ((68.0, None), None, False),
    ],
)
def test_below_published_means_by_more_than_the_deviation_or_one_point(
    published: tuple[float, float | None] | None, mean: float | None, short: bool
) -> None:
    assert is_below_published(cell(mean, published=published)) is short


def test_printed_numbers_are_the_measured_ones() -> None:
    found = numbers_of(
        row("Kipf-GCN", cora=cell(0.8126, published=(80.9, 0.4), difference=ABOVE), demo=cell(0.7, std=None)),
        row("LP", cora=cell(0.5, published=(68.0, None), difference=BELOW), demo=None),
        row(RELEASED.title, "confgcn", cora=cell(0.8301), demo=cell(None)),
    )
    found = json.loads(json.dumps(found))
    text = ARTEFACTS["table2"].texts(found)["table2.md"].decode()
    captions = [table.caption for table in tables(found).values()]
    assert [text.count(caption) for caption in captions] == [1, 1, 1]
    accuracy, difference, seconds = re.split("|".join(map(re.escape, captions)), text)[1:]
    assert parsed(accuracy) == {
        "": ["cora", "demo"],
        "Kipf-GCN": ["81.3 ± 0.4 (80.9 ± 0.4)", "70.0"],
        "LP": ["50.0 ± 0.4 † (68.0)", "–"],
        RELEASED.title: ["83.0 ± 0.4", "diverged"],
    }
    assert parsed(difference)["Kipf-GCN"] == ["−2.0 [−3.0, −1.0]", "–"]
    assert parsed(difference)["LP"] == ["+2.0 [+1.0, +3.0]", "–"]
    assert parsed(seconds)["Kipf-GCN"] == ["1.3", "1.3"]
    for entry in found["rows"]:
        for dataset, words in zip(found["datasets"], parsed(accuracy)[entry["title"]], strict=True):
            measured = entry["cells"][dataset]
            if measured and measured["accuracy"]["mean"] is not None:
                assert float(words.split()[0]) == pytest.approx(100 * measured["accuracy"]["mean"], abs=0.05)


def parsed(markdown: str) -> dict[str, list[str]]:
    lines = [line for line in markdown.splitlines() if line.startswith("|") and "---" not in line]
    cells = [[text.strip() for text in line.strip("|").split("|")] for line in lines]
    return {title: rest for title, *rest in cells}


def test_seconds_below_one_have_two_digits() -> None:
    table = tables(numbers_of(row("LP", demo=cell(0.5, processor_seconds=0.083))))["seconds"]
    assert table.rows == [["LP", "0.08"]]
    unknown = tables(numbers_of(row("LP", demo=cell(0.5, processor_seconds=None))))["seconds"]
    assert unknown.rows == [["LP", "–"]]


@pytest.mark.parametrize(
    ("on_cora", "on_citeseer", "outcome"),
    [(ABOVE, ABOVE, HOLDS), (ABOVE, EQUAL, PARTLY), (EQUAL, BELOW, FAILS)],
)
def test_the_claim_needs_confgcn_above_every_other_method(
    on_cora: tuple[float, float, float], on_citeseer: tuple[float, float, float], outcome: str
) -> None:
    found = numbers_of(
        row("Kipf-GCN", cora=cell(0.8, difference=on_cora), citeseer=cell(0.7, difference=on_citeseer)),
        row("LP", "label_propagation", cora=cell(0.6, difference=ABOVE), citeseer=cell(0.5, difference=ABOVE)),
        row(RELEASED.title, "confgcn", cora=cell(0.81), citeseer=cell(0.71)),
        row(UNIFORM.title, "confgcn", cora=cell(0.9, difference=EQUAL), citeseer=cell(0.9, difference=EQUAL)),
        row(PAPER.title, "confgcn", cora=cell(0.7, difference=ABOVE), citeseer=None),
    )
    (check,) = check_claims(found)
    assert check.outcome == outcome
    assert "the best other method, Kipf-GCN, has 80.0 ± 0.4" in check.evidence
    assert "0.0 [−1.0, +1.0] on cora and 0.0 [−1.0, +1.0] on citeseer" in check.evidence  # the control
    assert "−2.0 [−3.0, −1.0] on cora." in check.evidence  # as printed


def test_a_difference_with_few_seeds_is_undetermined() -> None:
    few = cell(0.7) | {"difference": {"mean": -0.1, "low": None, "high": None}}
    (check,) = check_claims(numbers_of(row("Kipf-GCN", cora=few), row(RELEASED.title, "confgcn", cora=cell(0.8))))
    assert check.outcome == UNKNOWN
    assert "(difference −10.0 points)." in check.evidence


@pytest.mark.parametrize(("difference", "is_told"), [(ABOVE, True), (BELOW, True), (EQUAL, False)])
def test_a_difference_that_is_not_significant_is_named_so(
    difference: tuple[float, float, float], is_told: bool
) -> None:
    found = numbers_of(
        row("Kipf-GCN", cora=cell(0.8, difference=difference)), row(RELEASED.title, "confgcn", cora=cell(0.8))
    )
    assert ("not significantly different from zero" in check_claims(found)[0].evidence) is not is_told


@pytest.mark.parametrize(
    "found",
    [
        numbers_of(row("Kipf-GCN", cora=cell(0.8))),
        numbers_of(row("Kipf-GCN", cora=None), row(RELEASED.title, "confgcn", cora=cell(0.8))),
        numbers_of(row("Kipf-GCN", cora=cell(0.8)), row(RELEASED.title, "confgcn", cora=cell(None))),
        {"datasets": ["cora"], "rows": []},
    ],
    ids=["no ConfGCN", "no other", "diverged", "nothing"],
)
def test_without_confgcn_or_other_methods_the_claim_is_undetermined(found: dict[str, Any]) -> None:
    (check,) = check_claims(found)
    assert check.outcome == UNKNOWN


def test_published_accuracies_above_confgcn_are_named() -> None:
    gat, confgcn = cell(0.8, published=(83.0, 0.7)), cell(0.8, published=(82.0, 0.3))
    rows = [row(RELEASED.title, "confgcn", cora=confgcn, pubmed=confgcn), row("GAT", cora=gat, pubmed=None)]
    assert "GAT on cora is above ConfGCN" in check_claims(numbers_of(*rows))[0].evidence
    rows[1]["cells"]["cora"]["published"] = None
    assert "is above ConfGCN" not in check_claims(numbers_of(*rows))[0].evidence


def test_cells_below_the_paper_are_counted() -> None:
    found = numbers_of(
        row("Kipf-GCN", cora=cell(0.8, published=(80.9, 0.4)), citeseer=cell(0.7, published=(69.4, 0.4))),
        row(PAPER.title, "confgcn", cora=cell(0.1, published=(82.0, 0.3)), citeseer=cell(0.1)),
    )
    (check,) = check_claims(found)
    assert "Of 2 cells" in check.evidence
    assert "excluded), 1 are" in check.evidence
