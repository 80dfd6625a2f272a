"""Table 1 beside ours, and what it says of Cora-ML."""

from __future__ import annotations

from typing import Any

import pytest

from confgcn.reporting.table1 import tables, verdicts
from confgcn.reporting.verdict import FAILS, HOLDS, UNKNOWN


def column(all_labels: float = 0.2, std: float | None = None, published: bool = True) -> dict[str, Any]:
    printed = {"nodes": 2708, "edges": 5429, "classes": 7, "features": 1433, "mismatch": 0.002, "label_rate": 0.052}
    readings = {"train_edges_of_all": 0.0008, "train_edges_of_train": None, "train_nodes_of_all": 0.01}
    return {
        "published": printed if published else None,
        "splits": 1,
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
    rows = rows_of({"datasets": {"cora": column(), "demo": column(published=False)}})
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


@pytest.mark.parametrize(
    ("shares", "finding"),
    [
        ({"cora": 0.19, "cora_ml": 0.21, "citeseer": 0.2}, HOLDS),
        ({"cora": 0.19, "cora_ml": 0.21, "citeseer": 0.26}, FAILS),
        ({"cora": 0.19, "citeseer": 0.26}, UNKNOWN),
        ({"cora_ml": 0.19}, UNKNOWN),
    ],
)
def test_is_cora_ml_the_most_mixed(shares: dict[str, float], finding: str) -> None:
    (verdict,) = verdicts({"datasets": {name: column(share) for name, share in shares.items()}})
    assert verdict.finding == finding
    assert all(f"{share:.3f} on {name}" in verdict.text for name, share in shares.items()) is (finding != UNKNOWN)
