"""``confgcn evaluate``."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def confgcn(tmp_path_factory: pytest.TempPathFactory, command_in: Command) -> Command:
    return partial(command_in, tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, confgcn: Command) -> Path:
    out = tmp_path_factory.mktemp("runs") / "demo"
    assert confgcn("train", "demo", "--epochs", 3, "--out", out).returncode == 0
    return out


def test_evaluate_prints_a_table_or_one_json_object(confgcn: Command, run: Path) -> None:
    shown = confgcn("evaluate", run)
    assert shown.returncode == 0
    for words in (
        "noise floor (perfect calibration)",
        "AUROC of same-label edges, by influence",
        "no label in component",
        "certified by 250 labels used for nothing else",
    ):
        assert words in shown.stdout
    assert "ROC AUC" not in shown.stdout  # more than two classes
    printed = confgcn("evaluate", run, "--json")
    found = json.loads(printed.stdout)
    assert printed.stdout.count("\n") == 1
    assert all(isinstance(value, float | int | str | None) for value in found.values())
    assert {"ece_floor", "calibrated_nll", "auroc_edge", "uniform_trained_accuracy"} <= found.keys()


def test_sets_and_decisions_by_labels_that_also_chose_are_approximate(confgcn: Command, tmp_path: Path) -> None:
    out = tmp_path / "run"
    options = ("--set", "held_out=whole", "--set", "search=false")
    assert confgcn("train", "demo", "--epochs", 3, *options, "--out", out).returncode == 0
    assert "approximate: the same labels chose or calibrated the model" in confgcn("evaluate", out).stdout


def test_certified_sets_and_decisions_name_the_number_of_labels(confgcn: Command, tmp_path: Path) -> None:
    out = tmp_path / "run"
    trained = confgcn("train", "demo", "--epochs", 3, "--set", "held_out=divided", "--out", out)
    assert trained.returncode == 0
    held_out = json.loads((out / "metrics.json").read_text())["held_out"]
    choosing, certifying = held_out["choosing"], held_out["certifying"]
    sentence = f"{choosing + certifying} held-out labels: {choosing} chose and calibrated, {certifying} certify"
    assert sentence in trained.stdout
    assert "approximate" not in trained.stdout
    assert f"certified by {certifying} labels used for nothing else" in confgcn("evaluate", out).stdout
    assert confgcn("report", out).returncode == 0
    assert sentence in (out / "report.html").read_text()


def test_labels_held_out_in_turn_are_evaluated_where_there_is_no_test_set(command: Command, trained: Path) -> None:
    found = json.loads(command("evaluate", trained, "--json").stdout)
    assert found["evaluated_on"] == "labels held out in turn"
    assert 0.5 < found["accuracy"] <= 1


def test_two_classes_show_roc_auc_and_a_result_to_check_is_a_note(command: Command, tmp_path: Path) -> None:
    folder = tmp_path / "graph"
    folder.mkdir()
    names = [f"n{number}" for number in range(90)]
    splits = ("train", "validation", "test")
    rows = [f"{name},{'ab'[number % 4 == 0]},{splits[number // 30]},1" for number, name in enumerate(names)]
    (folder / "nodes.csv").write_text("\n".join(["id,label,split,x", *rows]))
    (folder / "edges.csv").write_text("source,target\nn0,n1\n")
    trained = command("train", folder, "--method", "mlp", "--epochs", 2, "--out", tmp_path / "run")
    assert "Warning               all 60 nodes that were not trained on are predicted as class a" in trained.stdout
    shown = command("evaluate", tmp_path / "run")
    assert "balanced accuracy" in shown.stdout
    assert "ROC AUC" in shown.stdout
    assert "note: all 60 nodes that were not trained on are predicted as class a" in shown.stderr


def test_a_folder_without_a_run_is_refused(command: Command, tmp_path: Path) -> None:
    result = command("evaluate", tmp_path)
    assert result.returncode == 4
    assert "holds no finished run" in result.stderr
    assert "Traceback" not in result.stderr
    assert len(result.stderr) < 2_000
