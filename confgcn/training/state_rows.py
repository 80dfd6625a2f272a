"""The state of a training in parts: each process saves its rows, and any number of processes takes them up again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from confgcn.exceptions import CorruptFileError, brief

NODES = "nodes"  # in the state of a part: the places of its rows in the whole
State = tuple[dict[str, Tensor], dict[str, Any]]


def joined_state(states: Iterable[State], own: State) -> State:
    """The state of those nodes that are one's ``own``, out of those of all parts.

    ``own`` is the state that is about to be replaced: nothing that was read decides how large anything is. What is not
    of single nodes is the same in every part, but for the random numbers, which are those of the first. Whether the
    parts are sound does not depend on the nodes that are wanted: all processes must come to the same opinion.
    """
    wanted, seen = _places(*own), torch.zeros(own[1]["num_nodes"], dtype=torch.bool)
    parts = iter(states)
    theirs, record = next(parts)
    tables = _tables(theirs, record, own)
    tensors = {name: value for name, value in theirs.items() if name not in tables and name != NODES}
    tensors |= {name: like.new_empty(len(wanted), *like.shape[1:]) for name, like in tables.items()}
    _take(tensors, theirs, tables, wanted, seen)
    for theirs, other in parts:
        _check_same(record, other)
        _take(tensors, theirs, tables, wanted, seen)
    if not seen.all():
        raise CorruptFileError("the saved parts do not hold every node")
    listed = record.get("parts")
    return tensors, {**record, "parts": [name for name in listed if name != NODES] if isinstance(listed, list) else []}


def _tables(theirs: dict[str, Tensor], record: dict[str, Any], own: State) -> dict[str, Tensor]:
    """What of the saved has a row for every node, and what it is like: the best weights are like the present ones."""
    tensors, expected = own
    if record.get("num_nodes") != expected["num_nodes"]:
        found = brief(repr(record.get("num_nodes")))
        raise CorruptFileError(f"the saved state is not of {expected['num_nodes']} nodes, but of {found}")
    present = [name for name in expected["per_node"] if not name.startswith("best/")]
    like = {name: tensors[_present(name)] for name in (*present, *theirs) if _present(name) in present}
    listed = record.get("per_node")
    if not isinstance(listed, list) or {str(name) for name in listed} != like.keys():
        raise CorruptFileError("the saved state does not say what it holds of single nodes")
    return like


def _present(name: str) -> str:
    return f"method/{name.removeprefix('best/')}" if name.startswith("best/") else name


def _noted(theirs: dict[str, Tensor], seen: Tensor) -> Tensor:
    """The places of a part's rows, which no part before it had."""
    places = theirs.get(NODES, torch.arange(len(seen)))
    if places.dtype != torch.long or places.ndim != 1 or not len(places):
        raise CorruptFileError(f"the saved {NODES} are none, but {places.dtype} {tuple(places.shape)}")
    if places[0] < 0 or places[-1] >= len(seen) or (places[1:] <= places[:-1]).any():
        raise CorruptFileError(f"the saved {NODES} are not from 0 to {len(seen) - 1}, sorted, each once")
    if seen[places].any():
        raise CorruptFileError("the saved parts hold a node twice")
    seen[places] = True
    return places


def _take(
    tensors: dict[str, Tensor], theirs: dict[str, Tensor], tables: dict[str, Tensor], wanted: Tensor, seen: Tensor
) -> None:
    """Copy the wanted rows."""
    places = _noted(theirs, seen)
    into = torch.searchsorted(wanted, places).clamp_(max=len(wanted) - 1)
    is_wanted = wanted[into] == places
    for name, like in tables.items():
        rows = theirs.get(name)
        if rows is None or (rows.dtype, rows.shape) != (like.dtype, (len(places), *like.shape[1:])):
            raise CorruptFileError(f"the saved state lacks {name}, or it is that of another version or method")
        tensors[name][into[is_wanted]] = rows[is_wanted]


def _places(tensors: dict[str, Tensor], record: dict[str, Any]) -> Tensor:
    return tensors[NODES] if NODES in tensors else torch.arange(record["num_nodes"])


def _check_same(record: dict[str, Any], other: dict[str, Any]) -> None:
    """Parts that were written by one job, after the same epoch."""
    for name in ("num_nodes", "per_node", "best_epoch"):
        if record.get(name) != other.get(name):
            raise CorruptFileError(f"the saved parts do not belong together: {name} is not the same in all")
