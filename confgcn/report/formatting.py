"""Numbers as text, the same way everywhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeGuard

NOTHING = "–"
Numbers = Mapping[str, Any]


def percent(value: float | None, digits: int = 1) -> str:
    """A share as a percentage, without the sign."""
    return NOTHING if value is None else f"{100 * value:.{digits}f}"


def accuracy(cell: Numbers | None) -> str:
    """Mean ± standard deviation of an accuracy cell, and how many of its runs diverged."""
    if cell is None:
        return NOTHING
    text = "diverged" if cell["mean"] is None else spread(cell)
    if cell["diverged"] and cell["mean"] is not None:
        text += f" ({cell['diverged']} of {cell['runs']} diverged)"
    return text


def spread(cell: Numbers) -> str:
    """Mean ± standard deviation, in percent."""
    return percent(cell["mean"]) + ("" if cell["std"] is None else f" ± {percent(cell['std'])}")


def published(figure: Sequence[float | None] | None) -> str:
    """A figure of the paper's Table 2, as it is printed."""
    if figure is None:
        return NOTHING
    value, deviation = figure
    return f"{value}" if deviation is None else f"{value} ± {deviation}"


def signed(value: float | None, digits: int = 1) -> str:
    """A difference in percentage points, with its sign; what rounds to zero has none."""
    if value is None:
        return NOTHING
    rounded = round(100 * value, digits)
    return f"{rounded:+.{digits}f}".replace("-", "−") if rounded else f"{0:.{digits}f}"


def interval(difference: Numbers | None) -> str:
    """A paired difference with its interval, in percentage points."""
    if difference is None:
        return NOTHING
    mean = signed(difference["mean"])
    if difference["low"] is None:
        return mean
    return f"{mean} [{signed(difference['low'])}, {signed(difference['high'])}]"


def decimal(value: float | None, digits: int = 2) -> str:
    """A plain number."""
    return NOTHING if value is None else f"{value:.{digits}f}"


def count(value: float) -> str:
    """A whole number, with commas."""
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


def listed(words: Sequence[str]) -> str:
    """a, b and c."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def has_interval(difference: Numbers | None) -> TypeGuard[Numbers]:
    """Are there runs enough to say how steady a difference is?"""
    return difference is not None and difference["low"] is not None


def is_above(difference: Numbers | None) -> bool:
    """Does the interval of a difference lie above zero?"""
    return has_interval(difference) and bool(difference["low"] > 0)


def is_below(difference: Numbers | None) -> bool:
    """Does the interval of a difference lie below zero?"""
    return has_interval(difference) and bool(difference["high"] < 0)


def all_so(differences: Sequence[Numbers | None], is_so: Callable[[Numbers | None], bool]) -> bool | None:
    """Is it so of all of them? None where nothing speaks against it, but some have too few runs to tell."""
    told = [is_so(difference) for difference in differences if has_interval(difference)]
    if not all(told):
        return False
    return True if len(told) == len(differences) else None


def plain(title: str) -> str:
    """A title where there is no Markdown."""
    return title.replace("`", "")


def preset_of(title: str) -> str:
    """The name of the preset that a title has in it."""
    return title.partition("`")[2].partition("`")[0]
