"""The columns of a table that say what is known of nodes: their label, and their part of the split."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection

import numpy as np

from confgcn.data.formats.feature_columns import parsed_number
from confgcn.data.formats.table import Table, is_blank
from confgcn.exceptions import DataError
from confgcn.graph.validation import shown

UNKNOWN_WORDS = frozenset(("na", "n/a", "nan", "null", "none", "?", "-1", "-1.0", "-100", "unknown"))
MOST_SINGLE = 10  # classes of one label each, before they look like names
MOST_NOTICES = 5  # of one kind
BETWEEN_LABELS = re.compile(r"[|;,]")  # where a cell holds several, perhaps as a list in brackets
AROUND_LABELS = " []{}()'\""
SPLIT_WORDS = {
    "train": "train",
    "training": "train",
    "validation": "validation",
    "valid": "validation",
    "val": "validation",
    "test": "test",
    "testing": "test",
}


def read_labels(table: Table, column: str, notices: list[str], *, asked: bool = False) -> list[str | None]:
    """Labels as they stand, None for a blank: the one sign for unknown.

    A column that was not ``asked`` for by name and has another label for every node may hold names of nodes.
    """
    levels, codes = table.levels(column)
    known = np.array([None if is_blank(level) else level for level in levels], dtype=object)
    sizes = np.bincount(codes, minlength=len(levels)).tolist()
    counts = Counter({level: size for level, size in zip(known, sizes, strict=True) if level is not None})
    check_label_texts(counts, f"{table.path}, column {shown(column)}")
    if not counts:
        notices.append(f"{table.path}: column {shown(column)}, which holds the labels, is blank in every row")
    words = [
        f"{table.path}: label {shown(label)} ({count} nodes) is taken as a class of that name; leave the cell blank "
        "where the label is unknown"
        for label, count in counts.items()
        if label.strip().lower() in UNKNOWN_WORDS
    ]
    notices += _first(words)
    if not asked and len(counts) > MOST_SINGLE and len(counts) == sum(counts.values()):
        notices.append(
            f"{table.path}: column {shown(column)} has another label for each of {len(counts)} nodes, as names have; "
            f"if it is none, say which column holds the labels with --label, or leave it out with --ignore {column}"
        )
    notices += _first(_look_alikes(table, counts))
    labels: list[str | None] = known[codes].tolist()
    return labels


def _first(notices: list[str]) -> list[str]:
    """Of many notices of one kind the first."""
    more = len(notices) - MOST_NOTICES
    return notices if more <= 0 else [*notices[:MOST_NOTICES], f"and {more:,} more labels like these"]


def _look_alikes(table: Table, counts: Counter[str]) -> list[str]:
    """Labels that differ by what nobody sees."""
    spellings: dict[str, list[str]] = {}
    for label in counts:
        spellings.setdefault(label.strip().casefold(), []).append(label)
    alike = [labels for labels in spellings.values() if len(labels) > 1]
    return [
        f"{table.path}: labels {' and '.join(map(shown, labels[:MOST_NOTICES]))} are taken for different classes; if "
        "they are one, write them alike"
        for labels in alike
    ]


def check_label_texts(labels: Collection[str], place: str) -> None:
    """Names of classes, or whole numbers each written in one way; other numbers are no classes."""
    _check_single(labels, place)
    numbers = {label: parsed_number(label) for label in labels if label.strip().lower() not in UNKNOWN_WORDS}
    values = [value for value in numbers.values() if value is not None]
    if not values or len(values) < len(numbers):
        return
    broken = next((label for label, value in numbers.items() if value is None or not value.is_integer()), None)
    if broken is not None:
        raise DataError(
            f"{place}: label {shown(broken)} is no whole number: a quantity cannot be classified; give the labels "
            "names, or make classes of the ranges of the numbers"
        )
    if len(set(values)) < len(values):
        first = {value: label for label, value in reversed(numbers.items())}
        twin = next(label for label, value in numbers.items() if value is not None and first[value] != label)
        raise DataError(
            f"{place}: labels {shown(first[numbers[twin] or 0.0])} and {shown(twin)} are the same number; write it in "
            "one way"
        )


def _check_single(labels: Collection[str], place: str) -> None:
    """No label is made of others, which a node would have all at once."""
    known = {label.strip() for label in labels}
    for label in labels:
        parts = {part.strip(AROUND_LABELS) for part in BETWEEN_LABELS.split(label)}
        if len(parts) > 1 and parts <= known:
            several = " and ".join(map(shown, sorted(parts)[:MOST_NOTICES]))
            raise DataError(
                f"{place}: label {shown(label)} holds {several} at once, and a node has one label here: keep one of "
                "them, or give the combination a name of its own"
            )


def read_split(table: Table, column: str) -> list[str]:
    """The part of the split that each node is in, "" for none."""
    levels, codes = table.levels(column)
    meaning = np.array([SPLIT_WORDS.get(level.strip().lower(), "") for level in levels], dtype=object)
    for code, level in enumerate(levels):
        if not meaning[code] and not is_blank(level):
            place = table.place(int(np.argmax(codes == code)))
            raise DataError(
                f"{place}, column {shown(column)}: {shown(level)}: expected train, validation or test, or nothing"
            )
    split: list[str] = meaning[codes].tolist()
    return split
