"""A step on a sample changes the parameters of its nodes alone: rows are taken out, and gradients come back as rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import torch
from torch import Tensor, nn

from confgcn.graph import Graph
from confgcn.models.base import AbstractMethod


@contextmanager
def lent_rows(method: AbstractMethod, graph: Graph) -> Iterator[Graph]:
    """Within, a method's parameters of nodes have the rows of a sample's nodes alone, which the graph given counts.

    So the backward pass of every operator works on small dense rows, and the tables of all nodes are neither copied
    nor differentiated. Afterwards each table has a gradient of these rows, a sparse one in which none is named twice.
    A graph that is no sample is given as it is.
    """
    if graph.sample is None:
        yield graph
        return
    tables = {name: method.get_parameter(name) for name in method.per_node}
    lent = {name: _rows(table, graph.node_ids) for name, table in tables.items()}
    _put(method, lent)
    try:
        yield replace(graph, node_ids=torch.arange(graph.num_nodes))
    finally:
        _put(method, tables)
    for name, table in tables.items():
        if table.requires_grad:
            table.grad = _row_gradient(graph.node_ids, lent[name], table)


def numbers_in(gradient: Tensor) -> Tensor:
    """All numbers of a gradient that may be other than zero."""
    return gradient._values() if gradient.is_sparse else gradient


def rows_in(gradient: Tensor) -> Tensor:
    """The rows of a sparse gradient, (n,)."""
    return gradient._indices()[0]


def _rows(table: nn.Parameter, rows: Tensor) -> nn.Parameter:
    return nn.Parameter(table.detach().index_select(0, rows), requires_grad=table.requires_grad)


def _row_gradient(rows: Tensor, lent: Tensor, table: Tensor) -> Tensor:
    values = torch.zeros_like(lent) if lent.grad is None else lent.grad
    return torch.sparse_coo_tensor(rows[None], values, table.shape, check_invariants=False)


def _put(method: nn.Module, parameters: Mapping[str, nn.Parameter]) -> None:
    for name, parameter in parameters.items():
        owner, _, last = name.rpartition(".")
        setattr(method.get_submodule(owner), last, parameter)
