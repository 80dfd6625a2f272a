"""Table: named columns of texts or numbers with the line of each row in its file, and the options to read columns."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from confgcn.data.formats.arrow_arrays import TEXT, arrow_numbers, arrow_texts, numpy_numbers
from confgcn.exceptions import UsageError
from confgcn.graph.validation import FLOAT32_MAX, IntArray

TABLE_SUFFIXES = (".csv", ".tsv", ".txt", ".parquet")
ID_NAMES = ("id", "node", "node_id", "nodeid")
LABEL_NAMES = ("label", "class", "y")
SPLIT_NAMES = ("split", "part")

LONGEST_WHOLE = 1e15  # written without an exponent
MOST_NAMES = 10  # that a message lists
LONGEST_NAME = 40  # characters of each

Column: TypeAlias = (
    Sequence[str] | npt.NDArray[Any] | pa.Array
)  # of numpy: whole numbers, floats or booleans; of Arrow: texts


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
        """The file and line of a row, for messages."""
        return f"{self.path}, {self.unit} {self.lines[row]}"

    def texts(self, name: str) -> Sequence[str]:
        """A column as texts: whole numbers as digits alone, a missing number as nothing."""
        column = self.columns[name]
        if isinstance(column, np.ndarray):
            return column_texts(column)
        return column.to_pylist() if isinstance(column, pa.Array) else column

    def arrow_texts(self, name: str) -> pa.Array:
        """The same as an array of Arrow."""
        column = self.columns[name]
        if isinstance(column, np.ndarray) and column.dtype.kind in "iu":
            return pc.cast(arrow_numbers(column), TEXT)
        return column if isinstance(column, pa.Array) else arrow_texts(self.texts(name))

    def levels(self, name: str) -> tuple[list[str], IntArray]:
        """The distinct texts of a column in the order of their first rows, and for each row the place of its text."""
        encoded = pc.dictionary_encode(self.arrow_texts(name))
        return encoded.dictionary.to_pylist(), numpy_numbers(encoded.indices).astype(np.int64)


@dataclass(frozen=True)
class TableOptions:
    """The role of each column, where it does not follow from its name, and how columns are read.

    Attributes:
        source, target: the columns of an edge's two ends.
        node_id, label, split: columns of the table of nodes; all others are features.
        ignore: columns that are not read, in either table.
        categorical: columns of nodes whose values are categories, even if they are written as numbers.
        impute: fill gaps in numbers with the mean of their column.
        allow_edgeless: accept a table of edges without rows.
        fills: values that gaps are filled with, by column; from an earlier table.
        remembered: columns among these that were named for an earlier table and may be missing from this one.
    """

    source: str | None = None
    target: str | None = None
    node_id: str | None = None
    label: str | None = None
    split: str | None = None
    ignore: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    impute: bool = False
    allow_edgeless: bool = False
    fills: Mapping[str, float] = field(default_factory=dict)
    remembered: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for pair in (("source", "target"), ("node_id", "label"), ("node_id", "split"), ("label", "split")):
            first, second = (getattr(self, option) for option in pair)
            if first is not None and first == second:
                flags = " and ".join(f"--{option.removeprefix('node_')}" for option in pair)
                raise UsageError(f"{flags} both name the column {first!r}; each is a column of its own")

    def for_columns(self, found: Collection[str]) -> TableOptions:
        """The options without remembered columns that are not among those found."""
        gone = {name for name in self.remembered if name not in found}
        single = ("source", "target", "node_id", "label", "split")
        left_out: dict[str, Any] = {option: None for option in single if getattr(self, option) in gone}
        ignore, categorical = (tuple(n for n in names if n not in gone) for names in (self.ignore, self.categorical))
        return replace(self, **left_out, ignore=ignore, categorical=categorical, remembered=())

    def is_text(self, column: str) -> bool:
        """Whether a column of nodes is read as text, even if its cells look like numbers."""
        named = (self.node_id, self.label, self.split, *self.ignore, *self.categorical)
        return column in named or folded(column) in (*ID_NAMES, *LABEL_NAMES, *SPLIT_NAMES)


def column_texts(numbers: npt.NDArray[Any]) -> list[str]:
    """Numbers as texts that give them back exactly."""
    if numbers.dtype.kind == "b":
        return ["true" if value else "false" for value in numbers.tolist()]
    if numbers.dtype.kind in "iu":
        return list(map(str, numbers.tolist()))
    as_text = repr if numbers.dtype.itemsize > np.dtype(np.float32).itemsize else _float32_text
    return ["" if value != value else _whole_text(value) or as_text(value) for value in numbers.tolist()]


def plain_numbers(texts: Sequence[str]) -> npt.NDArray[np.float64] | None:
    """Texts as numbers, if each of them is one; 1_0, which Python reads as ten, is more likely a name."""
    try:
        numbers = np.array(texts, dtype=np.float64)
    except ValueError:
        return None
    return None if "_" in "".join(texts) else numbers


def is_blank(text: str) -> bool:
    """Whether a cell is empty or holds only spaces."""
    return not text or text.isspace()


def folded(name: str) -> str:
    """The name of a column without spaces around it and upper case, for comparisons."""
    return name.strip().casefold()


def listed(names: Collection[str]) -> str:
    """Names of columns for a message: the first ones, shortened."""
    more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
    return ", ".join(map(shortened, islice(names, MOST_NAMES))) + more or "(none)"


def shortened(name: str) -> str:
    """A name for a message: its beginning, on one line."""
    beginning = name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}..."
    return beginning.replace("\n", "\\n")


def _whole_text(value: float) -> str:
    if not value.is_integer() or abs(value) >= LONGEST_WHOLE:
        return ""
    return "-0" if value == 0 and math.copysign(1, value) < 0 else str(int(value))


def _float32_text(value: float) -> str:
    """Nine digits identify a float32, but may round above the largest one."""
    text = f"{value:.9g}"
    return text if abs(float(text)) <= FLOAT32_MAX else repr(value)
