"""The labels around a node: hand-computed shares, and no trace of the node's own label."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from confgcn.data.synthetic import block_model
from confgcn.graph import Graph
from confgcn.models.confgcn.label_channel import (
    FOLDS,
    far_label_channel,
    far_label_channel_of_row,
    far_label_row,
    label_channel,
)

# 0 - 1 - 2 - 3, and 4 isolated
EDGES = [(0, 1), (1, 2), (2, 3)]


def path(*, train: list[int], weights: list[float] | None = None) -> Graph:
    return Graph.build(EDGES, np.eye(5), [0, 1, 1, 0, 0], train=train, edge_weight=weights).training_view()


def relabelled(graph: Graph, node: int) -> Graph:
    labels = graph.labels.clone()
    labels[node] = (labels[node] + 1) % graph.num_classes
    return replace(graph, labels=labels)


def test_columns_are_distribution_and_share_of_one_and_of_two_steps_and_the_degree() -> None:
    channel = label_channel(path(train=[0, 2]))
    assert channel.shape == (5, 2 * 2 + 3)
    # node 1 has neighbours 0 (label 0) and 2 (label 1); of two steps only 3 is not a return, and it has no label
    assert channel[1].tolist() == pytest.approx([0.5, 0.5, 1.0, 0.5, 0.5, 0.0, math.log(3)])
    # node 3: its neighbour has label 1; two steps lead to 1, without label, or return
    assert channel[3].tolist() == pytest.approx([0.0, 1.0, 1.0, 0.5, 0.5, 0.0, math.log(2)])
    # node 2, with label 1: half of its two steps lead over 1, of these half to 0 with label 0
    assert channel[2].tolist() == pytest.approx([0.5, 0.5, 0.0, 1.0, 0.0, 0.25, math.log(3)])


def test_without_labelled_neighbours_the_distribution_is_uniform_and_the_share_zero() -> None:
    assert label_channel(path(train=[0]))[4].tolist() == [0.5, 0.5, 0.0, 0.5, 0.5, 0.0, 0.0]


def test_labels_count_by_the_weights_of_the_edges() -> None:
    channel = label_channel(path(train=[0, 2], weights=[3.0, 1.0, 1.0]))
    assert channel[1].tolist()[:3] == pytest.approx([0.75, 0.25, 1.0])


@pytest.mark.parametrize("seed", range(3))
def test_no_bit_of_a_nodes_channel_depends_on_its_own_label(seed: int, each_kernels: str) -> None:
    graph = block_model(80, seed=seed, mean_degree=5.0).training_view()
    channel = label_channel(graph)
    for node in graph.train.tolist():
        other = label_channel(relabelled(graph, node))
        assert torch.equal(other[node], channel[node])
        assert torch.equal(other, channel) is (int(graph.degrees[node]) == 0)  # the channels of its neighbours change


def test_not_even_with_weighted_edges() -> None:
    graph = block_model(80, seed=0).training_view()
    rows, columns = graph.adjacency.rows, graph.adjacency.indices
    weights = torch.where(rows == columns, 1.0, 0.1 + (rows * columns % 7).float())
    graph = replace(graph, edge_weight=weights)
    channel = label_channel(graph)
    for node in graph.train.tolist():
        assert torch.equal(label_channel(relabelled(graph, node))[node], channel[node])


def test_a_pair_of_labelled_nodes_does_not_receive_its_own_labels_back() -> None:
    graph = Graph.build([(0, 1)], np.eye(2), [0, 1], train=[0, 1])
    channel = label_channel(graph)
    assert channel[0].tolist()[:6] == [0.0, 1.0, 1.0, 0.5, 0.5, 0.0]
    assert channel[1].tolist()[:6] == [1.0, 0.0, 1.0, 0.5, 0.5, 0.0]


def test_labels_outside_the_training_set_do_not_count() -> None:
    graph = Graph.build(EDGES, np.eye(5), [0, 1, 1, 0, 0], train=[0, 2], validation=[1], test=[3, 4])
    assert torch.equal(label_channel(graph), label_channel(graph.training_view()))


def test_the_channel_has_the_type_of_the_features() -> None:
    graph = path(train=[0, 2])
    wide = label_channel(graph.with_features(graph.features.double()))
    assert (label_channel(graph).dtype, wide.dtype) == (torch.float, torch.double)


# Of the steps 1, 2, ... 10 with weights 0.9, 0.81, ... those of odd number have the share 1 / (1 + 0.9)
ODD, EVEN = 10 / 19, 9 / 19


def test_the_far_channel_is_the_distribution_and_the_share_of_the_labels_that_a_long_walk_reaches() -> None:
    graph = Graph.build([(0, 1)], np.eye(3), [0, 1, 0], train=[0]).training_view()
    channel = far_label_channel(graph)
    assert channel.shape == (3, 2 + 1)
    assert channel[1].tolist() == pytest.approx([1.0, 0.0, ODD])  # odd steps lead to node 0
    assert channel[0].tolist() == [0.5, 0.5, 0.0]  # even steps return: its own label does not count
    assert channel[2].tolist() == [0.5, 0.5, 0.0]  # isolated


def test_a_training_node_sees_the_labels_of_other_folds_through_the_far_channel() -> None:
    leaves = list(range(1, 7))  # of node 0; the third and the fifth are in one fold
    graph = Graph.build([(0, leaf) for leaf in leaves], np.eye(7), [0, 0, 1, 1, 1, 0, 1], train=leaves).training_view()
    channel = far_label_channel(graph)
    assert channel[0].tolist() == pytest.approx([2 / 6, 4 / 6, ODD])
    assert channel[3].tolist() == pytest.approx([1 / 4, 3 / 4, EVEN * 4 / 6])  # of leaves 1, 2, 4 and 6
    assert torch.equal(channel[5], channel[3])
    assert channel[2].tolist() == pytest.approx([2 / 5, 3 / 5, EVEN * 5 / 6])
    row = far_label_row(graph, 3)
    assert row.indices[0].tolist() == [1, 2, 4, 6, 3]
    assert row.weights[0].tolist() == pytest.approx([EVEN / 6] * 4 + [0.0])


def test_folds_are_always_the_same_and_leave_the_random_state_as_it_is() -> None:
    graph = block_model(80, seed=0).training_view()
    channel = far_label_channel(graph)
    torch.manual_seed(99)
    state = torch.get_rng_state()
    assert torch.equal(far_label_channel(graph), channel)
    assert torch.equal(torch.get_rng_state(), state)


def test_training_nodes_in_the_cyclic_order_of_their_labels_see_their_own_class() -> None:
    """As validation nodes do; if a fold were every fifth node, it would be a class, and hidden from its nodes."""
    graph = block_model(500, num_classes=FOLDS, mean_degree=6.0, per_class=30, seed=0)
    of_classes = [graph.train[graph.train_labels == label] for label in range(FOLDS)]
    cyclic = replace(graph, train=torch.stack(of_classes, dim=1).flatten()).training_view()
    assert cyclic.train_labels[: 2 * FOLDS].tolist() == [*range(FOLDS)] * 2
    shares = far_label_channel(cyclic)[:, :FOLDS]

    def seen(nodes: torch.Tensor) -> float:
        """How often the largest share is of the node's own class."""
        return float((shares[nodes].argmax(dim=1) == graph.labels[nodes]).float().mean())

    assert seen(graph.validation) > 0.7
    assert seen(cyclic.train) > seen(graph.validation) - 0.1  # they see fewer labels: those of four folds


def test_far_labels_count_by_the_weights_of_the_edges() -> None:
    graph = Graph.build([(0, 1), (1, 2)], np.eye(3), [0, 1, 1], train=[0, 2], edge_weight=[3.0, 1.0]).training_view()
    assert far_label_channel(graph)[1].tolist() == pytest.approx([0.75, 0.25, ODD])


@pytest.mark.parametrize("seed", range(3))
def test_no_bit_of_a_nodes_far_channel_depends_on_its_own_label(seed: int, each_kernels: str) -> None:
    graph = block_model(80, seed=seed, mean_degree=5.0).training_view()
    assert len(graph.train) > FOLDS
    channel = far_label_channel(graph)
    for node in graph.train.tolist():
        other = far_label_channel(relabelled(graph, node))
        assert torch.equal(other[node], channel[node])
        assert torch.equal(other, channel) is (int(graph.degrees[node]) == 0)


def test_the_row_of_a_node_reproduces_its_far_channel() -> None:
    graph = block_model(80, seed=0).training_view()
    rows, columns = graph.adjacency.rows, graph.adjacency.indices
    weights = torch.where(rows == columns, 1.0, 0.1 + (rows * columns % 7).float())
    graph = replace(graph, edge_weight=weights)
    channel = far_label_channel(graph)
    is_train = torch.zeros(80, dtype=torch.bool).index_fill_(0, graph.train, True)
    for node in range(80):
        row = far_label_row(graph, node)
        torch.testing.assert_close(far_label_channel_of_row(graph, row)[0], channel[node])
        assert not row.weights[row.indices == node].any()
        others = row.indices[row.indices != node].long()
        assert is_train[others].all()


def test_far_labels_outside_the_training_set_do_not_count() -> None:
    graph = Graph.build(EDGES, np.eye(5), [0, 1, 1, 0, 0], train=[0, 2], validation=[1], test=[3, 4])
    assert torch.equal(far_label_channel(graph), far_label_channel(graph.training_view()))


def test_the_far_channel_has_the_type_of_the_features() -> None:
    graph = path(train=[0, 2])
    wide = far_label_channel(graph.with_features(graph.features.double()))
    assert (far_label_channel(graph).dtype, wide.dtype) == (torch.float, torch.double)
