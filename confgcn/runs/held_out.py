"""The record of how a run used its held-out labels: how many chose and calibrated, how many certify, and why."""

from __future__ import annotations

from typing import Any

from confgcn.evaluation.metrics import accuracy, log_loss
from confgcn.runs.run import Run


def held_out_record(run: Run) -> dict[str, Any]:
    """The numbers of choosing and of certifying labels, and which case holds.

    "divided": half of the validation labels certify. "whole": the settings do not divide them. "too_few": they do, but
    there are fewer than ``confgcn.data.held_out.FEWEST_TO_DIVIDE``. "cross_fitted": there are no validation labels,
    training labels were held out in turn. "none": nothing was held out.
    """
    choosing, certifying = len(run.choosing_nodes), len(run.certifying_nodes)
    return {
        "case": _case(run, choosing, certifying),
        "choosing": choosing,
        "certifying": certifying,
        "certified": certifying > 0,
    }


def _case(run: Run, choosing: int, certifying: int) -> str:
    if run.held_out is not None:
        return "cross_fitted"
    if not choosing:
        return "none"
    if certifying:
        return "divided"
    return "too_few" if run.settings.data.held_out == "divided" else "whole"


def certify_metrics(run: Run) -> dict[str, float | None]:
    """Accuracy and log loss of the calibrated probabilities on the certifying labels; None where there are none.

    These labels neither trained nor chose nor calibrated, so both estimates are unbiased.
    """
    nodes = run.certifying_nodes
    if not len(nodes):
        return {"certify_accuracy": None, "certify_log_loss": None}
    labels = run.prepared.labels[nodes]
    return {
        "certify_accuracy": accuracy(run.prediction.logits[nodes], labels),
        "certify_log_loss": log_loss(run.assessment.probabilities[nodes], labels),
    }
