"""The two columns of a table of edges, and the positions of the nodes in them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from unicodedata import normalize

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from confgcn.data.formats.arrow_arrays import arrow_texts, filled, first_row, numpy_numbers
from confgcn.data.formats.table import MOST_NAMES, Table, folded, listed, shortened
from confgcn.exceptions import DataError
from confgcn.graph.validation import IntArray, shown

EDGE_NAMES = (
    ("source", "target"),
    ("src", "dst"),
    ("from", "to"),
    ("u", "v"),
    ("node1", "node2"),
    ("source_id", "target_id"),
    ("citing", "cited"),
)


def edge_columns(edges: Table, source: str | None, target: str | None, ignore: Collection[str]) -> tuple[str, str]:
    """The columns of source and target, as given or by their names.

    A graph has no place for other columns, so these must be ignored explicitly.
    """
    names = [name for name in edges.columns if name not in ignore]
    found = _pair(names, source, target)
    if found is None:
        expected = " or ".join(",".join(pair) for pair in EDGE_NAMES)
        raise DataError(
            f"{edges.path}: found the columns {listed(names)}, expected {expected}; "
            "name the columns in the first line, or choose them with --source and --target"
        )
    extra = [name for name in names if name not in found]
    if extra:
        raise DataError(
            f"{edges.path}: found the columns {listed(names)}, expected {listed(found)} alone: weights and "
            f"types of edges are not supported; to read the edges without: {_ignoring(extra)}"
        )
    return found


def end_positions(
    edges: Table,
    ends: Sequence[pa.Array],
    ids: Sequence[str],
    nodes: Path | None,
    also_known: Collection[str] = (),
) -> IntArray:
    """The positions in ``ids`` of the two ends of each edge, (M, 2).

    ``nodes`` is the file of the ids; ``also_known`` are further nodes, for the message about an unknown one.
    """
    known_ids = arrow_texts(ids)
    found = [numpy_numbers(filled(pc.index_in(end, value_set=known_ids), -1)) for end in ends]
    pairs = np.stack(found, axis=1).astype(np.int64)
    for end in ends:
        row = first_row(end, "")
        if row >= 0:
            raise DataError(f"{edges.place(row)}: the id of a node is empty")
    unknown = (pairs < 0).any(1)
    if unknown.any():
        row = int(np.argmax(unknown))
        text = ends[int(np.argmax(pairs[row] < 0))][row].as_py()
        known = {*ids, *also_known}
        raise DataError(
            f"{edges.place(row)}: node {shown(text)} is not in {nodes} ({int(unknown.sum())} such rows); "
            f"{len(known):,} nodes are known{_did_you_mean(text, known)}"
        )
    return pairs


def _pair(names: Sequence[str], source: str | None, target: str | None) -> tuple[str, str] | None:
    by_name = {folded(name): name for name in names}
    pairs = [(source or by_name.get(first), target or by_name.get(second)) for first, second in EDGE_NAMES]
    if len(names) == 2 and (source or target):  # one is named, the other is left
        first, second = names
        pairs.append(
            (source or (first if target == second else second), target or (first if source == second else second))
        )
    return next(((a, b) for a, b in pairs if a is not None and b is not None and a != b), None)


def _ignoring(names: Sequence[str]) -> str:
    more = f" and so on, {len(names):,} in all" if len(names) > MOST_NAMES else ""
    return " ".join(f"--ignore {shortened(name)}" for name in names[:MOST_NAMES]) + more


def _did_you_mean(text: str, known: Collection[str]) -> str:
    bare = text.strip()
    composed, decomposed = (normalize(form, text) for form in ("NFC", "NFD"))
    number = bare.removesuffix(".0").lstrip("+").lstrip("0") or "0"
    near = (bare, f"{bare}.0", bare.removesuffix(".0"), number, f" {bare}", f"{bare} ", composed, decomposed)
    found = next((other for other in near if other != text and other in known), None)
    if found is None:
        return ""
    spelled = ascii(found) if found in (composed, decomposed) else shown(found)  # the two forms look alike
    return f"; did you mean {spelled}? Ids are compared letter by letter"
