"""The summary of a training names what was trained, how good it is, what can be accepted, the files and what to do."""

from __future__ import annotations

from typing import Any

import pytest

from confgcn.cli.train_summary import result_warnings, show_summary
from confgcn.evaluation.scorecard import CLASS_METRICS

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
    run |= {"search": None, "edges": None, "influence": None}
    of_runs = {"test_accuracy_std": 0.125 if seeds > 1 else None, "held_out_accuracy_std": None, "seconds": 1.25}
    accuracies = {"test_accuracy": 0.75, "certify_accuracy": 0.6, "validation_accuracy": 0.5, "held_out_accuracy": None}
    splits = ("certify", "validation", "held_out")
    by_class = {"test_balanced_accuracy": 0.625, "test_roc_auc": 0.875, "imbalanced": False}
    by_class |= dict.fromkeys(f"{split}_{name}" for split in splits for name in CLASS_METRICS)
    names = {"dataset": "ring", "method": "confgcn", "preset": "consensus", "run_dir": "out", "seeds": seeds}
    return {**names, **accuracies, **by_class, **of_runs, "runs": [{**run, "notices": [], **changes}] * seeds}


def shown(capsys: pytest.CaptureFixture[str], **changes: Any) -> str:
    show_summary(summary(**changes))
    return capsys.readouterr().out


def test_model_graph_accuracy_decision_files_and_next_commands_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys)
    assert "Trained confgcn (preset consensus) on ring: 12 nodes, 1,300 edges, 2 classes, 4 training labels" in text
    assert "Test accuracy          75.0 %  on 4 nodes" in text
    assert "Held-out accuracy" not in text
    assert "Warning" not in text
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


def test_two_classes_show_balanced_accuracy_and_roc_auc(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys).splitlines()
    place = lines.index("  balanced accuracy    62.5 %  mean over classes")
    assert lines[place - 1].startswith("Test accuracy")
    assert lines[place + 1] == "  ROC AUC             0.875    0.5 = random"
    assert sum("balanced accuracy" in line for line in lines) == 1  # that of the validation nodes is undefined


@pytest.mark.parametrize("is_imbalanced", [False, True])
def test_more_classes_show_balanced_accuracy_if_they_are_imbalanced(
    capsys: pytest.CaptureFixture[str], is_imbalanced: bool
) -> None:
    given = summary()
    given["runs"][0]["graph_size"]["classes"] = 3
    show_summary({**given, "imbalanced": is_imbalanced, "test_roc_auc": None})
    text = capsys.readouterr().out
    assert ("balanced accuracy" in text) == is_imbalanced
    assert "ROC AUC" not in text


def test_a_notice_about_the_result_is_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, notices=[{"code": "one_class", "label": "a\nb", "nodes": 8}])
    assert "Warning               all 8 nodes that were not trained on are predicted as class a\\nb" in text


def test_of_several_runs_each_kind_of_warning_is_shown_once_with_the_number_of_runs() -> None:
    notice = {"code": "one_class", "label": "a", "nodes": 8}
    several = summary(seeds=3)
    several["runs"] = [{**several["runs"][0], "notices": notices} for notices in ([], [notice], [notice])]
    (warning,) = result_warnings(several)
    assert warning.endswith("are predicted as class a (in 2 of 3 runs)")


def test_the_result_of_a_search_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    candidate = {"candidate": "linear", "influence": "uniform", "settings": {}, "log_loss": 0.5, "share": 1.0}
    influence = {"tried": True, "learned_share": 0.0, "log_loss": 0.5, "log_loss_uniform": 0.5}
    edges = {"code": "oppose", "log_loss_with": 0.5, "log_loss_without": 0.75, "held_out_labels": 30}
    text = shown(capsys, search=[candidate], influence=influence, edges=edges)
    assert "Consensus             linear (100 %), of 1 candidates; log loss 0.500 on held-out labels" in text
    assert "Influence             uniform; learned influence did not clearly lower the held-out log loss" in text
    assert "Edges                 oppose: neighbours tend to have different labels" in text
    assert "Consensus" not in shown(capsys)
