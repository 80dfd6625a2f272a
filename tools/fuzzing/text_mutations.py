"""Damage inside tables of text, JSON and JSON lines, which stay tables and JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from random import Random
from typing import Any

from fuzzing.byte_mutations import NUMBERS, TOKENS, damaged

VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 0.5, 2**31, 2**63, 2**64, 10**400, 1e308, -0.0, 1e-320, "", "a", "0", "nan", "../x"),
    *(
        "x" * 5000,
        "\u0000",
        "e\u0301\u202e\U0001f600",
        "\x1b[2J",
        [],
        {},
        [[]],
        [1, 2, 3],
        [None],
        ["a"],
        {"a": 1},
        [0] * 300,
    ),
    *(
        "confgcn",
        "gcn",
        "label_propagation",
        "$(touch x)",
        "<script>",
        [[1.5]],
        {"": None},
        "cora",
        "\ud800",
        "1" * 500,
    ),
)


def damaged_table(content: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """A cell, row or column is changed, taken out or doubled."""
    separator = max((b",", b"\t", b";"), key=content[:2000].count)
    rows = [line.split(separator) for line in content.split(b"\n")]
    for _ in range(random.choice((1, 1, 2, 6))):
        row, other = (random.randrange(len(rows)) for _ in range(2))
        place = random.randrange(len(rows[row]) or 1)
        kind = random.randrange(8)
        if kind <= 3 and rows[row]:
            words = (
                random.choice(TOKENS),
                random.choice(NUMBERS).encode(),
                random.choice(random.choice(rows) or [b""]),
            )
            rows[row][place : place + 1] = [random.choice(words)]
        elif kind == 4:
            rows[row] = list(rows[other])
        elif kind == 5:
            rows = [[*cells[:place], *cells[place + 1 :]] for cells in rows]
        elif kind == 6:
            rows = [[*cells, random.choice(cells)] if cells else cells for cells in rows]
        else:
            rows[row] = [b'"' + cell.replace(b'"', b'""') + random.choice((b'"', b'\n"', b"")) for cell in rows[row]]
    return random.choice((b"\n", b"\n", b"\n", b"\r\n", b"\r")).join(separator.join(cells) for cells in rows)


def damaged_json(content: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """One or more values, or keys, of the object become others."""
    try:
        value = json.loads(content)
    except ValueError:
        return damaged(content, random, others)
    for _ in range(random.choice((1, 1, 1, 2, 5))):
        value = _changed(value, random)
    return written(value)


def damaged_json_lines(content: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """One line is damaged, taken out or doubled."""
    lines = content.split(b"\n")
    place = random.randrange(len(lines))
    fresh = random.choice(([damaged_json(lines[place], random, others).replace(b"\n", b"")], [], [lines[place]] * 2))
    return b"\n".join([*lines[:place], *fresh, *lines[place + 1 :]])


def written(value: Any) -> bytes:
    """As JSON of one line or many does; what UTF-8 cannot hold is escaped."""
    return json.dumps(value, indent=2, ensure_ascii=_has_surrogate(value)).encode() + b"\n"


def _changed(value: Any, random: Random) -> Any:
    """Down a random path, to a leaf or not so far."""
    if isinstance(value, dict) and value and random.random() < 0.9:
        key = random.choice(list(value))
        kind = random.randrange(12)
        if kind == 0:
            return {name: inner for name, inner in value.items() if name != key}
        if kind == 1:
            return {
                random.choice(("", "a", "\u202e", key + "x")) if name == key else name: v for name, v in value.items()
            }
        if kind == 2:
            return {**value, random.choice(("a", "schema", "__class__", "x" * 500)): random.choice(VALUES)}
        if kind == 3:
            return {**value, key: value[random.choice(list(value))]}
        return {**value, key: _changed(value[key], random)}
    if isinstance(value, list) and value and random.random() < 0.9:
        place = random.randrange(len(value))
        fresh = random.choice(
            ([_changed(value[place], random)], [_changed(value[place], random)], [], [value[place]] * 2)
        )
        return [*value[:place], *fresh, *value[place + 1 :]]
    if isinstance(value, int | float) and abs(value) < 1e300 and random.random() < 0.4:
        return random.choice((value + 1, -value, value * 10**6, float(value), str(value), value - 1))
    return random.choice(VALUES)


def _has_surrogate(value: Any) -> bool:
    return bool(re.search("[\ud800-\udfff]", json.dumps(value, ensure_ascii=False)))
