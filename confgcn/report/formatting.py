"""Numbers and decisions as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from confgcn.data.held_out import FEWEST_TO_DIVIDE

NOTHING = "–"
APPROXIMATE = "approximate: the same labels chose or calibrated the model"
Numbers = Mapping[str, Any]


def percent(value: float | None, digits: int = 1) -> str:
    """A share as a percentage, without the sign."""
    return NOTHING if value is None else f"{100 * value:.{digits}f}"


def decimal(value: float | None, digits: int = 2) -> str:
    """A plain number."""
    return NOTHING if value is None else f"{value:.{digits}f}"


def count(value: float) -> str:
    """An integer, with commas between thousands."""
    return f"{value:,.0f}"


def decision_text(record: Numbers) -> str:
    """A decision, given as the record of ``Decision.as_record``, in one sentence without a full stop."""
    accepted, candidates, needed = record["accepted"], record["candidates"], record["labels_needed"]
    guarantee = f"error at most {_short(record['max_error'])} with {_short(1 - record['delta'])} certainty"
    approximate = f" ({APPROXIMATE})" if record["approximate"] else ""
    if record["threshold"] is not None:
        share = _short(accepted / candidates)
        return f"accept {accepted:,} of {candidates:,} nodes ({share}), {guarantee}{approximate}"
    if needed is None:
        return f"{guarantee} cannot be certified at this error rate{approximate}"
    excess = ", more than there are nodes" if needed > candidates else ""
    return f"{guarantee} cannot be certified: about {needed:,} more labels are needed{excess}{approximate}"


def held_out_text(record: Numbers) -> str:
    """How held-out labels were used, given as ``confgcn.runs.held_out.held_out_record``, without a full stop."""
    choosing, certifying = record["choosing"], record["certifying"]
    texts = {
        "divided": f"{choosing + certifying:,} held-out labels: {choosing:,} chose and calibrated, "
        f"{certifying:,} certify",
        "whole": f"{choosing:,} held-out labels: all chose and calibrated, none certify (held_out = whole)",
        "too_few": f"{choosing:,} held-out labels: all chose and calibrated, none certify (fewer than "
        f"{FEWEST_TO_DIVIDE} are not divided)",
        "cross_fitted": f"no held-out labels: {choosing:,} training labels were held out in turn to choose and "
        "calibrate, none certify",
        "none": "no held-out labels: nothing is calibrated, nothing certified",
    }
    return texts[record["case"]]


def notice_text(record: Numbers) -> str:
    """A notice about a result, given as a record of ``confgcn.runs.result_notices``, without a full stop."""
    if record["code"] == "one_class":
        return f"all {record['nodes']:,} nodes that were not trained on are predicted as class {record['label']}"
    reached, labels = percent(record["accuracy"]), f"{record['held_out_labels']:,} held-out labels"
    if record["code"] == "no_better_than_majority":
        return (
            f"no better than the majority class: {reached} % of the {labels} are predicted correctly, and "
            f"{percent(record['majority_accuracy'])} % by predicting class {record['label']} for every node"
        )
    return (
        f"no better than the features alone: {reached} % of the {labels} are predicted correctly, and "
        f"{percent(record['features_accuracy'])} % by a linear model that does not use the graph "
        f"(log loss {decimal(record['log_loss'], 3)} and {decimal(record['features_log_loss'], 3)})"
    )


def _short(share: float) -> str:
    return f"{100 * share:.3g} %"


def listed(items: Sequence[str]) -> str:
    """a, b and c."""
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)
