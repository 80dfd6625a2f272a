"""All hand-derived operators refuse a second derivative; torch's own sums have the same bits with any threads."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from confgcn import ops
from confgcn.graph import Graph
from confgcn.ops.autograd import HandDerived

pytestmark = pytest.mark.usefixtures("each_kernels")


class _Doubled:
    """Its halo rows are copies of all own rows."""

    def gather(self, *own: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return own

    def scatter_add(self, *rows: torch.Tensor) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
        return torch.arange(len(rows[0])), rows

    def all_reduce(self, numbers: torch.Tensor) -> torch.Tensor:
        return numbers


OPERATORS: dict[str, Callable[[Graph, Tensor], Tensor]] = {
    "edge_distance": lambda graph, x: ops.edge_distance(graph.adjacency, x.expand(6, 3), torch.ones(6, 3)),
    "edge_softmax": lambda graph, x: ops.edge_softmax(graph.adjacency, x.expand(graph.adjacency.num_entries)),
    "aggregate": lambda graph, x: ops.aggregate(graph.adjacency, torch.ones(16), x.expand(6, 3)),
    "matmul with dropout": lambda graph, x: ops.matmul(graph.features, x.expand(4, 3), dropout=0.5),
    "dropout": lambda _, x: ops.dropout(x.expand(6, 3), 0.5, training=True),
    "softmax": lambda _, x: ops.softmax(x.expand(6, 3)),
    "with_halo_rows": lambda _, x: ops.with_halo_rows(_Doubled(), x.expand(6, 3))[0],
    "propagate": lambda graph, x: ops.propagate(graph.adjacency, torch.ones(16), x.expand(6, 3), steps=2),
}


@pytest.mark.parametrize("operator", OPERATORS.values(), ids=OPERATORS.keys())
def test_a_second_derivative_is_refused(six_nodes: Graph, operator: Callable[[Graph, Tensor], Tensor]) -> None:
    x = torch.tensor(2.0, requires_grad=True)
    with pytest.raises(RuntimeError, match="second derivatives are not supported"):
        torch.autograd.grad(operator(six_nodes, x).sum(), x, create_graph=True)
    torch.autograd.grad(operator(six_nodes, x).sum(), x)


def test_no_operator_is_left_out(six_nodes: Graph) -> None:
    x = torch.tensor(2.0, requires_grad=True)
    tested = {operator(six_nodes, x).grad_fn._forward_cls for operator in OPERATORS.values()}
    assert tested == set(HandDerived.__subclasses__())


def test_gradients_of_torchs_index_select_do_not_depend_on_the_number_of_threads() -> None:
    """Operators rely on it: gradients of rows that are selected more than once are added in one order."""
    values, nodes = torch.randn(50, 7, requires_grad=True), torch.randint(50, (100_000,))
    mix, before, gradients = torch.randn(100_000, 7), torch.get_num_threads(), []
    try:
        for threads in (1, 2, 4, 1, 2, 4):
            torch.set_num_threads(threads)
            gradients += torch.autograd.grad((values.index_select(0, nodes) * mix).sum(), values)
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(gradient, gradients[0]) for gradient in gradients)
