"""Table 1's numbers: what the paper prints, and what is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from confgcn.data.datasets import load_graph
from confgcn.data.statistics import describe
from reproduction import table1
from reproduction.published import TABLE_1
from reproduction.results import Results
from reproduction.scope import Scope


def test_a_graph_that_the_paper_does_not_have_is_described_all_the_same(results: Results) -> None:
    columns = table1.numbers(Scope(seeds=3, datasets=("demo",)), results)["datasets"]
    assert columns.keys() == {"demo"}
    found, expected = columns["demo"], describe(load_graph("demo"))
    assert found["published"] is None
    assert found["nodes"] == expected.nodes
    assert found["edges"]["unique"] == expected.edges.unique
    assert found["mismatch"]["all_labels"] == {"mean": expected.label_mismatch.all_labels, "std": None}


@pytest.mark.real_data
def test_where_the_split_is_drawn_the_mismatch_is_that_of_all_draws(results: Results, data_dir: Path) -> None:
    scope = Scope(seeds=3, datasets=("cora_ml",), data_dir=data_dir)
    found = table1.numbers(scope, results)["datasets"]["cora_ml"]
    draws = [load_graph("cora_ml", data_dir=data_dir, split_seed=seed) for seed in range(3)]
    values = [describe(graph).label_mismatch.train_edges_of_all for graph in draws]
    assert found["published"] == TABLE_1["cora_ml"]
    assert found["mismatch"]["train_edges_of_all"]["mean"] == pytest.approx(sum(values) / 3)
    assert found["mismatch"]["train_edges_of_all"]["std"] > 0
    assert found["mismatch"]["all_labels"]["std"] == pytest.approx(0.0, abs=1e-12)
