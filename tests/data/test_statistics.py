"""Every number of a six-node graph counted by hand, and the known numbers of the benchmark graphs."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from confgcn.data.load import load_graph
from confgcn.data.statistics import GraphStatistics, LabelMismatch, describe
from confgcn.graph import EdgeCounts, Graph

FEATURES = np.array([[1, 0], [1, 2], [0, 0], [0, 5], [1, 1], [0, 1]])


@cache
def described(name: str, data_dir: Path) -> GraphStatistics:
    return describe(load_graph(name, data_dir=data_dir))


def test_every_number_of_a_six_node_graph() -> None:
    graph = Graph.build(
        [(0, 1), (1, 0), (0, 2), (0, 2), (1, 2), (1, 3), (4, 5), (3, 3)],
        sp.csr_matrix(FEATURES),
        [0, 1, 0, 1, -1, 0],
        train=[0, 1, 3],
        validation=[2],
        test=[5],
        class_names=["cat", "dog"],
        name="six",
    )
    assert describe(graph) == GraphStatistics(
        name="six",
        nodes=6,
        features=2,
        stored_features=7,
        classes=2,
        edges=EdgeCounts(listed=8, duplicates=1, loops=1, one_way=4, unique=5),
        listed_halved=4.0,
        label_rate=0.5,
        split={"train": 3, "validation": 1, "test": 1},
        label_mismatch=LabelMismatch(
            train_edges_of_all=1 / 5, train_edges_of_train=1 / 2, train_nodes_of_all=2 / 6, all_labels=2 / 4
        ),
        edge_homophily=0.5,
        node_homophily=pytest.approx((1 / 2 + 1 / 3 + 1 / 2 + 1) / 4),
        degree={"lowest": 1.0, "median": 1.5, "mean": pytest.approx(10 / 6), "highest": 3.0},
        isolated_nodes=0,
        components=2,
        components_without_training_label=1,
        nodes_without_training_label_in_reach=2,
        test_nodes_without_training_label_in_reach=1,
        class_sizes={"cat": 3, "dog": 2},
        train_class_sizes={"cat": 1, "dog": 2},
    )


def mismatch_by_loops(graph: Graph, edges: set[tuple[int, int]]) -> LabelMismatch:
    labels, train = graph.labels.tolist(), set(graph.train.tolist())
    in_train = [(a, b) for a, b in edges if a in train and b in train]
    wrong = [(a, b) for a, b in in_train if labels[a] != labels[b]]
    labelled = [(a, b) for a, b in edges if labels[a] >= 0 and labels[b] >= 0]
    differ = [(a, b) for a, b in labelled if labels[a] != labels[b]]
    return LabelMismatch(
        train_edges_of_all=len(wrong) / len(edges),
        train_edges_of_train=len(wrong) / len(in_train) if in_train else None,
        train_nodes_of_all=len({node for edge in wrong for node in edge}) / graph.num_nodes,
        all_labels=len(differ) / len(labelled) if labelled else None,
    )


@pytest.mark.parametrize("seed", range(6))
def test_every_reading_of_label_mismatch_against_loops(seed: int) -> None:
    random = np.random.default_rng(seed)
    listed = random.integers(0, 8, size=(14, 2))  # with repetitions, both directions and self loops
    labels = random.integers(-1, 3, size=8)
    train = [node for node in range(6) if labels[node] >= 0]
    graph = Graph.build(listed, np.eye(8), labels, train=train, class_names=["a", "b", "c"])
    edges = {(int(min(edge)), int(max(edge))) for edge in listed if edge[0] != edge[1]}
    assert describe(graph).label_mismatch == mismatch_by_loops(graph, edges)


def test_shares_of_nothing_are_none() -> None:
    statistics = describe(Graph.build([], FEATURES, [0, 1, 0, 1, 0, 1], train=[0, 1]))
    assert statistics.label_mismatch == LabelMismatch(None, None, 0.0, None)
    assert (statistics.edge_homophily, statistics.node_homophily) == (None, None)
    assert (statistics.isolated_nodes, statistics.components) == (6, 6)
    assert statistics.components_without_training_label == 4
    assert statistics.stored_features == 12


def test_edges_outside_the_training_set_leave_its_share_undefined() -> None:
    mismatch = describe(Graph.build([(2, 3), (3, 4)], FEATURES, [0, 1, 0, 1, 1, 1], train=[0, 1])).label_mismatch
    assert mismatch == LabelMismatch(0.0, None, 0.0, 0.5)


def test_a_graph_without_training_nodes_reaches_none() -> None:
    statistics = describe(Graph.build([(0, 1)], FEATURES, [0] * 6, test=[0, 1]))
    assert statistics.nodes_without_training_label_in_reach == 6
    assert statistics.test_nodes_without_training_label_in_reach == 2


@pytest.mark.real_data
@pytest.mark.parametrize(("name", "unreached"), [("cora", 59), ("citeseer", 310), ("pubmed", 0)])
def test_test_nodes_out_of_reach_of_a_label(data_dir: Path, name: str, unreached: int) -> None:
    assert described(name, data_dir).test_nodes_without_training_label_in_reach == unreached


@pytest.mark.real_data
@pytest.mark.parametrize(("name", "components"), [("cora", 78), ("citeseer", 438), ("pubmed", 1)])
def test_connected_components(data_dir: Path, name: str, components: int) -> None:
    assert described(name, data_dir).components == components


@pytest.mark.real_data
@pytest.mark.parametrize(("name", "share"), [("cora", 0.0008), ("citeseer", 0.0013), ("pubmed", 0.0)])
def test_literal_label_mismatch(data_dir: Path, name: str, share: float) -> None:
    assert described(name, data_dir).label_mismatch.train_edges_of_all == pytest.approx(share, abs=0.00005)


@pytest.mark.real_data
@pytest.mark.parametrize(("name", "edges"), [("cora", 5429), ("citeseer", 4732), ("pubmed", 44338)])
def test_halved_list_entries_are_the_edges_of_table_1(data_dir: Path, name: str, edges: int) -> None:
    assert described(name, data_dir).listed_halved == edges
