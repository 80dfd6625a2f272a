"""Numbers as text in the tables of the paper."""

from __future__ import annotations

from collections.abc import Sequence

from confgcn.report.formatting import NOTHING, Numbers, count, decimal, listed, percent

__all__ = [
    "NOTHING",
    "Numbers",
    "accuracy_text",
    "count",
    "decimal",
    "interval",
    "listed",
    "mean_std",
    "percent",
    "plain",
    "preset_of",
    "published_text",
    "signed",
]


def accuracy_text(cell: Numbers | None) -> str:
    """Mean ± standard deviation of an accuracy cell, and how many of its runs diverged."""
    if cell is None:
        return NOTHING
    text = "diverged" if cell["mean"] is None else mean_std(cell)
    if cell["diverged"] and cell["mean"] is not None:
        text += f" ({cell['diverged']} of {cell['runs']} diverged)"
    return text


def mean_std(cell: Numbers) -> str:
    """Mean ± standard deviation, in percent."""
    return percent(cell["mean"]) + ("" if cell["std"] is None else f" ± {percent(cell['std'])}")


def published_text(value: Sequence[float | None] | None) -> str:
    """An accuracy of the paper's Table 2, as printed there."""
    if value is None:
        return NOTHING
    accuracy, deviation = value
    return f"{accuracy}" if deviation is None else f"{accuracy} ± {deviation}"


def signed(value: float | None, digits: int = 1) -> str:
    """A difference in percentage points with its sign; a value that rounds to zero has none."""
    if value is None:
        return NOTHING
    rounded = round(100 * value, digits)
    return f"{rounded:+.{digits}f}".replace("-", "−") if rounded else f"{0:.{digits}f}"


def interval(difference: Numbers | None) -> str:
    """A paired difference with its confidence interval, in percentage points."""
    if difference is None:
        return NOTHING
    mean = signed(difference["mean"])
    if difference["low"] is None:
        return mean
    return f"{mean} [{signed(difference['low'])}, {signed(difference['high'])}]"


def plain(title: str) -> str:
    """A title without Markdown."""
    return title.replace("`", "")


def preset_of(title: str) -> str:
    """The name of the preset inside a title."""
    return title.partition("`")[2].partition("`")[0]
