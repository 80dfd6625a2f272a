"""Describe a graph in numbers: the row of Table 1, and every convention under which it can be counted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from confgcn.graph import EdgeCounts, Graph
from confgcn.sparse import SparseMatrix


@dataclass(frozen=True)
class LabelMismatch:
    """Edges between different labels, under each reading of Table 1's "label mismatch". None: no such edge.

    Attributes:
        train_edges_of_all: edges between training nodes of different classes, over all edges (the literal one).
        train_edges_of_train: the same, over the edges between training nodes.
        train_nodes_of_all: training nodes with a training neighbour of another class, over all nodes.
        all_labels: edges between different classes, over the edges between labelled nodes.
    """

    train_edges_of_all: float | None
    train_edges_of_train: float | None
    train_nodes_of_all: float
    all_labels: float | None


@dataclass(frozen=True)
class GraphStatistics:
    """``edges`` says what the file listed; ``listed_halved`` is Table 1's count for the planetoid files."""

    name: str
    nodes: int
    features: int
    stored_features: int
    classes: int
    edges: EdgeCounts
    listed_halved: float
    label_rate: float
    split: dict[str, int]
    label_mismatch: LabelMismatch
    edge_homophily: float | None
    node_homophily: float | None
    degree: dict[str, float]
    isolated_nodes: int
    components: int
    components_without_training_label: int
    nodes_without_training_label_in_reach: int
    test_nodes_without_training_label_in_reach: int
    class_sizes: dict[str, int]
    train_class_sizes: dict[str, int]


def describe(graph: Graph) -> GraphStatistics:
    """All statistics of a graph."""
    source, target = graph.adjacency.indices.numpy(), graph.adjacency.rows.numpy()
    once = source < target  # every undirected edge once, no self loop
    source, target = source[once], target[once]
    labels = graph.labels.numpy()
    degrees = graph.degrees.numpy()
    mismatch = _label_mismatch(graph, source, target)
    count, component = connected_components(_adjacency(graph), directed=False)
    reached = np.isin(component, component[graph.train.numpy()])
    return GraphStatistics(
        name=graph.name,
        nodes=graph.num_nodes,
        features=graph.num_features,
        stored_features=_stored(graph),
        classes=graph.num_classes,
        edges=graph.edge_counts,
        listed_halved=graph.edge_counts.listed / 2,
        label_rate=len(graph.train) / graph.num_nodes,
        split={part: len(getattr(graph, part)) for part in ("train", "validation", "test")},
        label_mismatch=mismatch,
        edge_homophily=None if mismatch.all_labels is None else 1.0 - mismatch.all_labels,
        node_homophily=_node_homophily(labels, source, target),
        degree={
            "lowest": float(degrees.min()),
            "median": float(np.median(degrees)),
            "mean": float(degrees.mean()),
            "highest": float(degrees.max()),
        },
        isolated_nodes=int((degrees == 0).sum()),
        components=int(count),
        components_without_training_label=int(count) - len(np.unique(component[graph.train.numpy()])),
        nodes_without_training_label_in_reach=int((~reached).sum()),
        test_nodes_without_training_label_in_reach=int((~reached[graph.test.numpy()]).sum()),
        class_sizes=_class_sizes(graph, labels[labels >= 0]),
        train_class_sizes=_class_sizes(graph, labels[graph.train.numpy()]),
    )


def _label_mismatch(graph: Graph, source: npt.NDArray[np.int64], target: npt.NDArray[np.int64]) -> LabelMismatch:
    labels = graph.labels.numpy()
    in_train = np.zeros(graph.num_nodes, dtype=bool)
    in_train[graph.train.numpy()] = True
    differs = labels[source] != labels[target]
    between_train = in_train[source] & in_train[target]
    between_labelled = (labels[source] >= 0) & (labels[target] >= 0)
    touched = np.unique(np.concatenate([source[between_train & differs], target[between_train & differs]]))
    wrong_train = int((between_train & differs).sum())
    return LabelMismatch(
        train_edges_of_all=_share(wrong_train, len(source)),
        train_edges_of_train=_share(wrong_train, int(between_train.sum())),
        train_nodes_of_all=len(touched) / graph.num_nodes,
        all_labels=_share(int((between_labelled & differs).sum()), int(between_labelled.sum())),
    )


def _node_homophily(
    labels: npt.NDArray[np.int64], source: npt.NDArray[np.int64], target: npt.NDArray[np.int64]
) -> float | None:
    """Mean over labelled nodes with labelled neighbours of the share of neighbours with the same label."""
    known = (labels[source] >= 0) & (labels[target] >= 0)
    ends = np.concatenate([source[known], target[known]])
    same = np.tile(labels[source[known]] == labels[target[known]], 2)
    neighbours = np.bincount(ends, minlength=len(labels))
    alike = np.bincount(ends, weights=same, minlength=len(labels))
    return float((alike[neighbours > 0] / neighbours[neighbours > 0]).mean()) if len(ends) else None


def _adjacency(graph: Graph) -> sp.csr_matrix:
    indices, indptr = graph.adjacency.indices.numpy(), graph.adjacency.indptr.numpy()
    return sp.csr_matrix((np.ones(len(indices), dtype=np.int8), indices, indptr), shape=graph.adjacency.shape)


def _stored(graph: Graph) -> int:
    features = graph.features
    return len(features.values) if isinstance(features, SparseMatrix) else features.numel()


def _class_sizes(graph: Graph, labels: npt.NDArray[np.int64]) -> dict[str, int]:
    counts = np.bincount(labels, minlength=graph.num_classes)
    return {name: int(n) for name, n in zip(graph.class_names, counts, strict=True)}


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
