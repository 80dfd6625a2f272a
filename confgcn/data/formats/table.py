"""Table: named columns of texts or numbers, and where in which file each row stood."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from confgcn.graph.checks import FLOAT32_MAX

LONGEST_WHOLE = 1e15  # written without an exponent
MOST_NAMES = 10  # that a message lists
LONGEST_NAME = 40  # characters of each

Column = Sequence[str] | npt.NDArray[Any]  # an array holds whole numbers, floats or booleans


@dataclass(frozen=True, eq=False)
class Table:
    """What a file of rows and columns holds.

    Attributes:
        path: the file, for messages.
        columns: by name, one value per row.
        lines: the number of each row's first line in the file.
        unit: what ``lines`` counts.
        comments: lines among the rows that were skipped because they start with #.
    """

    path: Path
    columns: dict[str, Column]
    lines: Sequence[int]
    unit: str = "line"
    comments: int = 0

    def __len__(self) -> int:
        return len(self.lines)

    def place(self, row: int) -> str:
        """Where a row stands, in words."""
        return f"{self.path}, {self.unit} {self.lines[row]}"

    def texts(self, name: str) -> Sequence[str]:
        """A column as texts: whole numbers as digits alone, a missing number as nothing."""
        column = self.columns[name]
        return column_texts(column) if isinstance(column, np.ndarray) else column


def column_texts(numbers: npt.NDArray[Any]) -> list[str]:
    """Numbers as texts that give them back exactly."""
    if numbers.dtype.kind == "b":
        return ["true" if value else "false" for value in numbers.tolist()]
    if numbers.dtype.kind in "iu":
        return list(map(str, numbers.tolist()))
    as_text = repr if numbers.dtype.itemsize > np.dtype(np.float32).itemsize else _float32_text
    return ["" if value != value else _whole_text(value) or as_text(value) for value in numbers.tolist()]


def plain_numbers(texts: Sequence[str]) -> npt.NDArray[np.float64] | None:
    """Texts as numbers, if each of them is one; Python would take 1_0 for ten, which more likely is a name."""
    try:
        numbers = np.array(texts, dtype=np.float64)
    except ValueError:
        return None
    return None if "_" in "".join(texts) else numbers


def is_blank(text: str) -> bool:
    """Is there nothing in a cell, or spaces alone?"""
    return not text or text.isspace()


def word(name: str) -> str:
    """A column's name as it is compared with what columns are known by."""
    return name.strip().casefold()


def listed(names: Collection[str]) -> str:
    """Names of columns in a message: of many the first ones, of a long one the beginning."""
    more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
    return ", ".join(map(shortened, islice(names, MOST_NAMES))) + more or "(none)"


def shortened(name: str) -> str:
    """A name in a message, on one line."""
    beginning = name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}..."
    return beginning.replace("\n", "\\n")


def _whole_text(value: float) -> str:
    if not value.is_integer() or abs(value) >= LONGEST_WHOLE:
        return ""
    return "-0" if value == 0 and math.copysign(1, value) < 0 else str(int(value))


def _float32_text(value: float) -> str:
    """Nine digits say which float32 it is, but may be a little more than the largest."""
    text = f"{value:.9g}"
    return text if abs(float(text)) <= FLOAT32_MAX else repr(value)
