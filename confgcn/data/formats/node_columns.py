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
from confgcn.data.formats.table import ID_NAMES, LABEL_NAMES, SPLIT_NAMES, Table, folded, is_blank
from confgcn.data.raw import RawGraph, numbered_features
from confgcn.exceptions import DataError
from confgcn.graph import validation as checks
from confgcn.graph.graph import SPLITS
from confgcn.graph.validation import shown

ID, LABEL, SPLIT = ID_NAMES[0], LABEL_NAMES[0], SPLIT_NAMES[0]
UNKNOWN_TEXTS = frozenset(("na", "n/a", "nan", "null", "none", "?", "-1", "-1.0", "-100", "unknown"))
MOST_SINGLE = 10  # classes of one node each, above which the column may hold names of nodes
MOST_NOTICES = 5  # of one kind, or labels in one of them
BETWEEN_LABELS = re.compile(r"[|;,]")  # separators of several labels in one cell, perhaps a list in brackets
AROUND_LABELS = " []{}()'\""
SPLIT_SYNONYMS = {
    "train": "train",
    "training": "train",
    "validation": "validation",
    "valid": "validation",
    "val": "validation",
    "test": "test",
    "testing": "test",
}


def read_labels(table: Table, column: str, notices: list[str], *, chosen: bool = False) -> list[str | None]:
    """The labels in a column, None for a blank, which means unknown.

    A column that was not ``chosen`` by the user and has a different label for every node may hold names of nodes.
    """
    levels, codes = table.levels(column)
    known = np.array([None if is_blank(level) else level for level in levels], dtype=object)
    sizes = np.bincount(codes, minlength=len(levels)).tolist()
    counts = Counter({level: size for level, size in zip(known, sizes, strict=True) if level is not None})
    check_label_texts(counts, f"{table.path}, column {shown(column)}")
    if not counts:
        notices.append(f"{table.path}: column {shown(column)}, which holds the labels, is blank in every row")
    unknown = [
        f"{table.path}: label {shown(label)} ({count} nodes) is read as a class of that name; leave the cell blank "
        "where the label is unknown"
        for label, count in counts.items()
        if label.strip().lower() in UNKNOWN_TEXTS
    ]
    notices += _limited(unknown)
    if not chosen and len(counts) > MOST_SINGLE and len(counts) == sum(counts.values()):
        notices.append(
            f"{table.path}: column {shown(column)} has a different label for each of {len(counts)} nodes, as "
            f"names have; if these are not labels, choose another column with --label, or leave "
            f"it out with --ignore {column}"
        )
    notices += _limited(_look_alikes(table, counts))
    labels: list[str | None] = known[codes].tolist()
    return labels


def _limited(notices: list[str]) -> list[str]:
    """The first notices of one kind."""
    more = len(notices) - MOST_NOTICES
    return notices if more <= 0 else [*notices[:MOST_NOTICES], f"and {more:,} more labels like these"]


def _look_alikes(table: Table, counts: Counter[str]) -> list[str]:
    """Labels that differ only in case or in spaces around them."""
    spellings: dict[str, list[str]] = {}
    for label in counts:
        spellings.setdefault(label.strip().casefold(), []).append(label)
    alike = [labels for labels in spellings.values() if len(labels) > 1]
    return [
        f"{table.path}: labels {' and '.join(map(shown, labels[:MOST_NOTICES]))} are read as different classes; if "
        "they are one class, spell them the same"
        for labels in alike
    ]


def check_label_texts(labels: Collection[str], place: str) -> None:
    """Refuse labels that are quantities, several labels in one, or one number in two spellings."""
    _check_single(labels, place)
    numbers = {label: parsed_number(label) for label in labels if label.strip().lower() not in UNKNOWN_TEXTS}
    values = [value for value in numbers.values() if value is not None]
    if not values or len(values) < len(numbers):
        return
    broken = next((label for label, value in numbers.items() if value is None or not value.is_integer()), None)
    if broken is not None:
        raise DataError(
            f"{place}: label {shown(broken)} is not a whole number: a quantity cannot be classified; give the "
            "classes names, or use ranges of the numbers as classes"
        )
    if len(set(values)) < len(values):
        first = {value: label for label, value in reversed(numbers.items())}
        twin = next(label for label, value in numbers.items() if value is not None and first[value] != label)
        raise DataError(
            f"{place}: labels {shown(first[numbers[twin] or 0.0])} and {shown(twin)} are the same number; spell it "
            "in one way"
        )


def _check_single(labels: Collection[str], place: str) -> None:
    """Refuse a label that is a list of other labels."""
    known = {label.strip() for label in labels}
    for label in labels:
        parts = {part.strip(AROUND_LABELS) for part in BETWEEN_LABELS.split(label)}
        if len(parts) > 1 and parts <= known:
            several = " and ".join(map(shown, sorted(parts)[:MOST_NOTICES]))
            raise DataError(
                f"{place}: label {shown(label)} is a list of {several}, but a node has one label: keep one of "
                "them, or give the combination a name of its own"
            )


def read_split(table: Table, column: str) -> list[str]:
    """The set that each node belongs to: train, validation, test or ""."""
    levels, codes = table.levels(column)
    meaning = np.array([SPLIT_SYNONYMS.get(level.strip().lower(), "") for level in levels], dtype=object)
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
    """Columns to write, checked: reading them back gives the same graph.

    Classes are those of the labels, in natural order. Only .npz files keep another order, or a class without nodes.

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
    """The columns of a graph; names that a reader would confuse are refused."""
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
    wrong = next((text for text in split if text not in (*SPLITS, "")), None)
    if wrong is not None or len(split) != len(raw.ids):
        given = checks.shown(str(wrong))
        raise DataError(f"{raw.name}: split: expected one of {', '.join(SPLITS)} or nothing per node, got {given}")
    return split


def _plain_features(raw: RawGraph) -> Any:
    """Features in a type whose numbers are written and read back exactly: no duplicates, float16 or booleans."""
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
    reserved = {*ID_NAMES, *LABEL_NAMES, *SPLIT_NAMES, ""}
    clash = next((name for name in names if folded(name) in reserved), None)
    if clash is not None:
        raise DataError(
            f"{raw.name}: a feature is called {checks.shown(clash)}, which in a table is the name of a column of ids, "
            "labels or split; rename it, or write an .npz file"
        )
    return names
