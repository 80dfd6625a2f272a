"""The summary of a training names what was trained, how good it is, what can be accepted, the files and what to do."""

from __future__ import annotations

from typing import Any

import pytest

from confgcn.cli.train_summary import show_summary

DECISION = {
    "max_error": 0.05,
    "delta": 0.1,
    "certified": True,
    "approximate": False,
    "threshold": 0.9,
    "accepted": 3,
    "candidates": 4,
    "held_out_labels": 2,
    "observed_error": 0.0,
    "labels_needed": None,
}
DIVIDED = {"case": "divided", "choosing": 30, "certifying": 31, "certified": True}
CALIBRATED = {
    "groups": [{"mean_probability": 0.4, "accuracy": 0.25}, {"mean_probability": 0.9, "accuracy": 1.0}],
    "auroc_probability": 0.8,
    "auroc_precision": None,
}


def summary(seeds: int = 1, **changes: Any) -> dict[str, Any]:
    """Of a graph of twelve nodes."""
    sizes = {"nodes": 12, "edges": 1300, "features": 2, "classes": 2, "train": 4, "validation": 4, "test": 4}
    run = {"seed": 5, "graph_size": sizes, "calibrated": CALIBRATED, "decisions": [DECISION], "held_out": DIVIDED}
    of_runs = {"test_accuracy_std": 0.125 if seeds > 1 else None, "held_out_accuracy_std": None, "seconds": 1.25}
    accuracies = {"test_accuracy": 0.75, "certify_accuracy": 0.6, "validation_accuracy": 0.5, "held_out_accuracy": None}
    names = {"dataset": "ring", "method": "confgcn", "preset": "consensus", "run_dir": "out", "seeds": seeds}
    return {**names, **accuracies, **of_runs, "runs": [{**run, **changes}] * seeds}


def shown(capsys: pytest.CaptureFixture[str], **changes: Any) -> str:
    show_summary(summary(**changes))
    return capsys.readouterr().out


def test_model_graph_accuracy_decision_files_and_next_commands_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys)
    assert "Trained confgcn (preset consensus) on ring: 12 nodes, 1,300 edges, 2 classes, 4 training labels" in text
    assert "Test accuracy          75.0 %  on 4 nodes" in text
    assert "Held-out accuracy" not in text
    assert ["least", "confident", "40.0", "%", "25.0", "%"] in [line.split() for line in text.splitlines()]
    assert "AUROC 0.80 by probability (0.5 = random)" in text
    assert "Certifying accuracy    60.0 %  on 31 nodes" in text
    assert "Validation accuracy    50.0 %  on 30 nodes" in text
    assert "\n61 held-out labels: 30 chose and calibrated, 31 certify" in text
    assert "accept 3 of 4 nodes (75 %)" in text
    assert "confgcn report out " in text


def test_several_runs_show_their_spread_and_the_directory_of_the_first(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, seeds=2)
    assert "75.0 ± 12.5 %" in text
    assert "Files in out/seed-5:" in text


def test_without_test_nodes_there_is_no_calibration(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, calibrated=None, decisions=[])
    assert "Calibration" not in text
    assert "Decision" not in text
    assert "\n\n\n" not in text


def test_a_name_with_control_characters_is_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    show_summary({**summary(), "dataset": "a\x1b[2Jb\nc"})
    text = capsys.readouterr().out
    assert "\x1b" not in text
    assert "a\\x1b[2Jb\\nc" in text
