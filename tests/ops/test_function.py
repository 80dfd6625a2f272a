"""What all operators have in common: a second derivative is refused, and not silently wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from confgcn import ops
from confgcn.graph import Graph
from confgcn.ops.function import HandDerived

pytestmark = pytest.mark.usefixtures("each_kernels")


def _of_scores(how: ops.Normalisation) -> Callable[[Graph, Tensor], Tensor]:
    return lambda graph, x: ops.normalise(graph.adjacency, x.expand(graph.adjacency.num_entries), how)


class _Doubled:
    """Borrows every own row."""

    def gather(self, *own: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return own

    def scatter_add(self, *borrowed: torch.Tensor) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
        return torch.arange(len(borrowed[0])), borrowed

    def all_reduce(self, numbers: torch.Tensor) -> torch.Tensor:
        return numbers


OPERATORS: dict[str, Callable[[Graph, Tensor], Tensor]] = {
    "edge_distance": lambda graph, x: ops.edge_distance(graph.adjacency, x.expand(6, 3), torch.ones(6, 3)),
    "softmax over edges": _of_scores("softmax"),
    "sum over edges": _of_scores("sum"),
    "symmetric": _of_scores("symmetric"),
    "aggregate": lambda graph, x: ops.aggregate(graph.adjacency, torch.ones(16), x.expand(6, 3)),
    "convolve": lambda graph, x: ops.convolve(graph.adjacency, torch.ones(16), graph.features, x.expand(4, 3)),
    "dropout": lambda _, x: ops.dropout(x.expand(6, 3), 0.5, training=True),
    "softmax of rows": lambda _, x: ops.softmax(x.expand(6, 3)),
    "edge_sum": lambda graph, x: ops.edge_sum(graph.adjacency, x.expand(6, 2), torch.ones(6, 2)),
    "with_halo_rows": lambda _, x: ops.with_halo_rows(_Doubled(), x.expand(6, 3))[0],
    "propagate": lambda graph, x: ops.propagate(graph.adjacency, torch.ones(16), x.expand(6, 3), steps=2),
    "rows_at": lambda graph, x: ops.rows_at(x.expand(6, 3), graph.train),
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
