"""Numbers and decisions as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

NOTHING = "–"
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
    accepted, candidates = record["accepted"], record["candidates"]
    guarantee = f"error at most {_short(record['max_error'])} with {_short(1 - record['delta'])} certainty"
    if record["certified"]:
        return f"accept {accepted:,} of {candidates:,} nodes ({_short(accepted / candidates)}), {guarantee}"
    needed = record["labels_needed"]
    if needed is None:
        return f"{guarantee} cannot be certified at this error rate"
    excess = ", more than there are nodes" if needed > candidates else ""
    return f"{guarantee} cannot be certified: about {needed:,} more labels are needed{excess}"


def _short(share: float) -> str:
    return f"{100 * share:.3g} %"


def listed(items: Sequence[str]) -> str:
    """a, b and c."""
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)
