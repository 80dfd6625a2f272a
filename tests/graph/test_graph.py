"""A graph is built in one canonical form, from any order, direction and repetition of its edges."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
import torch

from confgcn.graph import EdgeCounts, Graph

EDGES = [(0, 1), (1, 2), (3, 1)]
FEATURES = np.array([[1.0, 0, 0], [0, 2, 0], [0, 0, 3], [4, 5, 0], [0, 0, 6]])
LABELS = [0, 1, 2, 0, 1]


def build(**changes: Any) -> Graph:
    given = {"edges": EDGES, "features": FEATURES, "labels": LABELS, "train": [0, 1, 2], "validation": [3], "test": [4]}
    return Graph.build(**{**given, **changes})


def test_adjacency_holds_both_directions_and_one_self_loop_each() -> None:
    adjacency = build().adjacency
    assert adjacency.indptr.tolist() == [0, 2, 6, 8, 10, 11]
    assert adjacency.indices.tolist() == [0, 1, 0, 1, 2, 3, 1, 2, 1, 3, 4]
    assert adjacency.shape == (5, 5)


def test_degrees_do_not_count_the_node_itself() -> None:
    assert build().degrees.tolist() == [1, 3, 1, 1, 0]


def test_edge_counts_of_a_list_with_everything() -> None:
    edges = [(0, 1), (0, 1), (1, 0), (2, 2), (2, 2), (1, 2), (3, 1)]
    assert build(edges=edges).edge_counts == EdgeCounts(listed=7, duplicates=2, loops=1, one_way=2, unique=3)


def test_training_view_hides_every_label_outside_train() -> None:
    graph = build()
    view = graph.training_view()
    assert view.labels.tolist() == [0, 1, 2, -1, -1]
    assert graph.labels.tolist() == LABELS
    assert view.num_classes == 3
    assert torch.equal(view.test, graph.test)


def test_training_view_of_a_graph_without_training_nodes_shows_no_label() -> None:
    assert build(train=[]).training_view().labels.tolist() == [-1] * 5


def test_e05_node_names_keep_the_original_ids() -> None:
    ids = ["10", "500", "70000", "3", "42"]
    assert build(node_names=ids).node_names == tuple(ids)


def test_names_default_to_numbers() -> None:
    assert build().node_names == ("0", "1", "2", "3", "4")
    assert build().class_names == ("0", "1", "2")


def test_split_names_follow_the_parts() -> None:
    assert build(test=[]).split_names() == ["train", "train", "train", "validation", ""]


def test_with_features_changes_nothing_else() -> None:
    other = build().with_features(torch.zeros(5, 2))
    assert other.num_features == 2
    assert other.with_features(build().features).fingerprint == build().fingerprint


def test_later_changes_to_the_arrays_given_do_not_reach_the_graph() -> None:
    features, labels, edges = FEATURES.astype(np.float32), np.array(LABELS), np.array(EDGES)
    graph = build(features=features, labels=labels, edges=edges)
    features[:], labels[:], edges[:] = 9, 0, 4
    assert graph.fingerprint == build().fingerprint


@pytest.mark.parametrize(
    ("num_nodes", "edges", "indices"),
    [
        pytest.param(1, [], [0], id="one node"),
        pytest.param(1, [(0, 0)], [0], id="one node with a loop"),
        pytest.param(2, [(1, 0)], [0, 1, 0, 1], id="two nodes, one edge"),
        pytest.param(4, np.empty((0, 2)), [0, 1, 2, 3], id="no edges"),
    ],
)
def test_e18_the_smallest_graphs_build(num_nodes: int, edges: Any, indices: list[int]) -> None:
    graph = Graph.build(edges, np.ones((num_nodes, 1)), np.zeros(num_nodes, int))
    assert graph.adjacency.indices.tolist() == indices
    assert graph.adjacency.indptr[-1] == len(indices)


def test_e11_isolated_nodes_keep_their_own_loop() -> None:
    adjacency = build(edges=[(0, 1)]).adjacency
    assert adjacency.indices[adjacency.indptr[3] : adjacency.indptr[4]].tolist() == [3]


def test_e19_a_star_takes_no_more_memory_than_a_path() -> None:
    leaves = np.arange(1, 200_001)
    features, labels = np.ones((200_001, 1)), np.zeros(200_001, int)

    def peak(sources: Any) -> int:
        tracemalloc.start()
        graph = Graph.build(np.stack([sources, leaves], axis=1), features, labels)
        highest = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert len(graph.adjacency.indices) == 600_001
        return highest

    assert peak(np.zeros_like(leaves)) < 2 * peak(leaves - 1)


@pytest.mark.parametrize("block", [1, 4, 1000])
def test_what_is_asked_in_blocks_does_not_depend_on_their_size(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph.build([(0, 1), (2, 1), (3, 3)], [[0, 1, 2], [0, 0, 2], [0, 0, 2], [0, -1, 2]], [0, 1, 0, 1])
    blank = Graph.build([(0, 1)], [[1], [1], [0]], [0, 1, -1])
    monkeypatch.setattr("confgcn.io.blocks.BLOCK", block)
    ends = [pair for sources, targets in graph.edge_blocks() for pair in zip(sources, targets, strict=True)]
    assert ends == [(0, 1), (1, 2)]
    assert "2 feature columns are the same for every node" in graph.notices()
    assert "1 nodes have no feature other than zero" in blank.notices()
    assert blank.is_uninformative.tolist() == [False, False, True]


def test_a_graph_is_shown_by_its_sizes() -> None:
    sizes = "nodes=5, edges=3, features=3, classes=3, train=3, validation=1, test=1"
    assert repr(build(name="x")) == f"Graph('x', {sizes})"
    shown = build(name="<x>")._repr_html_()
    assert "<b>&lt;x&gt;</b>" in shown
    assert "<tr><th>nodes</th><td>5</td></tr>" in shown
    assert "<li>1 isolated nodes: they have no neighbours</li>" in shown
