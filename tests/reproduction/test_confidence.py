"""The tables of confidences: the runs they need, cells from hand-written numbers, and the picture."""

from __future__ import annotations

from typing import Any

import pytest

from reproduction.artefacts import ARTEFACTS
from reproduction.confidence import ABLATION_SEEDS, ABLATIONS, CONSENSUS, draw, jobs, mixed, tables
from reproduction.jobs import Scope


def test_ablations_have_few_seeds_and_no_large_graph() -> None:
    ablated = {
        (job.dataset, job.seed)
        for job in jobs(Scope(seeds=10))
        if job.variant in ABLATIONS and job.variant != CONSENSUS
    }
    assert {dataset for dataset, _ in ablated} == {"citeseer", "cora", "cora_ml"}
    assert {seed for _, seed in ablated} == set(range(ABLATION_SEEDS))


def test_a_mixed_variant_changes_only_the_graph() -> None:
    assert mixed(CONSENSUS).changes == (("edges_between_classes", 0.5),)
    assert mixed(CONSENSUS).title == CONSENSUS.title


def test_accuracy_and_calibration_of_the_default_and_of_common_models(confidence_numbers: dict[str, Any]) -> None:
    rows = dict(tables(confidence_numbers)["comparison"].rows)
    assert rows["ConfGCN (default), calibrated"] == "84.0 ± 1.0 / 3.0"
    assert rows["GAT, softmax"] == "–"


def test_several_measurements_in_a_cell_are_separated_by_slashes(confidence_numbers: dict[str, Any]) -> None:
    shown = tables(confidence_numbers)
    assert shown["sets"].rows == [["ours", "90.1 / 1.30 / 91.0"]]
    assert shown["set scores"].rows == [["threshold, 90 %", "90.1 / 1.30"]]
    assert shown["ablations"].rows == [["ours", "84.0 / 83.5 / 0.500 / 0.85"]]


def test_decisions_show_how_many_are_accepted_and_wrong(confidence_numbers: dict[str, Any]) -> None:
    assert tables(confidence_numbers)["decisions"].rows == [
        ["at most 5 % wrong: test nodes accepted, %", "50.0"],
        ["at most 5 % wrong: wrong among them, %", "4.0"],
    ]


def test_without_runs_there_are_empty_tables_and_an_empty_picture(confidence_numbers: dict[str, Any]) -> None:
    pytest.importorskip("matplotlib")
    for group in ("methods", "mixed", "flipped", "sets", "ablations"):
        for row in confidence_numbers[group]:
            row["cells"] = {"cora": None}
    confidence_numbers["differences"]["cora"] = dict.fromkeys(confidence_numbers["differences"]["cora"])
    for table in tables(confidence_numbers).values():
        assert not any(character.isdigit() for row in table.rows for cell in row[-1:] for character in cell)
    lines = [line for axis in draw(confidence_numbers).axes for line in axis.lines]
    assert not any(len(line.get_xdata()) for line in lines)


def test_the_picture_is_written_as_svg_and_png(confidence_numbers: dict[str, Any]) -> None:
    pytest.importorskip("matplotlib")
    assert ARTEFACTS["confidence"].pictures(confidence_numbers).keys() == {"confidence.svg", "confidence.png"}
