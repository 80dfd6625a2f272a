"""The state of a training: tensors and a record that can be written as JSON.

Workers save the state of their own nodes. Any number of workers can continue from these states, each with the rows of
its own nodes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from confgcn.exceptions import CorruptFileError, brief
from confgcn.training.history import checked_history
from confgcn.training.selection import SELECTION_RULES, Record

if TYPE_CHECKING:
    from confgcn.training.loop import TrainingLoop

NODES = "nodes"  # in the state of a shard: the positions of its rows in the whole graph
OTHER_VERSION = "it was saved by another version or method"
State = tuple[dict[str, Tensor], dict[str, Any]]


def state_of(loop: TrainingLoop) -> State:
    """Everything that is needed to continue this training."""
    tensors = {f"method/{name}": value.cpu() for name, value in loop.method.state_dict().items()}
    tensors |= {f"best/{name}": value.cpu() for name, value in loop.best_weights.items()}
    tensors["random"] = torch.get_rng_state()
    if loop.optimiser is not None:
        tensors |= {f"optimiser/{name}": value.cpu() for name, value in loop.optimiser.state().items()}
    per_node = [name for name in _names_per_node(loop) if name in tensors]
    shard = loop.graph.shard
    if shard is not None:
        tensors[NODES] = shard.nodes
    return tensors, {
        "history": loop.history,
        "best_epoch": loop.best["epoch"] if loop.best else None,
        "tensors": sorted(tensors),
        "per_node": per_node,
        "num_nodes": loop.graph.num_nodes if shard is None else shard.total_nodes,
    }


def restore(loop: TrainingLoop, tensors: dict[str, Tensor], record: dict[str, Any]) -> None:
    """Continue from a saved state. One that does not fit is refused before anything is changed."""
    _check_tensors(tensors, record, state_of(loop)[0])
    history = checked_history(record["history"])
    _check_validation(loop, history, record["best_epoch"])
    _restore_random_state(tensors["random"])
    loop.method.load_state_dict(_under("method/", tensors))
    if loop.optimiser is not None:
        loop.optimiser.load_state(_under("optimiser/", tensors))
    loop.replay(history)
    loop.best_weights = _under("best/", tensors)


def _names_per_node(loop: TrainingLoop) -> list[str]:
    """The names of all tensors of a state that may have a row for every node."""
    names = [f"{kind}/{name}" for kind in ("method", "best") for name in loop.method.per_node]
    if loop.optimiser is not None:
        names += [f"optimiser/{name}" for name in loop.optimiser.state_of(loop.shared.per_node)]
    return names


def _check_tensors(tensors: dict[str, Tensor], record: dict[str, Any], own: dict[str, Tensor]) -> None:
    """Compare the saved tensors with their list and with those of the new loop."""
    names = record.get("tensors")
    listed = [str(name) for name in names] if isinstance(names, list) else []
    missing = {"history", "best_epoch", "tensors"} - record.keys() or set(listed) - tensors.keys()
    if missing:
        raise CorruptFileError(f"the saved state lacks {brief(', '.join(sorted(missing)[:3]))}")
    expected = {name: tensor for name, tensor in own.items() if not name.startswith("best/") and name != NODES}
    if _under("best/", tensors):
        expected |= {f"best/{name}": tensor for name, tensor in _under("method/", own).items()}
    unknown = tensors.keys() - expected.keys() - {NODES}
    if unknown:
        raise CorruptFileError(f"the saved state holds {brief(min(unknown))}: {OTHER_VERSION}")
    for name, tensor in expected.items():
        if name not in tensors or (tensors[name].shape, tensors[name].dtype) != (tensor.shape, tensor.dtype):
            raise CorruptFileError(f"the saved state has no {name} that fits: {OTHER_VERSION}")
    if "optimiser/steps" in expected and int(tensors["optimiser/steps"]) < 0:
        raise CorruptFileError("the saved state has a negative number of optimiser steps")


def _check_validation(loop: TrainingLoop, history: list[Record], best_epoch: Any) -> None:
    """The validation checks must be complete, and the best epoch the one that the recipe selects from them."""
    checks = [record for record in history if loop.is_validated(record["epoch"])]
    expected = {"validation_accuracy", "validation_loss"} if loop.num_validation else set()
    if any(not expected <= check.keys() for check in checks):
        raise CorruptFileError("the saved state lacks the results of a validation check")
    rule, best = SELECTION_RULES[loop.recipe.select](), None
    for check in checks:
        best = check["epoch"] if rule.is_best(check) else best
    if type(best_epoch) is not type(best) or best_epoch != best:
        raise CorruptFileError("the saved state has no best epoch that fits its history")


def _restore_random_state(state: Tensor) -> None:
    try:
        torch.set_rng_state(state)
    except RuntimeError as error:
        raise CorruptFileError(f"the saved random state is invalid ({brief(error)})") from None


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def joined_state(states: Iterable[State], own: State) -> State:
    """The state of one's ``own`` nodes, collected from the states of all shards.

    ``own`` is the state that is about to be replaced: the sizes of all results come from it, not from a file. What has
    no row per node is the same in every shard, except the random state, which is that of the first. All shards are
    checked, whichever nodes are needed: every worker must accept or refuse the same states.
    """
    needed, seen = _positions(*own), torch.zeros(own[1]["num_nodes"], dtype=torch.bool)
    shards = iter(states)
    saved, record = next(shards)
    tables = _tables(saved, record, own)
    tensors = {name: value for name, value in saved.items() if name not in tables and name != NODES}
    tensors |= {name: like.new_empty(len(needed), *like.shape[1:]) for name, like in tables.items()}
    _copy_rows(tensors, saved, tables, needed, seen)
    for saved, other in shards:
        _check_same(record, other)
        _copy_rows(tensors, saved, tables, needed, seen)
    if not seen.all():
        raise CorruptFileError("the saved shards do not hold every node")
    listed = record.get("tensors")
    names = [name for name in listed if name != NODES] if isinstance(listed, list) else []
    return tensors, {**record, "tensors": names}


def _tables(saved: dict[str, Tensor], record: dict[str, Any], own: State) -> dict[str, Tensor]:
    """The saved tensors with a row per node, each with one of the same form; best weights are like current ones."""
    tensors, expected = own
    if record.get("num_nodes") != expected["num_nodes"]:
        got = brief(repr(record.get("num_nodes")))
        raise CorruptFileError(f"the saved state: expected {expected['num_nodes']} nodes, got {got}")
    current = [name for name in expected["per_node"] if not name.startswith("best/")]
    like = {name: tensors[_current(name)] for name in (*current, *saved) if _current(name) in current}
    listed = record.get("per_node")
    if not isinstance(listed, list) or {str(name) for name in listed} != like.keys():
        raise CorruptFileError("the saved state does not list its tensors with a row per node")
    return like


def _current(name: str) -> str:
    return f"method/{name.removeprefix('best/')}" if name.startswith("best/") else name


def _positions(tensors: dict[str, Tensor], record: dict[str, Any]) -> Tensor:
    return tensors[NODES] if NODES in tensors else torch.arange(record["num_nodes"])


def _copy_rows(
    tensors: dict[str, Tensor], saved: dict[str, Tensor], tables: dict[str, Tensor], needed: Tensor, seen: Tensor
) -> None:
    """Copy the needed rows of one shard."""
    positions = _checked_positions(saved, seen)
    into = torch.searchsorted(needed, positions).clamp_(max=len(needed) - 1)
    is_needed = needed[into] == positions
    for name, like in tables.items():
        rows = saved.get(name)
        if rows is None or (rows.dtype, rows.shape) != (like.dtype, (len(positions), *like.shape[1:])):
            raise CorruptFileError(f"the saved state lacks {name}, or {OTHER_VERSION}")
        tensors[name][into[is_needed]] = rows[is_needed]


def _checked_positions(saved: dict[str, Tensor], seen: Tensor) -> Tensor:
    """The positions of a shard's rows, none of which was ``seen`` in an earlier shard."""
    positions = saved.get(NODES, torch.arange(len(seen)))
    if positions.dtype != torch.long or positions.ndim != 1 or not len(positions):
        raise CorruptFileError(
            f"the saved {NODES} are not a list of positions, but {positions.dtype} {tuple(positions.shape)}"
        )
    if positions[0] < 0 or positions[-1] >= len(seen) or (positions[1:] <= positions[:-1]).any():
        raise CorruptFileError(f"the saved {NODES} are not from 0 to {len(seen) - 1}, sorted, each once")
    if seen[positions].any():
        raise CorruptFileError("the saved shards hold a node twice")
    seen[positions] = True
    return positions


def _check_same(record: dict[str, Any], other: dict[str, Any]) -> None:
    """Shards of one checkpoint were written by one job, after the same epoch."""
    for name in ("num_nodes", "per_node", "best_epoch"):
        if record.get(name) != other.get(name):
            raise CorruptFileError(f"the saved shards do not belong together: {name} is not the same in all")
