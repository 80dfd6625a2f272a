"""States of parts become the state of any other parts."""

from __future__ import annotations

import pytest
import torch

from confgcn.exceptions import CorruptFileError
from confgcn.training.state_rows import NODES, State, joined_state

TABLE = torch.arange(10.0).view(5, 2)


def state_of(nodes: list[int]) -> State:
    rows = torch.tensor(nodes)
    tensors = {"mu": TABLE[rows], "bias": torch.ones(3), NODES: rows}
    return tensors, {"per_node": ["mu"], "num_nodes": 5, "parts": sorted(tensors), "history": []}


def test_parts_become_the_whole() -> None:
    tensors, record = joined_state([state_of([1, 4]), state_of([0, 2, 3])], None)
    assert torch.equal(tensors["mu"], TABLE)
    assert torch.equal(tensors["bias"], torch.ones(3))
    assert NODES not in tensors
    assert record["parts"] == ["bias", "mu"]


def test_parts_become_another_part() -> None:
    tensors, _ = joined_state([state_of([1, 4]), state_of([0, 2, 3])], torch.tensor([0, 1]))
    assert torch.equal(tensors["mu"], TABLE[:2])


def test_the_whole_becomes_a_part() -> None:
    tensors, record = state_of([0, 1, 2, 3, 4])
    del tensors[NODES]
    found, _ = joined_state([(tensors, record)], torch.tensor([2, 4]))
    assert torch.equal(found["mu"], TABLE[[2, 4]])


def test_a_missing_row_is_noticed() -> None:
    with pytest.raises(CorruptFileError, match="every node"):
        joined_state([state_of([1, 4]), state_of([0, 2])], None)


@pytest.mark.parametrize("number", [None, 0, "5", True])
def test_a_number_of_nodes_that_is_none(number: object) -> None:
    tensors, record = state_of([0, 1])
    with pytest.raises(CorruptFileError, match="how many nodes"):
        joined_state([(tensors, {**record, "num_nodes": number})], None)


def test_a_table_that_is_not_there() -> None:
    tensors, record = state_of([0, 1])
    del tensors["mu"]
    with pytest.raises(CorruptFileError, match="lacks mu"):
        joined_state([(tensors, record)], None)
