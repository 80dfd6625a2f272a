"""The tables of confidences: the runs they need, cells from hand-written numbers, and the picture."""

from __future__ import annotations

from typing import Any

import pytest

from reproduction.artefacts import ARTEFACTS
from reproduction.confidence import ABLATION_SEEDS, ABLATIONS, DEFAULT_SEEDS, draw, jobs, numbers, tables
from reproduction.default_variants import CONSENSUS, DEFAULT, DIVIDED, flipped, mixed
from reproduction.jobs import PAPER_GRAPHS, Scope
from reproduction.results import Results


def test_ablations_have_few_seeds_and_no_large_graph() -> None:
    ablated = {
        (job.dataset, job.seed)
        for job in jobs(Scope(seeds=10))
        if job.variant in ABLATIONS and job.variant != CONSENSUS
    }
    assert {dataset for dataset, _ in ablated} == {"citeseer", "cora", "cora_ml"}
    assert {seed for _, seed in ablated} == set(range(ABLATION_SEEDS))


def test_the_default_is_run_in_three_ways_two_of_them_with_few_seeds() -> None:
    seeds = {
        variant: {job.seed for job in jobs(Scope(seeds=10)) if (job.dataset, job.variant) == ("cora", variant)}
        for variant in (DEFAULT, flipped(DEFAULT), DIVIDED, mixed(DEFAULT))
    }
    few = set(range(DEFAULT_SEEDS))
    assert list(seeds.values()) == [set(range(10)), few, few, set()]  # mixed: in the table of influences


def test_the_numbers_of_an_empty_folder_can_be_shown(results: Results) -> None:
    shown = tables(numbers(Scope(), Results(results.folder, "confidence")))
    assert shown["targets"].header[2:] == list(PAPER_GRAPHS)
    assert {cell for row in shown["targets"].rows for cell in row[2:]} == {"–"}


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
    confidence_numbers |= {"influence": {"original": {}, "mixed": {}}, "mixed_minus_gat": {"cora": None}}
    for table in tables(confidence_numbers).values():
        assert not any(character.isdigit() for row in table.rows for cell in row[-1:] for character in cell)
    lines = [line for axis in draw(confidence_numbers).axes for line in axis.lines]
    assert not any(len(line.get_xdata()) for line in lines)


def test_the_picture_is_written_as_svg_and_png(confidence_numbers: dict[str, Any]) -> None:
    pytest.importorskip("matplotlib")
    assert ARTEFACTS["confidence"].pictures(confidence_numbers).keys() == {"confidence.svg", "confidence.png"}
