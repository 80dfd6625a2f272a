"""A step on a sample of the graph changes the parameters of its nodes only: sparse gradients of some rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import torch
from torch import Tensor, nn

from confgcn.graph import Graph
from confgcn.models.base import AbstractMethod


@contextmanager
def rows_of_sample(method: AbstractMethod, graph: Graph) -> Iterator[Graph]:
    """Within, the method's parameters per node have only the rows of the sample's nodes; yields a graph that uses them.

    So the backward pass of every operator works on small dense tables, and the full tables are neither copied nor
    differentiated. Afterwards each full table has a sparse gradient of these rows, each row once. A graph that is not
    a sample is yielded unchanged.
    """
    if graph.sample is None:
        yield graph
        return
    tables = {name: method.get_parameter(name) for name in method.per_node}
    rows = {name: _rows(table, graph.node_ids) for name, table in tables.items()}
    _set_parameters(method, rows)
    try:
        yield replace(graph, node_ids=torch.arange(graph.num_nodes, device=graph.device))
    finally:
        _set_parameters(method, tables)
    for name, table in tables.items():
        if table.requires_grad:
            table.grad = _row_gradient(graph.node_ids, rows[name], table)


def gradient_values(gradient: Tensor) -> Tensor:
    """The values of a dense or sparse gradient that may differ from zero."""
    return gradient._values() if gradient.is_sparse else gradient


def gradient_rows(gradient: Tensor) -> Tensor:
    """The rows of a sparse gradient, (n,)."""
    return gradient._indices()[0]


def _rows(table: nn.Parameter, rows: Tensor) -> nn.Parameter:
    return nn.Parameter(table.detach().index_select(0, rows), requires_grad=table.requires_grad)


def _row_gradient(rows: Tensor, trained: Tensor, table: Tensor) -> Tensor:
    values = torch.zeros_like(trained) if trained.grad is None else trained.grad
    return torch.sparse_coo_tensor(rows[None], values, table.shape, check_invariants=False)


def _set_parameters(method: nn.Module, parameters: Mapping[str, nn.Parameter]) -> None:
    for name, parameter in parameters.items():
        owner, _, last = name.rpartition(".")
        setattr(method.get_submodule(owner), last, parameter)
