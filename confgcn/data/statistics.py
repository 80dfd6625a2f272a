"""Statistics of a graph, including those of Table 1 of the paper under every convention of counting."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from confgcn.graph import EdgeCounts, Graph
from confgcn.graph.graph import SPLITS
from confgcn.sparse import SparseMatrix


@dataclass(frozen=True)
class LabelMismatch:
    """Share of edges between different labels, under each reading of Table 1's "label mismatch"; None: 0 of 0.

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
    """``edges`` are the counts of the files; ``listed_halved`` is Table 1's count for the planetoid files.

    A node is in reach of a training label if its connected component holds a training node.
    """

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
    """Compute all statistics of a graph."""
    degrees = graph.degrees.numpy()
    labels = graph.labels.numpy()
    mismatch, node_homophily = _agreement(graph)
    count, component = _components(graph)
    is_reached = np.zeros(count, dtype=bool)
    is_reached[component[graph.train.numpy()]] = True
    reached = is_reached[component]
    return GraphStatistics(
        name=graph.name,
        nodes=graph.num_nodes,
        features=graph.num_features,
        stored_features=_stored(graph),
        classes=graph.num_classes,
        edges=graph.edge_counts,
        listed_halved=graph.edge_counts.listed / 2,
        label_rate=len(graph.train) / graph.num_nodes,
        split={split: len(getattr(graph, split)) for split in SPLITS},
        label_mismatch=mismatch,
        edge_homophily=None if mismatch.all_labels is None else 1.0 - mismatch.all_labels,
        node_homophily=node_homophily,
        degree={
            "lowest": float(degrees.min()),
            "median": float(np.median(degrees)),
            "mean": float(degrees.mean()),
            "highest": float(degrees.max()),
        },
        isolated_nodes=int((degrees == 0).sum()),
        components=count,
        components_without_training_label=count - int(is_reached.sum()),
        nodes_without_training_label_in_reach=int((~reached).sum()),
        test_nodes_without_training_label_in_reach=int((~reached[graph.test.numpy()]).sum()),
        class_sizes=_class_sizes(graph, labels[labels >= 0]),
        train_class_sizes=_class_sizes(graph, labels[graph.train.numpy()]),
    )


def _agreement(graph: Graph) -> tuple[LabelMismatch, float | None]:
    """Label mismatch over edges, and node homophily: the mean share of labelled neighbours with the same label, over
    labelled nodes that have labelled neighbours."""
    labels, num_nodes = graph.labels.numpy(), graph.num_nodes
    in_train, touched = np.zeros(num_nodes, dtype=bool), np.zeros(num_nodes, dtype=bool)
    in_train[graph.train.numpy()] = True
    neighbours, alike = np.zeros(num_nodes, dtype=np.int64), np.zeros(num_nodes, dtype=np.int64)
    sizes: Counter[str] = Counter()
    for source, target in graph.edge_blocks():
        same = labels[source] == labels[target]
        trained = in_train[source] & in_train[target]
        known = (labels[source] >= 0) & (labels[target] >= 0)
        for end in (source, target):
            touched[end[trained & ~same]] = True
            neighbours += np.bincount(end[known], minlength=num_nodes)
            alike += np.bincount(end[known & same], minlength=num_nodes)
        of_block = {
            "all": np.ones_like(same),
            "trained": trained,
            "trained_unlike": trained & ~same,
            "known": known,
            "known_unlike": known & ~same,
        }
        sizes.update({name: int(chosen.sum()) for name, chosen in of_block.items()})
    mismatch = LabelMismatch(
        train_edges_of_all=_share(sizes["trained_unlike"], sizes["all"]),
        train_edges_of_train=_share(sizes["trained_unlike"], sizes["trained"]),
        train_nodes_of_all=int(touched.sum()) / num_nodes,
        all_labels=_share(sizes["known_unlike"], sizes["known"]),
    )
    has_any = neighbours > 0
    return mismatch, float((alike[has_any] / neighbours[has_any]).mean()) if has_any.any() else None


def _components(graph: Graph) -> tuple[int, npt.NDArray[Any]]:
    """The number of connected components and the component of each node; every block of edges joins components."""
    count, component = graph.num_nodes, np.arange(graph.num_nodes)
    for source, target in graph.edge_blocks():
        ends = component[source], component[target]
        joined = sp.coo_array((np.ones(len(source), dtype=bool), ends), shape=(count, count))
        count, number = connected_components(joined.tocsr(), directed=False)
        component = number[component]
    return int(count), component


def _stored(graph: Graph) -> int:
    features = graph.features
    return len(features.values) if isinstance(features, SparseMatrix) else features.numel()


def _class_sizes(graph: Graph, labels: npt.NDArray[np.int64]) -> dict[str, int]:
    counts = np.bincount(labels, minlength=graph.num_classes)
    return {name: int(n) for name, n in zip(graph.class_names, counts, strict=True)}


def _share(count: int, total: int) -> float | None:
    return count / total if total else None
