"""The nodes of a run as compact data inside the page: quantised numbers in base64."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from confgcn.report.formatting import Numbers, count

MAX_BYTES = 4_500_000  # of the data; the page stays below five million
MAX_NEIGHBOURS = 24  # of a node that are drawn
MAX_LETTERS = 200  # of a name
STEPS = 65_535  # of a quantity between its smallest and its largest value
JOINERS = ("\u200c", "\u200d")  # invisible but harmless: they join letters and emoji
ESCAPES = str.maketrans({character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"})

Column = dict[str, Any]


@dataclass(frozen=True)
class PageData:
    """``text`` is the JSON; ``positions`` maps nodes of the numbers to their positions in it.

    ``omitted`` names the quantities that are left out to limit the size, ``left_out`` has a notice for each.
    """

    text: str
    positions: dict[int, int]
    omitted: frozenset[str]
    left_out: list[str]


def visible(text: str) -> str:
    """The text with invisible and direction-changing characters as escape sequences."""
    return "".join(c if c.isprintable() or c in JOINERS else repr(c)[1:-1] for c in text)


def shortened(name: str) -> str:
    """A name as it is shown, truncated if it is very long."""
    text = visible(name[:MAX_LETTERS])
    return text if len(name) <= MAX_LETTERS else f"{text}… ({count(len(name))} characters)"


def to_script(block: Mapping[str, Any]) -> str:
    """JSON that is safe inside a script element: characters that HTML interprets are escaped."""
    return json.dumps(block, ensure_ascii=False, allow_nan=False, separators=(",", ":")).translate(ESCAPES)


def pack(numbers: Numbers, max_bytes: int = MAX_BYTES) -> PageData:
    """The nodes in at most that many bytes: quantities are omitted first, then neighbours, then nodes."""
    left_out: list[str] = []
    total, shown = numbers["data"]["nodes"], np.arange(len(numbers["nodes"]["node"]))
    omitted: frozenset[str] = frozenset()
    text = _packed(numbers, shown, omitted)
    for name, notice in _OMISSIONS.items():
        if _size(text) > max_bytes and (name == "neighbours" or numbers["nodes"][f"{name}_by_class"] is not None):
            smaller = _packed(numbers, shown, omitted | {name})
            if len(smaller) < len(text):
                text, omitted = smaller, omitted | {name}
                left_out.append(notice)
    while _size(text) > max_bytes and len(shown) > 1:
        fitting = max(1, math.floor(0.95 * len(shown) * max_bytes / _size(text)))
        shown = np.sort(np.argsort(numbers["nodes"]["rank"], kind="stable")[:fitting])
        text = _packed(numbers, shown, omitted)
    if len(shown) < total:
        left_out.append(_few(len(shown), total))
    return PageData(text, {node: place for place, node in enumerate(shown.tolist())}, omitted, left_out)


def _few(shown: int, total: int) -> str:
    return (
        f"To limit the file size the explorer holds {count(shown)} of {count(total)} nodes: those of the tables and "
        "the nodes nearest to them."
    )


_OMISSIONS = {
    "precision": "Precisions are omitted to limit the file size.",
    "mu": "Label scores (mu) are omitted to limit the file size.",
    "neighbours": f"Only {MAX_NEIGHBOURS} neighbours of each node are kept to limit the file size.",
}


def _size(text: str) -> int:
    return len(text.encode())


def _packed(numbers: Numbers, shown: npt.NDArray[np.int64], omitted: frozenset[str]) -> str:
    nodes = numbers["nodes"]
    block: dict[str, Any] = {
        "classes": [visible(name) for name in numbers["classes"]],
        "splits": numbers["splits"],
        "names": [shortened(nodes["node"][place]) for place in shown.tolist()],
        "home": home(numbers, shown),
        **{name: _integers(_rows(nodes.get(name), shown)) for name in ("label", "split", "degree", "accepted")},
        "known": _integers(np.asarray(nodes["known_label"])[shown] + 1),
        "sets": _bits(nodes.get("set"), shown, len(numbers["classes"])),
        "own": _quantised(_rows(nodes.get("self_influence"), shown)),
        **{
            name: None if name in omitted else _quantised(_rows(nodes.get(f"{name}_by_class"), shown))
            for name in ("probability", "mu", "precision")
        },
        "facts": [
            {**fact, "values": _quantised(_rows(nodes[fact["name"]], shown))}
            for fact in numbers["facts"]
            if nodes[fact["name"]] is not None
        ],
        **_neighbours(numbers["neighbours"], shown, MAX_NEIGHBOURS if "neighbours" in omitted else None),
    }
    return to_script(block)


def home(numbers: Numbers, shown: npt.NDArray[np.int64]) -> int:
    """The node shown first: of the least confident ones that with the most neighbours that can all be drawn."""
    degree = np.asarray(numbers["nodes"]["degree"])
    places = {node: place for place, node in enumerate(shown.tolist())}
    uncertain = [node for node in numbers["tables"]["least_confident"] if node in places]
    best = max(uncertain or places, key=lambda node: degree[node] if degree[node] <= MAX_NEIGHBOURS else 0)
    return places[best]


def _rows(values: Sequence[Any] | None, shown: npt.NDArray[np.int64]) -> npt.NDArray[Any] | None:
    return None if values is None else np.asarray(values)[shown]


def _integers(values: npt.NDArray[Any] | None) -> Column | None:
    """Non-negative integers in the smallest type that holds the largest."""
    if values is None:
        return None
    highest = int(values.max(initial=0))
    bits = 8 if highest < 1 << 8 else 16 if highest < 1 << 16 else 32
    return {"bits": bits, "data": _base64(values.astype(f"<u{bits // 8}"))}


def _quantised(values: npt.NDArray[Any] | None) -> Column | None:
    """Numbers in 65,535 steps between their smallest and their largest, or between 0 and 1 for shares."""
    if values is None:
        return None
    low, high = float(values.min(initial=0.0)), float(values.max(initial=0.0))
    if low >= 0 and high <= 1:
        low, high = 0.0, 1.0
    steps = np.rint((values.astype(np.float64) - low) * (STEPS / ((high - low) or 1.0)))
    return {"bits": 16, "low": low, "high": high, "data": _base64(steps.astype("<u2"))}


def _bits(sets: Sequence[Sequence[int]] | None, shown: npt.NDArray[np.int64], num_classes: int) -> Column | None:
    """Sets of labels as bits, the first label in the lowest bit."""
    if sets is None:
        return None
    inside = np.zeros((len(shown), num_classes), dtype=np.uint8)
    for row, place in enumerate(shown.tolist()):
        inside[row, list(sets[place])] = 1
    return {"bits": 8, "data": _base64(np.packbits(inside, axis=1, bitorder="little"))}


def _neighbours(neighbours: Numbers, shown: npt.NDArray[np.int64], most: int | None) -> dict[str, Column | None]:
    start, node = np.asarray(neighbours["start"]), np.asarray(neighbours["node"], dtype=np.int64)
    place = np.full(len(start) - 1, -1)
    place[shown] = np.arange(len(shown))
    row = np.repeat(np.arange(len(start) - 1), np.diff(start))
    kept = (place[row] >= 0) & (place[node] >= 0) if len(node) else np.zeros(0, dtype=bool)
    if most is not None:
        kept &= np.arange(len(node)) - start[row] < most
    influence = neighbours["influence"]
    return {
        "listed": _integers(np.bincount(place[row[kept]], minlength=len(shown))),
        "neighbours": _integers(place[node[kept]]),
        "influence": None if influence is None else _quantised(np.asarray(influence)[kept]),
    }


def _base64(values: npt.NDArray[Any]) -> str:
    return base64.b64encode(values.tobytes()).decode()
