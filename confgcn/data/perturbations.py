"""Random changes to a graph for experiments on robustness: edges between classes, wrong labels, fewer labels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from confgcn.exceptions import DataError
from confgcn.graph import Graph, symmetric_adjacency, symmetric_weights
from confgcn.graph.validation import IntArray


def add_edges_between_classes(graph: Graph, share: float, *, seed: int) -> Graph:
    """Add random edges between nodes of different known labels: ``share`` times the number of edges.

    Pairs are drawn uniformly; pairs of one class and existing edges are drawn again. In a weighted graph they have
    weight one.
    """
    source, target = graph.neighbours.indices.numpy(), graph.neighbours.rows.numpy()
    present = _keys(source[source < target], target[source < target], graph.num_nodes)
    known = np.flatnonzero(graph.labels.numpy() >= 0)
    count = round(share * len(present))
    _check_enough_pairs(graph, known, present, count)
    generator = np.random.default_rng(seed)
    added: IntArray = np.empty(0, dtype=np.int64)
    while len(added) < count:
        one, other = generator.choice(known, size=(2, 2 * (count - len(added)) + 1))
        different = graph.labels.numpy()[one] != graph.labels.numpy()[other]
        drawn = _keys(one[different], other[different], graph.num_nodes)
        fresh = drawn[~np.isin(drawn, present) & ~np.isin(drawn, added)]
        _, first = np.unique(fresh, return_index=True)
        added = np.concatenate([added, fresh[np.sort(first)]])[:count]
    keys = np.concatenate([present, added])
    pairs = np.stack([keys // graph.num_nodes, keys % graph.num_nodes], axis=1)
    adjacency, counts = symmetric_adjacency(np.concatenate([pairs, pairs[:, ::-1]]), graph.num_nodes)
    if graph.edge_weight is None:
        return replace(graph, adjacency=adjacency, edge_counts=counts)
    old = np.stack([source, target], axis=1)
    weights = np.concatenate([graph.neighbour_weights.values.numpy(), np.ones(len(added))]).astype(np.float32)
    edge_weight = symmetric_weights(adjacency, np.concatenate([old, pairs[len(present) :]]), weights)
    return replace(graph, adjacency=adjacency, edge_counts=counts, edge_weight=edge_weight)


def flip_training_labels(graph: Graph, share: float, *, seed: int) -> Graph:
    """Change a random ``share`` of the training labels to another random class."""
    if graph.num_classes < 2:
        raise DataError(f"{graph.name}: labels of a single class cannot be flipped")
    generator = np.random.default_rng(seed)
    chosen = generator.choice(graph.train.numpy(), size=round(share * len(graph.train)), replace=False)
    steps = generator.integers(1, graph.num_classes, size=len(chosen))
    labels = graph.labels.clone()
    labels[chosen] = (labels[chosen] + torch.from_numpy(steps)) % graph.num_classes
    return replace(graph, labels=labels)


def shrink_validation_set(graph: Graph, share: float, *, seed: int) -> Graph:
    """Remove a random ``share`` of the validation nodes from the split."""
    order = np.random.default_rng(seed).permutation(graph.validation.numpy())
    kept = order[round(share * len(order)) :]
    return replace(graph, validation=torch.from_numpy(np.sort(kept)))


def _keys(one: IntArray, other: IntArray, num_nodes: int) -> IntArray:
    """One number for each undirected pair."""
    keys: IntArray = np.minimum(one, other) * num_nodes + np.maximum(one, other)
    return keys


def _check_enough_pairs(graph: Graph, known: IntArray, present: IntArray, count: int) -> None:
    sizes = np.bincount(graph.labels.numpy()[known]) if len(known) else np.zeros(1, dtype=np.int64)
    pairs = (int(sizes.sum()) ** 2 - int((sizes**2).sum())) // 2
    one, other = (graph.labels.numpy()[ends] for ends in np.divmod(present, graph.num_nodes))
    existing = int(((one != other) & (one >= 0) & (other >= 0)).sum())
    if pairs - existing < 2 * count:  # with at most half of the pairs, drawing ends soon
        raise DataError(f"{graph.name}: {count} new edges between classes are more than half of the pairs left")
