"""The random walk over the edges, and its rows, against numbers worked out by hand and dense powers."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from confgcn.graph import Graph
from confgcn.graph.propagation_rows import PropagationRows
from confgcn.models.confgcn import propagation as propagation_module
from confgcn.models.confgcn.propagation import (
    KEPT,
    MOST_ENTRIES,
    MOST_PRODUCTS,
    WIDTHS,
    Propagation,
    row_width,
    uniform_propagation,
)

EDGES = [(0, 1), (1, 2), (1, 3)]  # node 4 is isolated


def star(weights: list[float] | None = None) -> Graph:
    return Graph.build(EDGES, np.eye(5), [0, 1, 0, 1, 0], train=[0, 1], edge_weight=weights)


def as_matrix(graph: Graph, values: Tensor) -> Tensor:
    """(N, N): row v holds the values of the edges into v."""
    matrix = torch.zeros(graph.num_nodes, graph.num_nodes, dtype=values.dtype)
    matrix[graph.adjacency.rows, graph.adjacency.indices] = values
    return matrix


def rows_as_matrix(rows: PropagationRows) -> Tensor:
    matrix = torch.zeros(len(rows.indices), len(rows.indices))
    return matrix.scatter_add_(1, rows.indices.long(), rows.weights)


def test_uniform_influence_is_one_over_one_plus_the_degree() -> None:
    influence = as_matrix(star(), uniform_propagation(star()).influence)
    expected = torch.zeros(5, 5)
    expected[0, [0, 1]] = 1 / 2
    expected[1, :4] = 1 / 4
    expected[2, [1, 2]] = expected[3, [1, 3]] = 1 / 2
    expected[4, 4] = 1.0
    torch.testing.assert_close(influence, expected)


def test_without_loops_a_walk_goes_to_each_neighbour_alike_and_an_isolated_node_has_none() -> None:
    graph = star()
    matrix = as_matrix(graph, uniform_propagation(graph).without_loops)
    expected = torch.zeros(5, 5)
    expected[[0, 2, 3], 1] = 1.0
    expected[1, [0, 2, 3]] = 1 / 3
    torch.testing.assert_close(matrix, expected)


def test_edges_are_followed_in_proportion_to_their_weights() -> None:
    graph = star([2.0, 1.0, 0.0])
    propagation = uniform_propagation(graph)
    with_loops, without = (as_matrix(graph, v) for v in (propagation.influence, propagation.without_loops))
    assert with_loops[1].tolist() == pytest.approx([2 / 4, 1 / 4, 1 / 4, 0, 0])  # own weight 1 of 1 + 2 + 1 + 0
    assert without[1].tolist() == pytest.approx([2 / 3, 0, 1 / 3, 0, 0])
    assert with_loops[3].tolist() == [0, 0, 0, 1, 0]
    assert without[3].tolist() == [0, 0, 0, 0, 0]


def test_what_scores_take_from_the_edges_stays_with_the_node() -> None:
    graph = star()
    scores = torch.where(graph.adjacency.indices == 2, 0.5, 1.0)  # of edges from node 2
    propagation = Propagation(graph, scores)
    with_loops, without = (as_matrix(graph, v) for v in (propagation.influence, propagation.without_loops))
    assert with_loops[1].tolist() == pytest.approx([1 / 4, 3 / 8, 1 / 8, 1 / 4, 0])
    assert without[1].tolist() == pytest.approx([1 / 3, 0, 1 / 6, 1 / 3, 0])
    torch.testing.assert_close(with_loops.sum(1), torch.ones(5))


@pytest.mark.parametrize("largest", [1e8, 3e38])
def test_large_edge_weights_give_a_walk_without_negative_or_infinite_numbers(largest: float) -> None:
    graph = star([largest, largest, largest])
    propagation = uniform_propagation(graph)
    torch.testing.assert_close(as_matrix(graph, propagation.without_loops)[1, [0, 2, 3]], torch.full((3,), 1 / 3))
    assert (propagation.influence >= 0).all()
    propagation.summed(3, 0.1)  # refuses negative and infinite numbers


def test_summed_rows_are_the_weighted_powers(each_kernels: str) -> None:
    graph = star([2.0, 1.0, 0.5])
    propagation = Propagation(graph)
    walk = as_matrix(graph, propagation.influence)
    found = rows_as_matrix(propagation.summed(2, 0.5))
    expected = (torch.eye(5) + 0.5 * walk + 0.25 * walk @ walk) / 1.75  # c_k in proportion to 1, 1/2, 1/4
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(found.sum(1), torch.ones(5))


def test_rows_of_a_hop_leave_out_the_paths_that_return(each_kernels: str) -> None:
    graph = star()
    propagation = Propagation(graph)
    walk = as_matrix(graph, propagation.without_loops)
    torch.testing.assert_close(rows_as_matrix(propagation.hop(1)), walk)
    found = rows_as_matrix(propagation.hop(2))
    torch.testing.assert_close(found, (walk @ walk).fill_diagonal_(0.0))
    assert found[1].sum() == 0  # all paths of two steps from the centre return


@pytest.mark.parametrize(
    ("num_nodes", "width"),
    [
        (1, WIDTHS[0]),
        (WIDTHS[0] + 1, WIDTHS[0] + 1),
        (WIDTHS[1] - 1, WIDTHS[1] - 1),
        (WIDTHS[1] + 1, WIDTHS[1]),
        (MOST_ENTRIES // WIDTHS[1], WIDTHS[1]),
        (MOST_ENTRIES // WIDTHS[1] + 1, WIDTHS[1] - 1),
        (MOST_ENTRIES // 100, 100),
        (10 * MOST_ENTRIES, WIDTHS[0]),
    ],
)
def test_a_row_has_as_many_entries_as_the_size_of_the_table_allows(num_nodes: int, width: int) -> None:
    assert row_width(num_nodes, 1) == width
    assert row_width(num_nodes, 1) * num_nodes <= max(MOST_ENTRIES, WIDTHS[0] * num_nodes)


@pytest.mark.parametrize(
    ("num_entries", "width"),
    [(MOST_PRODUCTS // WIDTHS[1], WIDTHS[1]), (MOST_PRODUCTS // 100, 100), (MOST_PRODUCTS, WIDTHS[0])],
)
def test_a_row_has_fewer_entries_where_nodes_have_many_neighbours(num_entries: int, width: int) -> None:
    assert row_width(1000, num_entries) == width


@pytest.mark.parametrize(("widths", "kept"), [((2, 3), KEPT), ((2, KEPT + 1), KEPT + 1)])
def test_rows_are_built_with_their_width_and_carry_on_at_least_as_many_entries(
    widths: tuple[int, int], kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[tuple[int, int]] = []
    build = PropagationRows.build

    def recorded(*arguments: Any, width: int, kept: int, **options: Any) -> PropagationRows:
        built.append((width, kept))
        return build(*arguments, width=width, kept=kept, **options)

    monkeypatch.setattr(PropagationRows, "build", recorded)
    monkeypatch.setattr(propagation_module, "WIDTHS", widths)
    count = KEPT + 2
    path = Graph.build([(v, v + 1) for v in range(count - 1)], np.eye(count), [0, 1] * (count // 2), train=[0, 1])
    rows = Propagation(path).summed(2, 0.5)
    assert built == [(widths[1], kept)]
    assert rows.indices.shape == (count, widths[1])


def test_rows_are_built_once_for_every_model_of_a_graph() -> None:
    graph = star()
    first = uniform_propagation(graph).summed(2, 0.5)
    assert uniform_propagation(graph.training_view()).summed(2, 0.5) is first
    assert uniform_propagation(graph).summed(3, 0.5) is not first


def test_other_edge_weights_and_other_types_are_not_taken_from_the_cache() -> None:
    graph = star()
    plain = uniform_propagation(graph).influence
    heavy = replace(graph, edge_weight=torch.where(graph.adjacency.indices == 0, 3.0, 1.0))
    assert not torch.equal(uniform_propagation(heavy).influence, plain)
    wide = graph.with_features(graph.features.double())
    assert uniform_propagation(wide).influence.dtype == torch.double
    assert torch.equal(uniform_propagation(graph).influence, plain)


def test_kept_rows_do_not_keep_a_graph_alive() -> None:
    gc.collect()
    gc.disable()
    try:
        graph = star()
        uniform_propagation(graph).summed(2, 0.5)
        kept = weakref.ref(graph), weakref.ref(graph.adjacency)
        del graph
        assert [reference() for reference in kept] == [None, None]
    finally:
        gc.enable()
