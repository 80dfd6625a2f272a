"""A group of one process, and parameters of which every process of a larger group has its own rows."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor, nn

from confgcn.graph import Graph
from confgcn.models.base import AbstractMethod, Prediction
from confgcn.training.group import SINGLE_PROCESS, Group, SharedParameters, squared_norm


class Tables(AbstractMethod):
    """A common weight and a table with a row per node, whose gradients are set by hand."""

    per_node = ("table",)

    def __init__(self) -> None:
        super().__init__()
        self.common = nn.Parameter(torch.tensor([3.0, 4.0]))
        self.table = nn.Parameter(torch.tensor([[1.0], [2.0]]))

    def forward(self, graph: Graph, nodes: Tensor | None = None) -> Prediction:
        raise NotImplementedError


class TwoEqualProcesses:
    """Seen from the first of two processes that always have the same numbers."""

    rank, size = 0, 2

    def sum(self, numbers: Sequence[float]) -> list[float]:
        return [2.0 * number for number in numbers]

    def sum_tensors(self, tensors: Sequence[Tensor]) -> None:
        for tensor in tensors:
            tensor.mul_(2.0)

    def wait(self) -> None:
        """Both are here."""


def shared(group: Group) -> tuple[Tables, SharedParameters]:
    method = Tables()
    return method, SharedParameters(method, group)


def test_a_single_process_has_the_sums_already() -> None:
    tensor = torch.ones(2)
    SINGLE_PROCESS.sum_tensors([tensor])
    SINGLE_PROCESS.wait()
    assert (SINGLE_PROCESS.rank, SINGLE_PROCESS.size) == (0, 1)
    assert SINGLE_PROCESS.sum([1.0, 2.5]) == [1.0, 2.5]
    assert tensor.tolist() == [1.0, 1.0]


def test_parameters_per_node_are_known_by_their_names() -> None:
    method, parameters = shared(SINGLE_PROCESS)
    assert [weight is method.common for weight in parameters.common] == [True]
    assert [weight is method.table for weight in parameters.per_node] == [True]


def test_gradients_of_common_parameters_are_summed_and_those_of_rows_are_not() -> None:
    method, parameters = shared(TwoEqualProcesses())
    method.common.grad, method.table.grad = torch.tensor([1.0, 2.0]), torch.ones(2, 1)
    parameters.sum_gradients()
    assert method.common.grad.tolist() == [2.0, 4.0]
    assert method.table.grad.tolist() == [[1.0], [1.0]]


@pytest.mark.parametrize(("group", "expected"), [(TwoEqualProcesses(), [0.0, 0.0]), (SINGLE_PROCESS, None)])
def test_a_missing_gradient_is_zero_where_another_process_may_have_one(
    group: Group, expected: list[float] | None
) -> None:
    method, parameters = shared(group)
    parameters.sum_gradients()
    assert (None if method.common.grad is None else method.common.grad.tolist()) == expected


def test_the_squared_norm_counts_the_rows_of_all_processes() -> None:
    method, parameters = shared(TwoEqualProcesses())
    assert squared_norm(method.table) == 5.0
    assert parameters.squared_norm(method.table) == 10.0
    assert parameters.squared_norm(method.common) == 25.0


@pytest.mark.parametrize(("group", "expected"), [(SINGLE_PROCESS, 13.0), (TwoEqualProcesses(), 313.0**0.5)])
def test_the_norm_of_all_gradients(group: Group, expected: float) -> None:
    """Squares: 25 of the common weight, and 144 of the rows in each process."""
    method, parameters = shared(group)
    method.common.grad = torch.tensor([3.0, 4.0])
    method.table.grad = torch.sparse_coo_tensor([[1]], [[12.0]], (2, 1), check_invariants=True)
    assert float(parameters.gradient_norm()) == pytest.approx(expected)
