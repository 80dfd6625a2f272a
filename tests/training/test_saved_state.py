"""States of shards are joined for any other shards; a state that is damaged is refused."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from confgcn.exceptions import CorruptFileError
from confgcn.training.saved_state import NODES, State, joined_state

TABLE = torch.arange(10.0).view(5, 2)


def state_of(nodes: list[int] | None, **record: Any) -> State:
    """That of a shard, or (None) of the whole graph."""
    rows = torch.arange(5) if nodes is None else torch.tensor(nodes)
    tensors = {"method/mu": TABLE[rows], "best/mu": -TABLE[rows], "bias": torch.ones(3)}
    tensors |= {} if nodes is None else {NODES: rows}
    about = {"per_node": ["method/mu", "best/mu"], "num_nodes": 5, "tensors": sorted(tensors), "history": []}
    return tensors, {**about, "best_epoch": None, **record}


def fresh(nodes: list[int] | None = None) -> State:
    """That of a training which has not started: it has no best weights."""
    tensors, record = state_of(nodes, per_node=["method/mu"])
    return {name: value.clone().zero_() if name != NODES else value for name, value in tensors.items()}, record


def test_shards_are_joined_to_the_whole() -> None:
    tensors, record = joined_state([state_of([1, 4]), state_of([0, 2, 3])], fresh())
    assert torch.equal(tensors["method/mu"], TABLE)
    assert torch.equal(tensors["best/mu"], -TABLE)
    assert torch.equal(tensors["bias"], torch.ones(3))
    assert NODES not in tensors
    assert record["tensors"] == ["best/mu", "bias", "method/mu"]


def test_shards_are_joined_to_another_shard() -> None:
    tensors, _ = joined_state([state_of([1, 4]), state_of([0, 2, 3])], fresh([0, 1]))
    assert torch.equal(tensors["method/mu"], TABLE[:2])


def test_a_shard_is_taken_from_the_whole() -> None:
    found, _ = joined_state([state_of(None)], fresh([2, 4]))
    assert torch.equal(found["method/mu"], TABLE[[2, 4]])


def test_a_loop_with_best_weights_continues_from_a_state_without() -> None:
    tensors, record = state_of(None, per_node=["method/mu"])
    del tensors["best/mu"]
    found, _ = joined_state([(tensors, record)], state_of([0, 3]))
    assert torch.equal(found["method/mu"], TABLE[[0, 3]])
    assert "best/mu" not in found


@pytest.mark.parametrize("own", [None, [1], [0, 2, 3]], ids=["all", "one that is there", "others"])
@pytest.mark.parametrize(
    ("nodes", "problem"),
    [
        ([0, 2], "every node"),
        ([0, 1, 2, 3], "twice"),
        ([0, 3, 2], "sorted"),
        ([0, 2, 2, 3], "each once"),
        ([-1, 0, 2, 3], "from 0 to 4"),
        ([0, 2, 3, 5], "from 0 to 4"),
    ],
)
def test_every_worker_gets_the_same_error_for_shards_that_do_not_fit(
    own: list[int] | None, nodes: list[int], problem: str
) -> None:
    tensors, record = state_of([1, 4])
    rows = len(nodes)
    other = {"method/mu": torch.zeros(rows, 2), "best/mu": torch.zeros(rows, 2), NODES: torch.tensor(nodes)}
    with pytest.raises(CorruptFileError, match=problem):
        joined_state([(tensors, record), (other, record)], fresh(own))


@pytest.mark.parametrize(
    "nodes",
    [torch.tensor([0.0, 2.0, 3.0]), torch.tensor([[0, 2, 3]]), torch.tensor(1), torch.empty(0, dtype=torch.long)],
    ids=["of another type", "in a table", "a number", "none"],
)
def test_nodes_that_are_no_positions(nodes: torch.Tensor) -> None:
    tensors, record = state_of([0, 2, 3])
    with pytest.raises(CorruptFileError, match=r"nodes are not a list of positions"):
        joined_state([state_of([1, 4]), ({**tensors, NODES: nodes}, record)], fresh())


@pytest.mark.parametrize("shard", [0, 1])
@pytest.mark.parametrize(
    "table",
    [None, torch.zeros(2, 3), torch.zeros(3, 2), torch.zeros(2), torch.zeros(2, 2).double(), torch.zeros(2, 0)],
    ids=["missing", "too wide", "too long", "a row", "of another type", "without columns"],
)
def test_a_table_that_is_not_there_or_of_another_form(shard: int, table: torch.Tensor | None) -> None:
    states = [state_of([1, 4]), state_of([0, 2])]
    tensors, record = states[shard]
    del tensors["method/mu"]
    states[shard] = (tensors if table is None else {**tensors, "method/mu": table}, record)
    with pytest.raises(CorruptFileError, match="lacks method/mu"):
        joined_state(states, fresh())


@pytest.mark.parametrize("number", [None, 0, -5, "5", 6, 10**15, [5]])
def test_a_number_of_nodes_that_is_not_that_of_the_graph(number: object) -> None:
    with pytest.raises(CorruptFileError, match="expected 5 nodes, got"):
        joined_state([state_of([0, 1], num_nodes=number)], fresh())


@pytest.mark.parametrize("names", [None, 3, "method/mu", [], ["method/mu"], ["method/mu", "best/mu", "other"], [None]])
def test_a_list_of_tables_that_is_not_that_of_the_method(names: object) -> None:
    with pytest.raises(CorruptFileError, match="with a row per node"):
        joined_state([state_of([0, 1], per_node=names)], fresh())


@pytest.mark.parametrize("change", [{"num_nodes": 4}, {"per_node": []}, {"best_epoch": 2}])
def test_shards_of_different_trainings(change: dict[str, Any]) -> None:
    with pytest.raises(CorruptFileError, match="do not belong together"):
        joined_state([state_of([1, 4]), state_of([0, 2, 3], **change)], fresh())


@pytest.mark.parametrize("names", [None, 7, {"a": 1}])
def test_a_list_of_tensors_that_is_none_is_refused_when_the_state_is_restored(names: object) -> None:
    _, record = joined_state([state_of(None, tensors=names)], fresh())
    assert record["tensors"] == []
