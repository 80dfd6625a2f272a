"""Table 1 beside ours, and what it says of Cora-ML."""

from __future__ import annotations

from typing import Any

import pytest

from reproduction.drawing.table1 import tables, verdicts
from reproduction.verdict import FAILS, HOLDS, IN_PART, UNKNOWN


def column(
    all_labels: float = 0.2, *, literal: float | None = 0.0008, std: float | None = None, edges: int | None = 5429
) -> dict[str, Any]:
    """A data set; without printed edges the paper does not have it."""
    printed = {"nodes": 2708, "edges": edges, "classes": 7, "features": 1433, "mismatch": 0.002, "label_rate": 0.052}
    readings = {"train_edges_of_all": literal, "train_edges_of_train": None, "train_nodes_of_all": 0.01}
    return {
        "published": None if edges is None else printed,
        "nodes": 2708,
        "edges": {"listed": 10858, "listed_halved": 5429.0, "unique": 5278, "duplicates": 302, "loops": 0},
        "classes": 7,
        "features": 1433,
        "label_rate": 0.0517,
        "mismatch": {name: {"mean": mean, "std": std} for name, mean in {**readings, "all_labels": all_labels}.items()},
    }


def rows_of(numbers: dict[str, Any]) -> dict[str, list[str]]:
    (table,) = tables(numbers).values()
    return {row[0]: list(row[1:]) for row in table.rows}


def test_the_paper_stands_beside_what_is_there() -> None:
    rows = rows_of({"datasets": {"cora": column(), "demo": column(edges=None)}})
    assert rows["nodes, paper"] == ["2,708", "–"]
    assert rows["nodes"] == ["2,708", "2,708"]
    assert rows["edges, paper"][0] == rows["edges: entries as listed, halved"][0] == "5,429"
    assert rows["of the entries: repeated / self loops"] == ["302 / 0"] * 2
    assert rows["label mismatch, paper"] == ["0.002", "–"]
    assert rows["label rate"] == ["0.0517"] * 2


def test_a_mismatch_over_drawn_splits_has_its_deviation_and_one_of_nothing_a_dash() -> None:
    rows = rows_of({"datasets": {"cora_ml": column(std=0.003), "cora": column()}})
    assert rows["between training nodes, of all edges (the literal reading)"] == ["0.0008 ± 0.0030", "0.0008"]
    assert rows["between training nodes, of their edges"][1] == "–"


def graphs(literal: dict[str, float | None], truth: dict[str, float]) -> dict[str, Any]:
    return {"datasets": {name: column(truth[name], literal=share) for name, share in literal.items()}}


@pytest.mark.parametrize(
    ("literal", "truth", "finding"),
    [
        (
            {"cora": 0.001, "cora_ml": 0.018, "citeseer": 0.002},
            {"cora": 0.19, "cora_ml": 0.27, "citeseer": 0.26},
            HOLDS,
        ),
        (
            {"cora": 0.001, "cora_ml": 0.018, "citeseer": 0.002},
            {"cora": 0.19, "cora_ml": 0.21, "citeseer": 0.26},
            IN_PART,
        ),
        (
            {"cora": 0.001, "cora_ml": 0.002, "citeseer": 0.003},
            {"cora": 0.19, "cora_ml": 0.27, "citeseer": 0.26},
            IN_PART,
        ),
        (
            {"cora": 0.001, "cora_ml": 0.002, "citeseer": 0.003},
            {"cora": 0.19, "cora_ml": 0.21, "citeseer": 0.26},
            FAILS,
        ),
        ({"cora": None, "cora_ml": 0.002}, {"cora": 0.1, "cora_ml": 0.2}, HOLDS),
    ],
    ids=["in both readings", "in the literal one", "with all labels", "in neither", "an edge is missing"],
)
def test_is_cora_ml_the_most_mixed(literal: dict[str, float | None], truth: dict[str, float], finding: str) -> None:
    (verdict,) = verdicts(graphs(literal, truth))
    assert verdict.finding == finding
    for share, name in [*zip(literal.values(), literal, strict=True), *zip(truth.values(), truth, strict=True)]:
        assert ("–" if share is None else f"{share:.4f}") + f" on {name}" in verdict.text
    assert all(f"5.2 % of {name}" in verdict.text for name in literal)


@pytest.mark.parametrize("names", [("cora", "citeseer"), ("cora_ml",), ()], ids=["not there", "alone", "nothing"])
def test_without_cora_ml_and_another_there_is_nothing_to_compare(names: tuple[str, ...]) -> None:
    (verdict,) = verdicts({"datasets": {name: column() for name in names}})
    assert (verdict.finding, verdict.text) == (UNKNOWN, "")


@pytest.mark.parametrize("printed", [10858, 5429, 5278])
def test_a_count_of_edges_that_some_way_of_counting_gives_is_not_mentioned(printed: int) -> None:
    (verdict,) = verdicts({"datasets": {"cora": column(edges=printed), "cora_ml": column(edges=5429)}})
    assert "fit no way of counting" not in verdict.text


def test_a_count_of_edges_that_no_way_of_counting_gives_is_named() -> None:
    found = {
        "cora": column(),
        "cora_ml": column(edges=8416),
        "citeseer": column(edges=4372),
        "demo": column(edges=None),
    }
    (verdict,) = verdicts({"datasets": found})
    assert "The paper's 8,416 edges of cora_ml and 4,372 edges of citeseer fit no way of counting." in verdict.text
