"""Table 1: published numbers, counts of the graphs, and the claim about Cora-ML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from confgcn.data.load import load_graph
from confgcn.data.statistics import describe
from reproduction import table1
from reproduction.jobs import Scope
from reproduction.rendering import FAILS, HOLDS, PARTLY, UNKNOWN
from reproduction.results import Results
from reproduction.table1 import PUBLISHED, check_claims, tables


def test_a_graph_outside_the_paper_is_described_too(results: Results) -> None:
    columns = table1.numbers(Scope(seeds=3, datasets=("demo",)), results)["datasets"]
    assert columns.keys() == {"demo"}
    found, expected = columns["demo"], describe(load_graph("demo"))
    assert found["published"] is None
    assert found["nodes"] == expected.nodes
    assert found["edges"]["unique"] == expected.edges.unique
    assert found["mismatch"]["all_labels"] == {"mean": expected.label_mismatch.all_labels, "std": None}


@pytest.mark.real_data
def test_the_mismatch_of_a_drawn_split_is_a_mean_over_draws(results: Results, data_dir: Path) -> None:
    scope = Scope(seeds=3, datasets=("cora_ml",), data_dir=data_dir)
    found = table1.numbers(scope, results)["datasets"]["cora_ml"]
    draws = [load_graph("cora_ml", data_dir=data_dir, split_seed=seed) for seed in range(3)]
    values = [describe(graph).label_mismatch.train_edges_of_all for graph in draws]
    assert found["published"] == PUBLISHED["cora_ml"]
    assert found["mismatch"]["train_edges_of_all"]["mean"] == pytest.approx(sum(values) / 3)
    assert found["mismatch"]["train_edges_of_all"]["std"] > 0
    assert found["mismatch"]["all_labels"]["std"] == pytest.approx(0.0, abs=1e-12)


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


def test_published_and_counted_numbers_are_in_neighbouring_rows() -> None:
    rows = rows_of({"datasets": {"cora": column(), "demo": column(edges=None)}})
    assert rows["nodes, paper"] == ["2,708", "–"]
    assert rows["nodes"] == ["2,708", "2,708"]
    assert rows["edges, paper"][0] == rows["edges: half of the entries"][0] == "5,429"
    assert rows["entries that are duplicates / self loops"] == ["302 / 0"] * 2
    assert rows["label mismatch, paper"] == ["0.002", "–"]
    assert rows["label rate"] == ["0.0517"] * 2


def test_a_mismatch_over_draws_has_a_deviation_and_a_missing_one_is_a_dash() -> None:
    rows = rows_of({"datasets": {"cora_ml": column(std=0.003), "cora": column()}})
    assert rows["mismatched edges between training nodes / all edges (literal)"] == ["0.0008 ± 0.0030", "0.0008"]
    assert rows["mismatched / all edges between training nodes"][1] == "–"


def graphs(literal: dict[str, float | None], truth: dict[str, float]) -> dict[str, Any]:
    return {"datasets": {name: column(truth[name], literal=share) for name, share in literal.items()}}


@pytest.mark.parametrize(
    ("literal", "truth", "outcome"),
    [
        (
            {"cora": 0.001, "cora_ml": 0.018, "citeseer": 0.002},
            {"cora": 0.19, "cora_ml": 0.27, "citeseer": 0.26},
            HOLDS,
        ),
        (
            {"cora": 0.001, "cora_ml": 0.018, "citeseer": 0.002},
            {"cora": 0.19, "cora_ml": 0.21, "citeseer": 0.26},
            PARTLY,
        ),
        (
            {"cora": 0.001, "cora_ml": 0.002, "citeseer": 0.003},
            {"cora": 0.19, "cora_ml": 0.27, "citeseer": 0.26},
            PARTLY,
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
def test_the_claim_on_cora_ml_needs_the_highest_mismatch(
    literal: dict[str, float | None], truth: dict[str, float], outcome: str
) -> None:
    (check,) = check_claims(graphs(literal, truth))
    assert check.outcome == outcome
    for share, name in [*zip(literal.values(), literal, strict=True), *zip(truth.values(), truth, strict=True)]:
        assert ("–" if share is None else f"{share:.4f}") + f" on {name}" in check.evidence
    assert all(f"5.2 % of {name}" in check.evidence for name in literal)


@pytest.mark.parametrize("names", [("cora", "citeseer"), ("cora_ml",), ()], ids=["not there", "alone", "nothing"])
def test_without_cora_ml_or_another_graph_the_claim_is_undetermined(names: tuple[str, ...]) -> None:
    (check,) = check_claims({"datasets": {name: column() for name in names}})
    assert (check.outcome, check.evidence) == (UNKNOWN, "")


@pytest.mark.parametrize("printed", [10858, 5429, 5278])
def test_an_explained_number_of_edges_is_not_mentioned(printed: int) -> None:
    (check,) = check_claims({"datasets": {"cora": column(edges=printed), "cora_ml": column(edges=5429)}})
    assert "No convention gives" not in check.evidence


def test_an_unexplained_number_of_edges_is_named() -> None:
    found = {
        "cora": column(),
        "cora_ml": column(edges=8416),
        "citeseer": column(edges=4372),
        "demo": column(edges=None),
    }
    (check,) = check_claims({"datasets": found})
    assert "No convention gives the paper's 8,416 edges of cora_ml and 4,372 edges of citeseer." in check.evidence
