"""Within a step on a sample, tables per node have the rows of the sample only."""

from __future__ import annotations

import pytest
import torch

from confgcn.graph import Graph
from confgcn.graph.sampling import NeighbourSampler
from confgcn.models.base import Shape
from confgcn.models.confgcn.paper import PaperConfGCN
from confgcn.training.optimiser_rows import gradient_rows, gradient_values, rows_of_sample


def test_within_the_tables_are_the_rows_of_the_sample(six_nodes: Graph) -> None:
    method = PaperConfGCN(Shape.of(six_nodes))
    table = method.label_distribution.raw_mu
    sample = NeighbourSampler(six_nodes, fanout=9, depth=1).draw(torch.tensor([4, 5]))
    with rows_of_sample(method, sample) as graph:
        rows = method.label_distribution.raw_mu
        assert torch.equal(rows, table[[4, 5, 0]])
        assert graph.node_rows == slice(0, 3)
        (2.0 * rows).sum().backward()
    assert method.label_distribution.raw_mu is table
    assert gradient_rows(table.grad).tolist() == [4, 5, 0]
    assert gradient_values(table.grad).tolist() == [[2.0] * 3] * 3
    assert not gradient_values(method.label_distribution.raw_precision.grad).any()


def test_an_error_within_leaves_the_method_as_it_was(six_nodes: Graph) -> None:
    method = PaperConfGCN(Shape.of(six_nodes))
    names = [name for name, _ in method.named_parameters()]
    tables = dict(method.named_parameters())
    sample = NeighbourSampler(six_nodes, fanout=9, depth=1).draw(torch.tensor([4]))
    with pytest.raises(KeyError), rows_of_sample(method, sample):
        raise KeyError
    assert [name for name, _ in method.named_parameters()] == names
    assert all(parameter is tables[name] for name, parameter in method.named_parameters())


def test_a_whole_graph_is_given_unchanged(six_nodes: Graph) -> None:
    method = PaperConfGCN(Shape.of(six_nodes))
    table = method.label_distribution.raw_mu
    with rows_of_sample(method, six_nodes) as graph:
        assert graph is six_nodes
        assert method.label_distribution.raw_mu is table
    assert table.grad is None
