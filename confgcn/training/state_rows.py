"""The state of a training in parts: each process saves its rows, and any number of processes takes them up again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from confgcn.exceptions import CorruptFileError

NODES = "nodes"  # in the state of a part: the places of its rows in the whole
State = tuple[dict[str, Tensor], dict[str, Any]]


def joined_state(states: Iterable[State], wanted: Tensor | None) -> State:
    """The state of these nodes, sorted (None: of all), out of those of all parts.

    What is not of single nodes is the same in every part, but for the random numbers, which are those of the first.
    """
    parts = iter(states)
    theirs, record = next(parts)
    rows = torch.arange(_number(record)) if wanted is None else wanted
    tensors = {name: value for name, value in theirs.items() if name not in record["per_node"]}
    tensors |= {name: _table(theirs, name, len(rows)) for name in record["per_node"]}
    found = _take(tensors, theirs, record["per_node"], rows)
    for theirs, _ in parts:
        found |= _take(tensors, theirs, record["per_node"], rows)
    if not found.all():
        raise CorruptFileError("the saved parts do not hold every node")
    tensors.pop(NODES, None)
    return tensors, {**record, "parts": [name for name in record["parts"] if name != NODES]}


def _take(tensors: dict[str, Tensor], theirs: dict[str, Tensor], names: list[str], wanted: Tensor) -> Tensor:
    """Copy the wanted rows; says which were there."""
    places = theirs.get(NODES)
    if places is None:
        places = torch.arange(len(theirs[names[0]]) if names else len(wanted))
    into = torch.searchsorted(wanted, places).clamp_(max=len(wanted) - 1)
    is_wanted = wanted[into] == places
    for name in names:
        tensors[name][into[is_wanted]] = theirs[name][is_wanted]
    return torch.zeros(len(wanted), dtype=torch.bool).index_fill_(0, into[is_wanted], True)


def _table(tensors: dict[str, Tensor], name: str, rows: int) -> Tensor:
    if name not in tensors:
        raise CorruptFileError(f"the saved state lacks {name}")
    return tensors[name].new_empty(rows, *tensors[name].shape[1:])


def _number(record: dict[str, Any]) -> int:
    number = record.get("num_nodes")
    if type(number) is not int or number < 1:
        raise CorruptFileError("the saved state does not say how many nodes there are")
    return number
