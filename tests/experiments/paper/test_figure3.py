"""Figure 3's lines: one cell per depth, with and without ReLU."""

from __future__ import annotations

from collections.abc import Callable

from confgcn.experiments.paper.figure3 import DEPTHS, LINES, deep, jobs, numbers
from confgcn.experiments.paper.jobs import Job
from confgcn.experiments.paper.results import Results
from confgcn.experiments.paper.scope import Scope
from confgcn.experiments.paper.table2 import GCN


def test_only_the_depth_and_the_activation_are_changed() -> None:
    for line in LINES:
        plain, changed = line.settings("citeseer"), deep(line, "relu", 7).settings("citeseer")
        assert changed.model == {**plain.model, "num_layers": 7, "activation": "relu"}
        assert (changed.recipe, changed.data) == (plain.recipe, plain.data)


def test_two_layers_are_runs_of_table_2() -> None:
    keys = {job.settings_key for job in jobs(Scope(seeds=1))}
    for line in LINES:
        assert Job("citeseer", line, 0).settings_key in keys


def test_a_cell_stands_at_its_depth(results: Results, keep: Callable[..., None]) -> None:
    keep("citeseer", deep(GCN, "identity", 5), 0.6, None)
    found = numbers(Scope(), results)
    assert found["depths"] == list(DEPTHS) == list(range(1, 11))
    lines = {(line["title"], line["activation"]): line["cells"] for line in found["datasets"]["citeseer"]}
    assert len(lines) == 2 * len(LINES)
    cells = lines[GCN.title, "without ReLU"]
    assert [depth for depth, cell in zip(found["depths"], cells, strict=True) if cell] == [5]
    assert cells[4] == {"mean": 0.6, "std": None, "runs": 2, "diverged": 1}
    assert not any(lines[GCN.title, "with ReLU"])
