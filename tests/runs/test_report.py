"""The numbers behind the page of a run: those of its other files, of the nodes that can be looked at."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from confgcn.data.load import load_graph
from confgcn.exceptions import BusyError, ResourceError
from confgcn.io.locks import locked_folder
from confgcn.report.page import render
from confgcn.runs import report as report_module
from confgcn.runs.directory import RunDirectory
from confgcn.runs.report import collect, write_report
from confgcn.runs.request import RunRequest
from confgcn.runs.run import Run
from confgcn.runs.saved import load_run
from confgcn.runs.train import train


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("runs")
    request = RunRequest("demo", preset="consensus", overrides={"epochs": 8}, out=folder / "confgcn")
    train(request, notify=lambda _: None)
    train(RunRequest("demo", "label_propagation", out=folder / "solved"), notify=lambda _: None)
    return {name: folder / name for name in ("confgcn", "solved")}


def numbers_of(path: Path) -> dict[str, Any]:
    return collect(load_run(path), RunDirectory(path))


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_every_number_can_be_written_as_json(runs: dict[str, Path]) -> None:
    for path in runs.values():
        numbers = numbers_of(path)
        assert json.loads(json.dumps(numbers, allow_nan=False)) == numbers


def test_nodes_are_those_of_the_predictions(runs: dict[str, Path]) -> None:
    numbers, rows = numbers_of(runs["confgcn"]), rows_of(runs["confgcn"] / "predictions.csv")
    nodes, classes = numbers["nodes"], numbers["classes"]
    assert nodes["node"] == [row["node"] for row in rows]
    assert [classes[label] for label in nodes["label"]] == [row["label"] for row in rows]
    assert nodes["most_influential_neighbour"] == [row["most_influential_neighbour"] for row in rows]
    assert ["|".join(classes[c] for c in inside) for inside in nodes["set"]] == [row["set"] for row in rows]
    for quantity in ("probability", "mu", "precision"):
        for c, name in enumerate(classes):
            written = [float(row[f"{quantity}_{name}"]) for row in rows]
            assert [values[c] for values in nodes[f"{quantity}_by_class"]] == pytest.approx(written, abs=1e-6)


def test_neighbours_are_those_of_the_graph_with_the_most_heard_first(runs: dict[str, Path]) -> None:
    numbers, graph = numbers_of(runs["confgcn"]), load_graph("demo")
    nodes, found = numbers["nodes"], numbers["neighbours"]
    for node in (0, 7, 1358, 2707):
        listed = slice(found["start"][node], found["start"][node + 1])
        places = graph.neighbours.at_rows(torch.tensor([node]))[0].indices.tolist()
        assert sorted(found["node"][listed]) == places
        assert len(places) == nodes["degree"][node]
        assert found["influence"][listed] == sorted(found["influence"][listed], reverse=True)
        assert nodes["node"][found["node"][listed][0]] == nodes["most_influential_neighbour"][node]
        assert sum(found["influence"][listed]) + nodes["self_influence"][node] == pytest.approx(1.0, abs=1e-5)


def test_quality_is_that_of_the_metrics_and_the_confusion_counts_every_test_node(runs: dict[str, Path]) -> None:
    numbers, metrics = numbers_of(runs["confgcn"]), json.loads((runs["confgcn"] / "metrics.json").read_text())
    quality = numbers["quality"]
    assert quality["scores"]["accuracy"] == pytest.approx(metrics["test_accuracy"])
    assert (quality["evaluated_on"], quality["count"]) == ("test nodes", 1000)
    assert sum(map(sum, quality["confusion"])) == 1000
    right = sum(quality["confusion"][c][c] for c in range(7))
    assert right / 1000 == pytest.approx(metrics["test_accuracy"])
    assert numbers["about"]["decisions"] == metrics["decisions"]
    assert numbers["training"]["selected"] == metrics["best_epoch"]
    assert len(numbers["training"]["history"]) == 8


def test_tables_have_the_most_and_least_confident_nodes_outside_of_training(runs: dict[str, Path]) -> None:
    numbers, rows = numbers_of(runs["confgcn"]), rows_of(runs["confgcn"] / "predictions.csv")
    asked = sorted(float(row["probability"]) for row in rows if row["split"] != "train")
    tables = numbers["tables"]
    least = [float(rows[place]["probability"]) for place in tables["least_confident"]]
    most = [float(rows[place]["probability"]) for place in tables["most_confident"]]
    assert least == pytest.approx(asked[:20])
    assert most == pytest.approx(asked[::-1][:20])
    doubtful = rows_of(runs["confgcn"] / "label_errors.csv")
    assert [row["node"] for row in tables["labels"]] == [row["node"] for row in doubtful[:20]]
    assert all(rows[row["place"]]["node"] == row["node"] for row in tables["labels"])
    assert all(rows[row["other"]]["node"] == row["neighbour"] for row in tables["edges"])


def changed(path: Path, **split: Any) -> Run:
    """The run with another split of its graph, as evaluation sees it."""
    run = load_run(path)
    run.prepared = replace(run.prepared, **split)
    return run


def test_without_test_nodes_the_validation_nodes_are_evaluated_and_that_is_said(runs: dict[str, Path]) -> None:
    directory, nobody = RunDirectory(runs["confgcn"]), torch.empty(0, dtype=torch.long)
    quality = collect(changed(runs["confgcn"], test=nobody), directory)["quality"]
    assert (quality["evaluated_on"], quality["count"], quality["is_selection"]) == ("validation nodes", 500, True)
    assert collect(changed(runs["confgcn"], test=nobody, validation=nobody), directory)["quality"] is None


def test_labels_held_out_in_turn_are_evaluated_where_there_is_nothing_else(runs: dict[str, Path]) -> None:
    run = changed(runs["confgcn"], test=torch.empty(0, dtype=torch.long))
    run.held_out = run.prediction
    numbers = collect(run, RunDirectory(runs["confgcn"]))
    quality = numbers["quality"]
    assert (quality["evaluated_on"], quality["count"]) == ("labels held out in turn", 140)
    assert sum(map(sum, quality["confusion"])) == 140
    assert b"140 labels held out in turn" in render(numbers)[0]


def test_of_a_graph_too_large_the_nodes_around_the_tables_are_kept(
    runs: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_module, "MOST_NODES", 300)
    numbers = numbers_of(runs["confgcn"])
    nodes, found, tables = numbers["nodes"], numbers["neighbours"], numbers["tables"]
    assert len(nodes["node"]) == len(nodes["rank"]) == 300
    assert numbers["data"]["nodes"] == 2708
    assert min([*tables["most_confident"], *tables["least_confident"]]) >= 0
    assert found["start"][-1] == len(found["node"])
    assert max(found["node"]) < 300
    by_name = {row["node"]: row["label"] for row in rows_of(runs["confgcn"] / "predictions.csv")}
    assert all(by_name[n] == numbers["classes"][c] for n, c in zip(nodes["node"], nodes["label"], strict=True))


def test_the_page_is_written_into_the_run_or_where_one_says(runs: dict[str, Path], tmp_path: Path) -> None:
    file, notices = write_report(runs["confgcn"])
    assert (file, notices) == (runs["confgcn"] / "report.html", [])
    other, _ = write_report(runs["confgcn"], out=tmp_path / "mine.html")
    assert other.read_bytes() == file.read_bytes()
    assert b"<h1><bdi>demo</bdi></h1>" in file.read_bytes()


def test_a_method_without_influences_or_epochs_has_a_page(runs: dict[str, Path]) -> None:
    page = write_report(runs["solved"])[0].read_text()
    assert "not trained in epochs" in page
    numbers = numbers_of(runs["solved"])
    assert numbers["neighbours"]["influence"] is None
    assert numbers["nodes"]["mu_by_class"] is None


def test_a_run_in_use_is_left_alone(runs: dict[str, Path]) -> None:
    with locked_folder(runs["confgcn"]), pytest.raises(BusyError):
        write_report(runs["confgcn"])


def test_a_folder_without_a_run_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ResourceError, match="holds no finished run"):
        write_report(tmp_path)
