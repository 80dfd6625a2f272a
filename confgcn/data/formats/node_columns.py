"""The columns of a table of nodes that are not features: labels and split are read, and all columns are written."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from confgcn.data.formats.feature_columns import parsed_number
from confgcn.data.formats.table import ID_NAMES, LABEL_NAMES, SPLIT_NAMES, Table, is_blank, word
from confgcn.data.raw import PARTS, RawGraph, numbered_features
from confgcn.exceptions import DataError
from confgcn.graph import validation as checks
from confgcn.graph.validation import shown

ID, LABEL, SPLIT = ID_NAMES[0], LABEL_NAMES[0], SPLIT_NAMES[0]
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


@dataclass(frozen=True, eq=False)
class NodeColumns:
    """Checked columns: reading them back gives the same graph.

    Classes are those of the labels, in natural order: an order of their own, and a class that no node has, are kept by
    .npz alone.

    Attributes:
        ids: one per node.
        texts: the columns label and split, where there are any; "" for none.
        features: (N, F) array or csr matrix; None where there are none.
        feature_names: F names.
    """

    ids: Sequence[str]
    texts: dict[str, Sequence[str]]
    features: Any
    feature_names: Sequence[str]


def node_columns(raw: RawGraph) -> NodeColumns:
    """The columns of a graph, if they can be told from each other when they are read."""
    checks.checked_names(raw.ids, "node", len(raw.ids))
    if "" in raw.ids:
        raise DataError(f"{raw.name}: a node's id is empty, which a table cannot hold; write an .npz file")
    texts: dict[str, Sequence[str]] = {}
    if raw.labels is not None:
        texts[LABEL] = _label_column(raw)
    if raw.split is not None:
        texts[SPLIT] = _split_column(raw)
    features = _plain_features(raw)
    names = () if features is None else _feature_names(raw, features.shape[1])
    return NodeColumns(raw.ids, texts, features, names)


def _label_column(raw: RawGraph) -> list[str]:
    labels = list(raw.labels or ())
    if len(labels) != len(raw.ids):
        raise DataError(f"{raw.name}: expected one label per node, {len(raw.ids)}, got {len(labels)}")
    found = list(dict.fromkeys(label for label in labels if label is not None))
    checks.checked_names(found, "class", len(found))
    if any(is_blank(label) for label in found):
        raise DataError(f"{raw.name}: a class has a blank name, which a table reads as unknown; write an .npz file")
    check_label_texts(found, raw.name)
    return [label or "" for label in labels]


def _split_column(raw: RawGraph) -> list[str]:
    split = list(raw.split or ())
    wrong = next((part for part in split if part not in (*PARTS, "")), None)
    if wrong is not None or len(split) != len(raw.ids):
        came = checks.shown(str(wrong))
        raise DataError(f"{raw.name}: split: expected one of {', '.join(PARTS)} or nothing per node, got {came}")
    return split


def _plain_features(raw: RawGraph) -> Any:
    """Features of which every number is written so that it comes back: no duplicates, no halves, no truth values."""
    features = raw.features
    if features is None:
        return None
    checks.checked_features(features, len(raw.ids))
    if sp.issparse(features):
        features = checks.checked_csr(features).copy()
        features.sum_duplicates()
        features.eliminate_zeros()
    else:
        features = checks.native(np.asarray(features))
    kind, size = features.dtype.kind, features.dtype.itemsize
    if kind == "b":
        return features.astype(np.uint8)
    return features.astype(np.float32 if size < 4 else np.float64) if kind == "f" and size not in (4, 8) else features


def _feature_names(raw: RawGraph, count: int) -> Sequence[str]:
    if raw.feature_names is None:
        return numbered_features(count)
    names = checks.checked_names(raw.feature_names, "feature", count)
    taken = {*ID_NAMES, *LABEL_NAMES, *SPLIT_NAMES, ""}
    clash = next((name for name in names if word(name) in taken), None)
    if clash is not None:
        raise DataError(
            f"{raw.name}: a feature is called {checks.shown(clash)}, which a table cannot tell from its columns of "
            "ids, labels and parts; rename it, or write an .npz file"
        )
    return names
