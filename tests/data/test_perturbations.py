"""Perturbations change what they name, by the share they name, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace

import numpy as np
import pytest
import torch

from confgcn.data.perturbations import add_edges_between_classes, flip_training_labels, shrink_validation_set
from confgcn.exceptions import DataError
from confgcn.graph import Graph

Perturbation = Callable[..., Graph]
CHANGED: dict[Perturbation, set[str]] = {
    add_edges_between_classes: {"adjacency", "edge_counts"},
    flip_training_labels: {"labels"},
    shrink_validation_set: {"validation"},
}
EACH = pytest.mark.parametrize("perturb", CHANGED, ids=lambda perturb: perturb.__name__)


def pairs(graph: Graph) -> set[tuple[int, int]]:
    """Every undirected edge, once."""
    ends = zip(graph.adjacency.indices.tolist(), graph.adjacency.rows.tolist(), strict=True)
    return {(u, v) for u, v in ends if u < v}


def with_unknown_labels(graph: Graph, nodes: torch.Tensor) -> Graph:
    return replace(graph, labels=graph.labels.index_fill(0, nodes, -1))


@EACH
def test_nothing_else_is_touched(small_graph: Graph, perturb: Perturbation) -> None:
    before = small_graph.fingerprint
    changed = perturb(small_graph, 0.5, seed=0)
    for field in fields(Graph):
        one, other = getattr(small_graph, field.name), getattr(changed, field.name)
        assert (one is other) is (field.name not in CHANGED[perturb]), field.name
    assert changed.fingerprint != before
    assert replace(small_graph).fingerprint == before


@EACH
def test_the_same_seed_gives_the_same_graph_and_another_another(small_graph: Graph, perturb: Perturbation) -> None:
    state = torch.get_rng_state()
    first, second, other = (perturb(small_graph, 0.5, seed=seed).fingerprint for seed in (3, 3, 4))
    assert first == second
    assert first != other
    assert torch.equal(torch.get_rng_state(), state)


@EACH
def test_a_share_of_nothing_changes_nothing(small_graph: Graph, perturb: Perturbation) -> None:
    assert perturb(small_graph, 0.0, seed=0).fingerprint == small_graph.fingerprint


@pytest.mark.parametrize("share", [0.01, 0.5, 2.0])
def test_new_edges_are_counted_and_join_different_classes(small_graph: Graph, share: float) -> None:
    graph = add_edges_between_classes(small_graph, share, seed=0)
    old, new = pairs(small_graph), pairs(graph)
    assert old < new
    assert len(new) - len(old) == round(share * len(old))
    assert all(graph.labels[u] != graph.labels[v] for u, v in new - old)
    assert graph.edge_counts.unique == len(new)


def test_the_new_adjacency_is_symmetric_with_one_loop_a_node(small_graph: Graph) -> None:
    graph = add_edges_between_classes(small_graph, 0.5, seed=0)
    dense = torch.zeros(120, 120, dtype=torch.long)
    dense[graph.adjacency.rows, graph.adjacency.indices] += 1
    assert int(dense.sum()) == graph.adjacency.num_entries  # no entry is there twice
    assert torch.equal(dense, dense.T)
    assert dense.diagonal().tolist() == [1] * 120


def test_nodes_of_no_known_label_get_no_edge(small_graph: Graph) -> None:
    unknown = small_graph.test
    hidden = with_unknown_labels(small_graph, unknown)
    added = pairs(add_edges_between_classes(hidden, 0.5, seed=0)) - pairs(hidden)
    assert len(added) == round(0.5 * len(pairs(hidden)))
    assert not {node for pair in added for node in pair} & set(unknown.tolist())


def test_all_but_every_pair_is_drawn() -> None:
    # eight nodes of two classes, two edges within: 16 pairs, of which half may be asked for
    graph = Graph.build([(0, 1), (4, 5)], np.eye(8), [0] * 4 + [1] * 4)
    found = [frozenset(pairs(add_edges_between_classes(graph, 3.5, seed=seed))) for seed in range(20)]
    assert {len(edges) for edges in found} == {9}
    assert len(frozenset.union(*found)) == 2 + 16
    with pytest.raises(DataError, match=r"graph: 9 new edges .* more than half of the pairs"):
        add_edges_between_classes(graph, 4.5, seed=0)


@pytest.mark.parametrize("labels", [[0] * 8, [-1] * 8], ids=["one class", "no labels"])
def test_where_there_are_no_two_classes_there_is_no_edge_between_them(labels: list[int]) -> None:
    graph = Graph.build([(0, 1), (4, 5)], np.eye(8), labels, class_names=["a", "b"])
    with pytest.raises(DataError, match="1 new edges between classes"):
        add_edges_between_classes(graph, 0.5, seed=0)


def test_edges_within_classes_take_no_room_from_those_between() -> None:
    # two full classes of six: 36 pairs between them, none of which is an edge
    inside = [(a, b) for start in (0, 6) for a in range(start, start + 6) for b in range(start, a)]
    graph = Graph.build(inside, np.eye(12), [0] * 6 + [1] * 6)
    assert len(pairs(graph)) == 30
    assert len(pairs(add_edges_between_classes(graph, 0.5, seed=0))) == 45
    lonely = Graph.build(inside[:15], np.eye(7), [0] * 6 + [1])  # 15 edges within, 6 pairs between
    assert add_edges_between_classes(lonely, 0.0, seed=0).fingerprint == lonely.fingerprint


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_flips_change_so_many_training_labels_and_no_other(small_graph: Graph, share: float) -> None:
    flipped = flip_training_labels(small_graph, share, seed=0)
    differs = flipped.labels != small_graph.labels
    assert int(differs.sum()) == round(share * len(small_graph.train))
    assert torch.isin(differs.nonzero().flatten(), small_graph.train).all()
    assert flipped.labels.min() >= 0
    assert flipped.labels.max() < small_graph.num_classes


def test_a_flipped_label_may_be_any_other(small_graph: Graph) -> None:
    train = small_graph.train
    found = {
        tuple(pair)
        for seed in range(10)
        for pair in zip(
            small_graph.labels[train].tolist(),
            flip_training_labels(small_graph, 1.0, seed=seed).labels[train].tolist(),
            strict=True,
        )
    }
    assert found == {(a, b) for a in range(4) for b in range(4) if a != b}


def test_two_classes_are_exchanged() -> None:
    graph = Graph.build([(0, 1)], np.eye(4), [0, 1, 0, 1], train=[0, 1, 2], test=[3])
    assert flip_training_labels(graph, 1.0, seed=0).labels.tolist() == [1, 0, 1, 1]


def test_labels_of_a_single_class_cannot_be_flipped() -> None:
    graph = Graph.build([(0, 1)], np.eye(2), [0, 0], train=[0])
    with pytest.raises(DataError, match="graph: labels of a single class cannot be flipped"):
        flip_training_labels(graph, 0.5, seed=0)


@pytest.mark.parametrize(("share", "kept"), [(0.1, 27), (0.5, 15), (1.0, 0)])
def test_so_many_validation_nodes_are_held_back(small_graph: Graph, share: float, kept: int) -> None:
    assert len(small_graph.validation) == 30
    graph = shrink_validation_set(small_graph, share, seed=0)
    assert len(graph.validation) == kept
    assert set(graph.validation.tolist()) <= set(small_graph.validation.tolist())
    assert graph.validation.tolist() == sorted(set(graph.validation.tolist()))
    assert [name for name in graph.split_names() if name == "validation"] == ["validation"] * kept


def test_added_edges_of_a_weighted_graph_weigh_one() -> None:
    graph = Graph.build([(0, 1), (2, 3)], np.eye(4), [0, 0, 1, 1], edge_weight=[2.0, 3.0])
    added = add_edges_between_classes(graph, 1.0, seed=0)
    dense = added.neighbour_weights.to_scipy().toarray()
    assert (dense[0, 1], dense[2, 3], sorted(dense[dense > 0].tolist())) == (2, 3, [1, 1, 1, 1, 2, 2, 3, 3])
