"""Table 2: what is printed is what was measured, and what is said of it follows."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from reproduction.drawing.table2 import CONTROL, PRINTED, REFERENCE, is_short, tables, verdicts
from reproduction.render import texts_of
from reproduction.verdict import FAILS, HOLDS, IN_PART, UNKNOWN


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
    return {"title": title, "method": method, "is_reference": title == REFERENCE, "cells": cells}


def numbers(*rows: dict[str, Any]) -> dict[str, Any]:
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
def test_short_is_more_than_the_printed_deviation_or_a_point_below(
    published: tuple[float, float | None] | None, mean: float | None, short: bool
) -> None:
    assert is_short(cell(mean, published=published)) is short


def test_printed_numbers_are_the_measured_ones() -> None:
    found = numbers(
        row("Kipf-GCN", cora=cell(0.8126, published=(80.9, 0.4), difference=ABOVE), demo=cell(0.7, std=None)),
        row("LP", cora=cell(0.5, published=(68.0, None), difference=BELOW), demo=None),
        row(REFERENCE, "confgcn", cora=cell(0.8301), demo=cell(None)),
    )
    found = json.loads(json.dumps(found))
    text = texts_of("table2", found)["table2.md"].decode()
    captions = [table.caption for table in tables(found).values()]
    assert [text.count(caption) for caption in captions] == [1, 1, 1]
    accuracy, difference, seconds = re.split("|".join(map(re.escape, captions)), text)[1:]
    assert parsed(accuracy) == {
        "": ["cora", "demo"],
        "Kipf-GCN": ["81.3 ± 0.4 (80.9 ± 0.4)", "70.0"],
        "LP": ["50.0 ± 0.4 † (68.0)", "–"],
        REFERENCE: ["83.0 ± 0.4", "diverged"],
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


def test_seconds_below_one_have_another_digit() -> None:
    table = tables(numbers(row("LP", demo=cell(0.5, processor_seconds=0.083))))["seconds"]
    assert table.rows == [["LP", "0.08"]]
    unknown = tables(numbers(row("LP", demo=cell(0.5, processor_seconds=None))))["seconds"]
    assert unknown.rows == [["LP", "–"]]


@pytest.mark.parametrize(
    ("on_cora", "on_citeseer", "finding"),
    [(ABOVE, ABOVE, HOLDS), (ABOVE, EQUAL, IN_PART), (EQUAL, BELOW, FAILS)],
)
def test_confgcn_has_to_be_clearly_above_every_other_method(
    on_cora: tuple[float, float, float], on_citeseer: tuple[float, float, float], finding: str
) -> None:
    found = numbers(
        row("Kipf-GCN", cora=cell(0.8, difference=on_cora), citeseer=cell(0.7, difference=on_citeseer)),
        row("LP", "label_propagation", cora=cell(0.6, difference=ABOVE), citeseer=cell(0.5, difference=ABOVE)),
        row(REFERENCE, "confgcn", cora=cell(0.81), citeseer=cell(0.71)),
        row(CONTROL, "confgcn", cora=cell(0.9, difference=EQUAL), citeseer=cell(0.9, difference=EQUAL)),
        row(PRINTED, "confgcn", cora=cell(0.7, difference=ABOVE), citeseer=None),
    )
    (verdict,) = verdicts(found)
    assert verdict.finding == finding
    assert "the best other method, Kipf-GCN, 80.0 ± 0.4" in verdict.text
    assert "0.0 [−1.0, +1.0] on cora and 0.0 [−1.0, +1.0] on citeseer" in verdict.text  # the control
    assert "−2.0 [−3.0, −1.0] on cora." in verdict.text  # as printed


def test_a_difference_of_few_seeds_tells_nothing() -> None:
    few = cell(0.7) | {"difference": {"mean": -0.1, "low": None, "high": None}}
    (verdict,) = verdicts(numbers(row("Kipf-GCN", cora=few), row(REFERENCE, "confgcn", cora=cell(0.8))))
    assert verdict.finding == UNKNOWN
    assert "the latter less the former is −10.0 points." in verdict.text


@pytest.mark.parametrize(("difference", "is_told"), [(ABOVE, True), (BELOW, True), (EQUAL, False)])
def test_a_difference_to_the_best_other_is_told_from_zero_or_not(
    difference: tuple[float, float, float], is_told: bool
) -> None:
    found = numbers(row("Kipf-GCN", cora=cell(0.8, difference=difference)), row(REFERENCE, "confgcn", cora=cell(0.8)))
    assert ("not told from zero" in verdicts(found)[0].text) is not is_told


@pytest.mark.parametrize(
    "found",
    [
        numbers(row("Kipf-GCN", cora=cell(0.8))),
        numbers(row("Kipf-GCN", cora=None), row(REFERENCE, "confgcn", cora=cell(0.8))),
        numbers(row("Kipf-GCN", cora=cell(0.8)), row(REFERENCE, "confgcn", cora=cell(None))),
        {"datasets": ["cora"], "rows": []},
    ],
    ids=["no ConfGCN", "no other", "diverged", "nothing"],
)
def test_without_both_nothing_is_said(found: dict[str, Any]) -> None:
    (verdict,) = verdicts(found)
    assert verdict.finding == UNKNOWN


def test_where_the_paper_itself_prints_more_for_another_it_is_said() -> None:
    gat, confgcn = cell(0.8, published=(83.0, 0.7)), cell(0.8, published=(82.0, 0.3))
    rows = [row(REFERENCE, "confgcn", cora=confgcn, pubmed=confgcn), row("GAT", cora=gat, pubmed=None)]
    assert "GAT on cora is above ConfGCN" in verdicts(numbers(*rows))[0].text
    rows[1]["cells"]["cora"]["published"] = None
    assert "is above ConfGCN" not in verdicts(numbers(*rows))[0].text


def test_cells_below_the_paper_are_counted() -> None:
    found = numbers(
        row("Kipf-GCN", cora=cell(0.8, published=(80.9, 0.4)), citeseer=cell(0.7, published=(69.4, 0.4))),
        row(PRINTED, "confgcn", cora=cell(0.1, published=(82.0, 0.3)), citeseer=cell(0.1)),
    )
    (verdict,) = verdicts(found)
    assert "Of 2 cells" in verdict.text
    assert "left aside, 1 are" in verdict.text
