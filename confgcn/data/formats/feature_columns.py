"""Columns of a table as features: numbers as they are, categories as columns ``name=level`` of zeros and ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from confgcn.data.formats.table import Table, is_blank, plain_numbers, shortened
from confgcn.data.raw import SPARSE_BELOW
from confgcn.data.structural import is_structural
from confgcn.exceptions import DataError
from confgcn.graph.validation import FLOAT32_MAX, IntArray, shown

MOST_LEVELS = 50  # of a column that is read as a category by default
FEW_LEVELS = 10  # up to this number, levels may be more than half as many as the nodes
MISSING_TEXTS = frozenset(("na", "n/a", "nan", "null", "none", "?", "-", "#n/a"))  # read as blank among numbers
TRUTH = {"true": 1.0, "false": 0.0}
MOST_EXAMPLES = 5

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Category:
    levels: Sequence[str]
    codes: IntArray  # the place in ``levels`` for each row, -1 for none


@dataclass
class EncodedColumns:
    """Features from the columns of a table, and notices for the user."""

    columns: dict[str, Floats | _Category] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """One per feature, in the order of :meth:`matrix`."""
        numeric = [name for name, column in self.columns.items() if not isinstance(column, _Category)]
        return numeric + [f"{name}={level}" for name, column in self._categories() for level in column.levels]

    def matrix(self, num_rows: int) -> Any:
        """(N, F): an array, or a sparse matrix where categories make most values zero."""
        numeric = [column for column in self.columns.values() if not isinstance(column, _Category)]
        dense = np.column_stack(numeric) if numeric else np.empty((num_rows, 0))
        blocks = [_one_hot(column, num_rows) for _, column in self._categories()]
        if not blocks:
            return dense
        width = dense.shape[1] + sum(block.shape[1] for block in blocks)
        joined = sp.hstack([sp.csr_matrix(dense), *blocks], format="csr")
        return joined if dense.shape[1] + len(blocks) < SPARSE_BELOW * width else joined.toarray()

    def _categories(self) -> list[tuple[str, _Category]]:
        return [(name, column) for name, column in self.columns.items() if isinstance(column, _Category)]


def encode_columns(
    table: Table,
    names: Sequence[str],
    *,
    categorical: Collection[str] = (),
    impute: bool = False,
    fills: Mapping[str, float] = MappingProxyType({}),
    like: Sequence[str] | None = None,
    elsewhere: Collection[str] = (),
) -> EncodedColumns:
    """Encode these columns as features.

    Args:
        table: has the columns.
        names: of the columns.
        categorical: columns that are categories, even if they hold numbers.
        impute: fill gaps with the mean of the column, or with its value in ``fills``.
        fills: values for gaps, by column.
        like: names of the features of a trained graph, which must result.
        elsewhere: those of them that come from a matrix.
    """
    encoded = EncodedColumns()
    if like is not None:
        _encode_like(encoded, table, names, like, set(elsewhere), fills=fills if impute else None)
        return encoded
    for name in names:
        numbers = None if name in categorical else _numbers(table, name)
        if numbers is not None:
            fill = float(np.nanmean(numbers)) if impute else None
            encoded.columns[name] = _finite(encoded, table, name, numbers, fill=fill)
        else:
            _encode_text(encoded, table, name, chosen=name in categorical)
    return encoded


def _encode_text(encoded: EncodedColumns, table: Table, name: str, *, chosen: bool) -> None:
    distinct, codes = table.levels(name)
    levels = [level for level in distinct if not is_blank(level)]
    many = len(levels) > MOST_LEVELS or (len(levels) > FEW_LEVELS and 2 * len(levels) > len(table))
    if not levels:
        encoded.notices.append(f"{table.path}: column {shown(name)} is empty: not used")
    elif many and not chosen:
        text, place = _first_text(table, distinct, codes)
        encoded.notices.append(
            f"{table.path}: column {shown(name)} is text with {len(levels):,} different values, for example "
            f"{text[:50]!r} in {place}: not used as a feature"
        )
    else:
        encoded.columns[name] = _category(distinct, codes, levels)
        reason = "" if chosen else _why_number(levels, lambda: _first_text(table, distinct, codes))
        if reason:
            encoded.notices.append(f"{table.path}: column {shown(name)} is read as a category, but {reason}")


def _why_number(levels: Sequence[str], first_text: Callable[[], tuple[str, str]]) -> str:
    """Why the values of a category may be meant as numbers; "" if there is no sign of it."""
    if all(parsed_number(level.replace(",", ".")) is not None for level in levels):
        return "its values look like numbers with a decimal comma; write a point"
    if 2 * sum(parsed_number(level) is not None for level in levels) <= len(levels):
        return ""
    text, place = first_text()
    return f"most of its values are numbers; {shown(text)} in {place} is not"


def _encode_like(
    encoded: EncodedColumns,
    table: Table,
    names: Sequence[str],
    like: Sequence[str],
    elsewhere: set[str],
    *,
    fills: Mapping[str, float] | None,
) -> None:
    given = [name for name in like if not is_structural(name)]
    wanted = [name for name in given if name not in elsewhere]
    known, levels, surplus = set(wanted), _levels_by_column(wanted), []
    for name in names:
        if name in known:
            numbers = _numbers(table, name)
            if numbers is None and not all(map(is_blank, table.texts(name))):
                raise DataError(_not_a_number(table, name))
            numbers = np.full(len(table), np.nan) if numbers is None else numbers
            fill = None if fills is None else fills.get(name)
            encoded.columns[name] = _finite(encoded, table, name, numbers, fill=fill)
        elif name in levels:
            _encode_known_levels(encoded, table, name, levels[name])
        elif _numbers(table, name) is not None:
            surplus.append(name)
        else:
            encoded.notices.append(f"{table.path}: column {shown(name)} was not a feature in training: not used")
    found = set(encoded.names)
    missing = [name for name in wanted if name not in found]
    if missing or surplus:
        beside = f", the matrix {len(elsewhere)}" if elsewhere else ""
        counts = f"trained with {len(given)} features, this table gives {len(found) + len(surplus)}{beside}"
        raise DataError(_mismatch(table, counts, missing, surplus))


def _encode_known_levels(encoded: EncodedColumns, table: Table, name: str, levels: Sequence[str]) -> None:
    distinct, codes = table.levels(name)
    known = set(levels)
    new = [text for text in distinct if text not in known and not is_blank(text)]
    if new:
        encoded.notices.append(
            f"{table.path}: column {shown(name)} has {len(new)} values that were not in training, read as missing: "
            f"{_examples(new)}"
        )
    encoded.columns[name] = _category(distinct, codes, levels)


def _levels_by_column(like: Iterable[str]) -> dict[str, list[str]]:
    levels: dict[str, list[str]] = defaultdict(list)
    for name in like:
        for place in (place for place, letter in enumerate(name) if letter == "="):
            levels[name[:place]].append(name[place + 1 :])
    return levels


def _category(distinct: Sequence[str], codes: IntArray, levels: Sequence[str]) -> _Category:
    """A column whose rows have the text ``distinct[code]``, as one of these levels or none."""
    places = {level: place for place, level in enumerate(levels)}
    return _Category(levels, np.array([places.get(text, -1) for text in distinct], dtype=np.int64)[codes])


def _one_hot(column: _Category, num_rows: int) -> sp.csr_matrix:
    rows = np.flatnonzero(column.codes >= 0)
    return sp.csr_matrix((np.ones(len(rows)), (rows, column.codes[rows])), shape=(num_rows, len(column.levels)))


def _numbers(table: Table, name: str) -> Floats | None:
    """The column as numbers, nan for a blank; None where a value is no number, or there is none at all."""
    column = table.columns[name]
    if isinstance(column, np.ndarray):
        return None if np.isnan(column).all() else column.astype(np.float64)
    distinct, codes = table.levels(name)
    if not distinct:
        return None
    numbers = plain_numbers(distinct)
    if numbers is None:  # some are blanks or words
        numbers = _numbers_among(distinct)
    return None if numbers is None else numbers[codes]


def _numbers_among(distinct: Sequence[str]) -> Floats | None:
    bare = [text.strip().lower() for text in distinct]
    given = {text for text in bare if text and text not in MISSING_TEXTS}
    meaning: dict[str, float] = dict(TRUTH) if given <= TRUTH.keys() else {}
    for text in given - meaning.keys():
        value = parsed_number(text)
        if value is None:
            return None
        meaning[text] = value
    if not given:
        return None
    return np.array([meaning.get(text, np.nan) for text in bare], dtype=np.float64)


def parsed_number(text: str) -> float | None:
    """The number that a text spells, if it does."""
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def _finite(encoded: EncodedColumns, table: Table, name: str, numbers: Floats, *, fill: float | None) -> Floats:
    """The numbers, each a finite float32; gaps become ``fill``, or are an error without it."""
    gaps = np.isnan(numbers)
    wrong = ~gaps & (np.abs(numbers) > FLOAT32_MAX)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(
            f"{table.place(row)}, column {shown(name)}: {numbers[row]} is not a finite float32 "
            f"({int(wrong.sum())} such values); correct it, or leave the column out with --ignore {shortened(name)}"
        )
    if not gaps.any():
        return numbers
    if fill is None:
        raise DataError(
            f"{table.place(int(np.argmax(gaps)))}, column {shown(name)}: there is no number ({int(gaps.sum())} such "
            "rows); fill the gaps, use the column's mean with --impute, or leave it out with --ignore "
            f"{shortened(name)}"
        )
    filled = f"{int(gaps.sum())} gaps filled with the mean, {fill:.6g}"
    encoded.notices.append(f"{table.path}: column {shown(name)}: {filled}")
    return np.where(gaps, fill, numbers)


def _first_text(table: Table, distinct: Sequence[str], codes: IntArray) -> tuple[str, str]:
    """The first text of a column that is no number, and the line or row of it."""
    code = next(code for code, text in enumerate(distinct) if not is_blank(text) and parsed_number(text) is None)
    return distinct[code], f"{table.unit} {table.lines[int(np.argmax(codes == code))]}"


def _not_a_number(table: Table, name: str) -> str:
    texts = table.texts(name)
    row = next((row for row, text in enumerate(texts) if parsed_number(text) is None), 0)
    text = shown(texts[row]) if texts else "nothing"
    where = table.place(row) if texts else str(table.path)
    return f"{where}, column {shown(name)}: expected a number, as in training, got {text}"


def _mismatch(table: Table, counts: str, missing: Sequence[str], surplus: Sequence[str]) -> str:
    problems = [f"{table.path}: the model was {counts}"]
    if missing:
        problems.append(f"missing: {_examples(missing)}")
    if surplus:
        problems.append(f"not in training: {_examples(surplus)} (leave a column out with --ignore NAME)")
    return "; ".join(problems)


def _examples(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_EXAMPLES} more" if len(names) > MOST_EXAMPLES else ""
    return ", ".join(map(shown, names[:MOST_EXAMPLES])) + more
