"""A part of a graph: its nodes, its edges, and whose parameters belong to them."""

from __future__ import annotations

import numpy as np
import torch

from confgcn.graph import Graph
from confgcn.graph.subgraph import induced_subgraph, nodes_within


def test_nodes_within_go_as_far_as_asked(six_nodes: Graph) -> None:
    assert nodes_within(six_nodes, torch.tensor([4]), 0).tolist() == [4]
    assert nodes_within(six_nodes, torch.tensor([4]), 1).tolist() == [0, 4]
    assert nodes_within(six_nodes, torch.tensor([4]), 2).tolist() == [0, 1, 4]
    assert nodes_within(six_nodes, torch.tensor([4]), 9).tolist() == [0, 1, 2, 3, 4]  # 5 is isolated


def test_a_part_keeps_the_edges_inside_it_and_what_belongs_to_its_nodes(six_nodes: Graph) -> None:
    part = induced_subgraph(six_nodes, torch.tensor([1, 3, 5]))
    inside = set(zip(part.neighbours.rows.tolist(), part.neighbours.indices.tolist(), strict=True))
    assert inside == {(0, 1), (1, 0)}
    assert part.adjacency.num_entries == 2 + 3  # and a self loop each
    assert part.node_ids.tolist() == [1, 3, 5]
    assert part.node_names == ("1", "3", "5")
    assert part.labels.tolist() == [1, 1, 2]
    assert (part.train.tolist(), part.validation.tolist(), part.test.tolist()) == ([0], [1], [2])
    assert torch.equal(part.features, six_nodes.features[[1, 3, 5]])


def test_a_subgraph_keeps_the_weights_of_its_edges() -> None:
    edges, weights = [(0, 1), (1, 2), (2, 3), (3, 0)], [1.0, 2.0, 3.0, 4.0]
    graph = Graph.build(edges, np.eye(4), [0, 1, 0, 1], edge_weight=weights)
    part = induced_subgraph(graph, torch.tensor([1, 2, 3]))
    assert part.neighbour_weights.to_scipy().toarray().tolist() == [[0, 2, 0], [2, 0, 3], [0, 3, 0]]
