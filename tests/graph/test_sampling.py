"""Samples of a graph: which edges are drawn, how often, what they stand for, and whose parameters belong to them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from confgcn.graph import Graph
from confgcn.graph.sampling import NeighbourSampler, draw_without_replacement


@pytest.fixture
def star() -> Graph:
    """0 is joined to 1, ..., 5, and 5 to 6; 7 is isolated."""
    edges = [(0, leaf) for leaf in range(1, 6)] + [(5, 6)]
    return Graph.build(edges, np.arange(16.0).reshape(8, 2), [0, 1] * 4, train=[0, 3, 6], validation=[1], test=[2])


def edges_of(graph: Graph) -> set[tuple[int, int]]:
    """(target, source) by global id."""
    ids = graph.node_ids
    return set(zip(ids[graph.adjacency.rows].tolist(), ids[graph.adjacency.indices].tolist(), strict=True))


def test_batch_nodes_come_first_and_the_outermost_have_their_self_loop_only(star: Graph) -> None:
    sample = NeighbourSampler(star, fanout=10, depth=1).draw(torch.tensor([6, 7]))
    assert sample.node_ids.tolist() == [6, 7, 5]
    assert edges_of(sample) == {(6, 6), (6, 5), (7, 7), (5, 5)}
    deeper = NeighbourSampler(star, fanout=10, depth=2).draw(torch.tensor([6, 7]))
    assert deeper.node_ids.tolist() == [6, 7, 5, 0]
    assert edges_of(deeper) == {(6, 6), (6, 5), (7, 7), (5, 5), (5, 6), (5, 0), (0, 0)}


def test_what_belongs_to_a_node_comes_along(star: Graph) -> None:
    sample = NeighbourSampler(star, fanout=10, depth=1).draw(torch.tensor([5, 6]))
    assert sample.node_ids.tolist() == [5, 6, 0]
    assert torch.equal(sample.features, star.features[[5, 6, 0]])
    assert sample.labels.tolist() == [1, 0, 0]
    assert sample.train.tolist() == [1]
    assert sample.labelled.tolist() == [1, 2]  # that of a node outside the batch is known, but not in the loss
    assert (sample.num_nodes_in_mean, sample.num_train_in_mean) == (8, 3)
    assert sample.batch_nodes.tolist() == [0, 1]
    assert len(sample.validation) == len(sample.test) == 0


def test_the_weight_of_a_drawn_edge_is_degree_over_drawn(star: Graph) -> None:
    sample = NeighbourSampler(star, fanout=2, depth=1).draw(torch.tensor([0, 6]))
    rows, columns = sample.adjacency.rows, sample.adjacency.indices
    assert (rows[:3].tolist(), int(sample.adjacency.indptr[1])) == ([0, 0, 0], 3)
    for row, column, weight in zip(rows.tolist(), columns.tolist(), sample.edge_weight.tolist(), strict=True):
        assert weight == (2.5 if row == 0 and column != 0 else 1.0)


def test_with_enough_fanout_all_nodes_are_the_graph_itself(small_graph: Graph) -> None:
    sample = NeighbourSampler(small_graph, fanout=1000, depth=3).draw(torch.arange(small_graph.num_nodes))
    assert sample.adjacency.equals(small_graph.adjacency)
    assert torch.equal(sample.train, small_graph.train)
    assert (sample.edge_weight == 1.0).all()


def test_edges_are_edges_of_the_graph_and_none_is_drawn_twice(small_graph: Graph) -> None:
    sampler = NeighbourSampler(small_graph, fanout=3, depth=2)
    known = edges_of(small_graph)
    for _ in range(5):
        sample = sampler.draw(torch.randperm(120)[:20])
        assert edges_of(sample) <= known
        assert len(edges_of(sample)) == sample.adjacency.num_entries
        assert len(sample.node_ids.unique()) == sample.num_nodes
        inner = small_graph.degrees[sample.node_ids[:20]].clamp(max=3) + 1
        assert torch.equal(sample.adjacency.indptr.diff()[:20], inner)
        assert bool((sampler.number == -1).all())


def test_neighbours_are_drawn_uniformly() -> None:
    """Two of five leaves, of two thousand stars at once: node 6 s + k is leaf k of the star around 6 s + 2."""
    leaves, centre = (0, 1, 3, 4, 5), 2
    edges = [(6 * star + centre, 6 * star + leaf) for star in range(2000) for leaf in leaves]
    graph = Graph.build(edges, np.ones((12_000, 1)), [0, 1] * 6000)
    sample = NeighbourSampler(graph, fanout=2, depth=1).draw(torch.arange(centre, 12_000, 6))
    counts = dict.fromkeys(combinations(leaves, 2), 0)
    for star in range(2000):
        heard = sample.adjacency.indices[3 * star : 3 * star + 3]
        counts[tuple(sorted(set((sample.node_ids[heard] % 6).tolist()) - {centre}))] += 1
    assert chisquare(list(counts.values())).pvalue > 1e-3


def test_choices_of_many_sizes_are_uniform_and_without_replacement() -> None:
    sizes = torch.tensor([4, 7, 1_000_000_000_000]).repeat(3000)
    chosen = draw_without_replacement(sizes, 3)
    assert bool(((chosen >= 0) & (chosen < sizes)).all())
    assert all(len(set(column)) == 3 for column in chosen.T.tolist())
    for place, size in enumerate((4, 7)):
        counts = torch.bincount(chosen[:, place::3].flatten(), minlength=size)
        expected = 3 * 3000 / size
        assert ((counts - expected).abs() < 5 * expected**0.5).all()


def test_the_stream_of_torch_decides(small_graph: Graph) -> None:
    sampler, seeds = NeighbourSampler(small_graph, fanout=2, depth=2), torch.arange(30)

    def drawn(seed: int) -> Graph:
        torch.manual_seed(seed)
        return sampler.draw(seeds)

    assert edges_of(drawn(1)) == edges_of(drawn(1)) != edges_of(drawn(2))


def test_the_weight_of_a_drawn_edge_is_multiplied_by_the_edges_it_represents(star: Graph) -> None:
    edges = [(0, leaf) for leaf in range(1, 6)] + [(5, 6)]
    graph = Graph.build(edges, star.features.numpy(), star.labels, train=star.train, edge_weight=[1, 2, 3, 4, 5, 6])
    sample = NeighbourSampler(graph, fanout=2, depth=1).draw(torch.tensor([0, 6]))
    structure, weights = sample.adjacency, sample.edge_weight
    for row, column, weight in zip(structure.rows.tolist(), structure.indices.tolist(), weights.tolist(), strict=True):
        target, source = int(sample.node_ids[row]), int(sample.node_ids[column])
        expected = {(0, 0): 1.0, (6, 6): 1.0, (6, 5): 6.0}.get((target, source), 2.5 * source if target == 0 else 1.0)
        assert weight == expected
