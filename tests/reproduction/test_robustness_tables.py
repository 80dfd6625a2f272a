"""Tables of the comparison with common models, from numbers written by hand."""

from __future__ import annotations

from typing import Any

from reproduction.robustness_tables import confidence_table, metric_table, scaling_table, seconds_table


def model(**means: float | None) -> dict[str, Any]:
    names = ("test", "validation", "validation_log_loss", "nll", "brier", "processor_seconds")
    return {"runs": 2, **{name: {"mean": means.get(name), "std": None} for name in names}}


GRAPH = {
    "metric": "roc_auc",
    "scalings": {"MLP": "unit"},
    "models": {
        "ours": model(test=0.9, validation=0.8, validation_log_loss=0.5, nll=0.4, brier=0.2, processor_seconds=12.34),
        "MLP": model(test=0.85, validation=0.81),
    },
    "best_peer": "MLP",
    "best_peer_by_log_loss": None,
    "test_difference": {"mean": 0.05, "low": 0.01, "high": 0.09},
    "validation_difference": None,
    "nll_difference": {"mean": -0.0123, "low": -0.02, "high": -0.0046},
    "brier_difference": {"mean": 0.001, "low": None, "high": None},
}
NUMBERS = {"titles": ["ours", "MLP", "GAT"], "test": {"halves": GRAPH}, "validation": {"halves": GRAPH}}


def test_the_metric_of_test_nodes_with_the_difference_to_the_best_peer() -> None:
    assert metric_table(NUMBERS, "test").rows == [
        ["halves (ROC AUC)", "90.0", "85.0", "–", "MLP", "+5.0 [+1.0, +9.0]"],
    ]


def test_the_metric_of_validation_nodes_comes_with_the_log_loss() -> None:
    table = metric_table(NUMBERS, "validation")
    assert table.rows == [["halves (ROC AUC)", "80.0, log loss 0.500", "81.0, log loss –", "–", "MLP", "–"]]
    assert "validation nodes" in table.caption


def test_confidences_with_differences_of_log_loss_and_brier_score() -> None:
    table = confidence_table(NUMBERS, ("nll", "brier"))
    assert table.rows == [
        ["halves (ROC AUC)", "0.400 / 0.200", "– / –", "–", "–", "−0.012 [−0.020, −0.005]", "+0.001"],
    ]
    assert "log loss / Brier score" in table.caption


def test_seconds_and_scalings() -> None:
    assert seconds_table(NUMBERS).rows == [["halves (ROC AUC)", "12.3", "–", "–"]]
    assert scaling_table(NUMBERS, "test").rows == [["halves", "unit", "–"]]
