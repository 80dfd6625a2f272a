"""The tables that a run wrote of single nodes and edges, read again; one that is damaged is refused by its name."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from confgcn.exceptions import CorruptFileError, brief
from confgcn.runs.directory import RunDirectory

ANSWERS = ("", "no", "yes")
OPTIONAL = {"influence"}  # which not every method has

Row = dict[str, str]
Check = Callable[[str], bool]  # is it a cell of such a column?


@dataclass(frozen=True)
class Findings:
    """The tables that the run wrote, row by row."""

    predictions: list[Row]
    labels: list[Row]
    edges: list[Row]

    @classmethod
    def read(cls, directory: RunDirectory) -> Findings:
        """From the run's directory; a table that is missing is empty."""
        return cls(
            _rows(directory.predictions, PREDICTIONS),
            _rows(directory.label_errors, LABELS),
            _rows(directory.disagreeing_edges, EDGES),
        )


def _rows(path: Path, columns: Mapping[str, Check]) -> list[Row]:
    """The rows of a table that has these columns, and others that nobody asks for."""
    if not path.is_file():
        return []
    try:
        table = csv.DictReader(io.StringIO(path.read_bytes().decode(), newline=""), strict=True)
        rows, names = list(table), set(table.fieldnames or ())
    except (UnicodeDecodeError, csv.Error) as error:
        raise CorruptFileError(f"{path}: corrupt, not readable as a table ({brief(error)})") from None
    missing = columns.keys() - names - OPTIONAL
    if missing:
        raise CorruptFileError(f"{path}: corrupt, it lacks the column {', '.join(sorted(missing))}")
    checks = {name: is_right for name, is_right in columns.items() if name in names}
    for number, row in enumerate(rows, start=1):
        problem = _problem(row, checks)
        if problem:
            raise CorruptFileError(f"{path}: corrupt, row {number} {problem}")
    return rows


def _problem(row: Row, checks: Mapping[str, Check]) -> str:
    if None in row or None in row.values():
        return "has not one cell for each column"
    wrong = next((name for name, is_right in checks.items() if not is_right(row[name])), None)
    return "" if wrong is None else f"has the {wrong} {brief(repr(row[wrong]))}"


def _is_text(text: str) -> bool:
    return True


def _is_answer(text: str) -> bool:
    return text in ANSWERS


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


PREDICTIONS: dict[str, Check] = {"node": _is_text, "set": _is_text, "accepted": _is_answer, "novelty": _is_number}
LABELS: dict[str, Check] = {"node": _is_text, "label": _is_text, "suggested": _is_text, "score": _is_number}
EDGES: dict[str, Check] = {
    "node": _is_text,
    "neighbour": _is_text,
    "disagreement": _is_number,
    "influence": _is_number,
}
