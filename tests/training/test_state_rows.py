"""States of parts become the state of any other parts; what is no state is refused, whatever is wrong with it."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from confgcn.exceptions import CorruptFileError
from confgcn.training.state_rows import NODES, State, joined_state

TABLE = torch.arange(10.0).view(5, 2)


def state_of(nodes: list[int] | None, **record: Any) -> State:
    """That of a part, or (None) of the whole."""
    rows = torch.arange(5) if nodes is None else torch.tensor(nodes)
    tensors = {"method/mu": TABLE[rows], "best/mu": -TABLE[rows], "bias": torch.ones(3)}
    tensors |= {} if nodes is None else {NODES: rows}
    about = {"per_node": ["method/mu", "best/mu"], "num_nodes": 5, "parts": sorted(tensors), "history": []}
    return tensors, {**about, "best_epoch": None, **record}


def fresh(nodes: list[int] | None = None) -> State:
    """That of a training which has not begun: it knows no best weights."""
    tensors, record = state_of(nodes, per_node=["method/mu"])
    return {name: value.clone().zero_() if name != NODES else value for name, value in tensors.items()}, record


def test_parts_become_the_whole() -> None:
    tensors, record = joined_state([state_of([1, 4]), state_of([0, 2, 3])], fresh())
    assert torch.equal(tensors["method/mu"], TABLE)
    assert torch.equal(tensors["best/mu"], -TABLE)
    assert torch.equal(tensors["bias"], torch.ones(3))
    assert NODES not in tensors
    assert record["parts"] == ["best/mu", "bias", "method/mu"]


def test_parts_become_another_part() -> None:
    tensors, _ = joined_state([state_of([1, 4]), state_of([0, 2, 3])], fresh([0, 1]))
    assert torch.equal(tensors["method/mu"], TABLE[:2])


def test_the_whole_becomes_a_part() -> None:
    found, _ = joined_state([state_of(None)], fresh([2, 4]))
    assert torch.equal(found["method/mu"], TABLE[[2, 4]])


def test_one_that_has_best_weights_already_takes_up_a_state_without() -> None:
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
def test_whoever_asks_hears_the_same_of_parts_that_do_not_fit(
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
def test_places_that_are_none(nodes: torch.Tensor) -> None:
    tensors, record = state_of([0, 2, 3])
    with pytest.raises(CorruptFileError, match=r"nodes are none"):
        joined_state([state_of([1, 4]), ({**tensors, NODES: nodes}, record)], fresh())


@pytest.mark.parametrize("part", [0, 1])
@pytest.mark.parametrize(
    "table",
    [None, torch.zeros(2, 3), torch.zeros(3, 2), torch.zeros(2), torch.zeros(2, 2).double(), torch.zeros(2, 0)],
    ids=["missing", "too wide", "too long", "a row", "of another type", "without columns"],
)
def test_a_table_that_is_not_there_or_of_another_form(part: int, table: torch.Tensor | None) -> None:
    states = [state_of([1, 4]), state_of([0, 2])]
    tensors, record = states[part]
    del tensors["method/mu"]
    states[part] = (tensors if table is None else {**tensors, "method/mu": table}, record)
    with pytest.raises(CorruptFileError, match="lacks method/mu"):
        joined_state(states, fresh())


@pytest.mark.parametrize("number", [None, 0, -5, "5", 6, 10**15, [5]])
def test_a_number_of_nodes_that_is_not_that_of_the_graph(number: object) -> None:
    with pytest.raises(CorruptFileError, match="not of 5 nodes"):
        joined_state([state_of([0, 1], num_nodes=number)], fresh())


@pytest.mark.parametrize("names", [None, 3, "method/mu", [], ["method/mu"], ["method/mu", "best/mu", "other"], [None]])
def test_a_list_of_tables_that_is_not_that_of_the_method(names: object) -> None:
    with pytest.raises(CorruptFileError, match="of single nodes"):
        joined_state([state_of([0, 1], per_node=names)], fresh())


@pytest.mark.parametrize("change", [{"num_nodes": 4}, {"per_node": []}, {"best_epoch": 2}])
def test_parts_of_different_trainings(change: dict[str, Any]) -> None:
    with pytest.raises(CorruptFileError, match="do not belong together"):
        joined_state([state_of([1, 4]), state_of([0, 2, 3], **change)], fresh())


@pytest.mark.parametrize("parts", [None, 7, {"a": 1}])
def test_a_list_of_parts_that_is_none_is_left_to_whoever_loads_the_state(parts: object) -> None:
    _, record = joined_state([state_of(None, parts=parts)], fresh())
    assert record["parts"] == []
