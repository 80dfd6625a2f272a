"""The rows and edges that a prediction covers, on a graph, on a sample of it and for requested nodes."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from confgcn.graph import Graph
from confgcn.graph.sampling import NeighbourSampler
from confgcn.models.base import Prediction, Shape
from confgcn.models.confgcn.base import edge_weight_in_loss, of_batch, requested_field
from confgcn.models.confgcn.consensus import ConsensusConfGCN


def prediction_of(graph: Graph) -> Prediction:
    """Rows and edges that are numbered."""
    rows = torch.arange(graph.num_nodes, dtype=torch.float)
    edges = torch.arange(graph.adjacency.num_entries, dtype=torch.float)
    return Prediction(rows[:, None], mu=rows[:, None], distance=edges, influence=edges, evidence=rows)


@pytest.fixture
def sample(six_nodes: Graph) -> Graph:
    """A batch of the nodes 2 and 3, whose only other neighbour is 1."""
    return NeighbourSampler(six_nodes, fanout=10, depth=1).draw(torch.tensor([2, 3]))


def test_on_a_whole_graph_everything_is_covered(six_nodes: Graph) -> None:
    prediction = prediction_of(six_nodes)
    assert of_batch(six_nodes, prediction) is prediction
    assert edge_weight_in_loss(six_nodes) is None


def test_on_a_sample_the_batch_and_the_edges_into_it_are_covered(sample: Graph) -> None:
    assert sample.num_nodes == 3
    batch = of_batch(sample, prediction_of(sample))
    assert batch.logits.flatten().tolist() == [0.0, 1.0]
    assert batch.evidence is not None
    assert batch.evidence.tolist() == [0.0, 1.0]
    assert batch.distance is not None
    assert batch.distance.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]  # from 1, 2 and 3 to each of the two
    assert batch.precision is None


def test_edge_weights_in_the_loss_are_those_of_the_covered_edges(sample: Graph) -> None:
    weights = torch.arange(float(sample.adjacency.num_entries))
    kept = edge_weight_in_loss(replace(sample, edge_weight=weights))
    assert kept is not None
    assert kept.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


def test_requested_nodes_are_read_with_their_neighbours(six_nodes: Graph) -> None:
    nodes, field = requested_field(six_nodes, torch.tensor([4]), depth=1)
    assert nodes is not None
    assert nodes.tolist() == [4]
    assert torch.equal(field.features, six_nodes.features[[0, 4]])
    nodes, field = requested_field(six_nodes, None, depth=1)
    assert nodes is None
    assert torch.equal(field.features, six_nodes.features)


def test_parameters_per_node_are_those_of_the_label_distribution(six_nodes: Graph) -> None:
    method = ConsensusConfGCN(Shape.of(six_nodes))
    per_node = {name for name, value in method.named_parameters() if len(value) == six_nodes.num_nodes}
    assert set(method.per_node) == per_node
