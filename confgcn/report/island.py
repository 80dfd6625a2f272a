"""The nodes of a run as a compact block of data inside a page: small whole numbers, in base64."""

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

MOST_BYTES = 4_500_000  # of the block: a page is to stay below five million
MOST_NEIGHBOURS = 24  # of a node that are drawn
MOST_LETTERS = 200  # of a name
FINE = 65_535  # steps of a quantity between its least and its largest value
KEPT = ("\u200c", "\u200d")  # they join letters and pictures, and hide nothing
ESCAPES = str.maketrans({character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"})

Column = dict[str, Any]


@dataclass(frozen=True)
class Island:
    """``text`` for the page; ``places`` of the nodes that are in it, by their places in the numbers.

    ``without`` names the quantities that are not in it to save room, ``left_out`` says so in words.
    """

    text: str
    places: dict[int, int]
    without: frozenset[str]
    left_out: list[str]


def visible(text: str) -> str:
    """The text with every character that cannot be seen, or that turns others round, spelled out."""
    return "".join(c if c.isprintable() or c in KEPT else repr(c)[1:-1] for c in text)


def shortened(name: str) -> str:
    """A name as it is shown, cut where it is longer than anybody reads."""
    text = visible(name[:MOST_LETTERS])
    return text if len(name) <= MOST_LETTERS else f"{text}… ({count(len(name))} characters)"


def to_script(block: Mapping[str, Any]) -> str:
    """JSON that can stand inside a script element: it holds nothing that HTML could read."""
    return json.dumps(block, ensure_ascii=False, allow_nan=False, separators=(",", ":")).translate(ESCAPES)


def pack(numbers: Numbers, most_bytes: int = MOST_BYTES) -> Island:
    """The nodes in at most that many bytes: quantities are left out first, then neighbours, then nodes."""
    left_out: list[str] = []
    total, shown = numbers["data"]["nodes"], np.arange(len(numbers["nodes"]["names"]))
    without: frozenset[str] = frozenset()
    text = _packed(numbers, shown, without)
    for name, words in _SAVINGS.items():
        if _size(text) > most_bytes and (name == "neighbours" or numbers["nodes"][name] is not None):
            smaller = _packed(numbers, shown, without | {name})
            if len(smaller) < len(text):
                text, without = smaller, without | {name}
                left_out.append(words)
    while _size(text) > most_bytes and len(shown) > 1:
        fitting = max(1, math.floor(0.95 * len(shown) * most_bytes / _size(text)))
        shown = np.sort(np.argsort(numbers["nodes"]["rank"], kind="stable")[:fitting])
        text = _packed(numbers, shown, without)
    if len(shown) < total:
        left_out.append(_few(len(shown), total))
    return Island(text, {node: place for place, node in enumerate(shown.tolist())}, without, left_out)


def _few(shown: int, total: int) -> str:
    held = f"{count(shown)} of {count(total)} nodes"
    return f"To keep this page small the explorer holds {held}: those of the tables and the ones nearest to them."


_SAVINGS = {
    "precision": "Precisions are left out to keep this page small.",
    "mu": "Label scores (mu) are left out to keep this page small.",
    "neighbours": f"Only {MOST_NEIGHBOURS} neighbours of each node are kept, to keep this page small.",
}


def _size(text: str) -> int:
    return len(text.encode())


def _packed(numbers: Numbers, shown: npt.NDArray[np.int64], without: frozenset[str]) -> str:
    nodes = numbers["nodes"]
    block: dict[str, Any] = {
        "classes": [visible(name) for name in numbers["classes"]],
        "names": [shortened(nodes["names"][place]) for place in shown.tolist()],
        "home": home(numbers, shown),
        **{name: _whole(_rows(nodes.get(name), shown)) for name in ("label", "split", "degree", "accepted")},
        "known": _whole(np.asarray(nodes["known"])[shown] + 1),
        "sets": _bits(nodes.get("sets"), shown, len(numbers["classes"])),
        **{name: _fine(_rows(nodes.get(name), shown)) for name in ("probability", "evidence", "novelty", "own")},
        **{name: None if name in without else _fine(_rows(nodes.get(name), shown)) for name in ("mu", "precision")},
        **_neighbours(numbers["neighbours"], shown, MOST_NEIGHBOURS if "neighbours" in without else None),
    }
    return to_script(block)


def home(numbers: Numbers, shown: npt.NDArray[np.int64]) -> int:
    """The place to begin at: of the least sure nodes the one of most neighbours that can all be drawn."""
    degree = np.asarray(numbers["nodes"]["degree"])
    places = {node: place for place, node in enumerate(shown.tolist())}
    doubtful = [node for node in numbers["tables"]["least_sure"] if node in places]
    best = max(doubtful or places, key=lambda node: degree[node] if degree[node] <= MOST_NEIGHBOURS else 0)
    return places[best]


def _rows(values: Sequence[Any] | None, shown: npt.NDArray[np.int64]) -> npt.NDArray[Any] | None:
    return None if values is None else np.asarray(values)[shown]


def _whole(values: npt.NDArray[Any] | None) -> Column | None:
    """Whole numbers from zero, in as few bytes as hold the largest."""
    if values is None:
        return None
    highest = int(values.max(initial=0))
    bits = 8 if highest < 1 << 8 else 16 if highest < 1 << 16 else 32
    return {"bits": bits, "data": _base64(values.astype(f"<u{bits // 8}"))}


def _fine(values: npt.NDArray[Any] | None) -> Column | None:
    """Numbers between their least and their largest, in 65,535 steps; shares go from 0 to 1."""
    if values is None:
        return None
    low, high = float(values.min(initial=0.0)), float(values.max(initial=0.0))
    if low >= 0 and high <= 1:
        low, high = 0.0, 1.0
    steps = np.rint((values.astype(np.float64) - low) * (FINE / ((high - low) or 1.0)))
    return {"bits": 16, "low": low, "high": high, "data": _base64(steps.astype("<u2"))}


def _bits(sets: Sequence[Sequence[int]] | None, shown: npt.NDArray[np.int64], num_classes: int) -> Column | None:
    """Sets of labels, a bit for each label, the lowest first."""
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
        "listed": _whole(np.bincount(place[row[kept]], minlength=len(shown))),
        "neighbours": _whole(place[node[kept]]),
        "influence": None if influence is None else _fine(np.asarray(influence)[kept]),
    }


def _base64(values: npt.NDArray[Any]) -> str:
    return base64.b64encode(values.tobytes()).decode()
