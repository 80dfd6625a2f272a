"""Rows of a method's tables, taken out for a step and given back."""

from __future__ import annotations

import pytest
import torch

from confgcn.graph import Graph
from confgcn.graph.sampling import NeighbourSampler
from confgcn.models.base import Shape
from confgcn.models.confgcn.network import ConfGCN
from confgcn.training.optimiser_rows import lent_rows, numbers_in, rows_in


def test_within_the_tables_are_the_rows_of_the_sample(six_nodes: Graph) -> None:
    method = ConfGCN(Shape.of(six_nodes))
    table = method.label_distribution.raw_mu
    sample = NeighbourSampler(six_nodes, fanout=9, depth=1).draw(torch.tensor([4, 5]))
    with lent_rows(method, sample) as graph:
        lent = method.label_distribution.raw_mu
        assert torch.equal(lent, table[[4, 5, 0]])
        assert graph.node_rows == slice(0, 3)
        (2.0 * lent).sum().backward()
    assert method.label_distribution.raw_mu is table
    assert rows_in(table.grad).tolist() == [4, 5, 0]
    assert numbers_in(table.grad).tolist() == [[2.0] * 3] * 3
    assert not numbers_in(method.label_distribution.raw_precision.grad).any()


def test_an_error_within_leaves_the_method_as_it_was(six_nodes: Graph) -> None:
    method = ConfGCN(Shape.of(six_nodes))
    names = [name for name, _ in method.named_parameters()]
    tables = dict(method.named_parameters())
    sample = NeighbourSampler(six_nodes, fanout=9, depth=1).draw(torch.tensor([4]))
    with pytest.raises(KeyError), lent_rows(method, sample):
        raise KeyError
    assert [name for name, _ in method.named_parameters()] == names
    assert all(parameter is tables[name] for name, parameter in method.named_parameters())


def test_a_whole_graph_borrows_nothing(six_nodes: Graph) -> None:
    method = ConfGCN(Shape.of(six_nodes))
    table = method.label_distribution.raw_mu
    with lent_rows(method, six_nodes) as graph:
        assert graph is six_nodes
        assert method.label_distribution.raw_mu is table
    assert table.grad is None
