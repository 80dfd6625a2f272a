"""A random graph with communities, for the benchmarks with several workers."""

from __future__ import annotations

import numpy as np

from confgcn.graph import Graph

FEATURES, CLASSES, EDGES_PER_NODE = 128, 40, 6.4
COMMUNITY, OUTSIDE = 1_000, 0.03  # nodes per community; share of the edges that leave it
LABELLED, VALIDATION = 0.1, 0.05


def clustered_graph(size: int, *, edges_per_node: float = EDGES_PER_NODE, seed: int = 0) -> Graph:
    """Communities in a ring: most edges stay inside, some lead to the next one, few anywhere; nodes are shuffled."""
    random = np.random.default_rng(seed)
    count = round(edges_per_node * size)
    communities = max(1, size // COMMUNITY)
    source = random.integers(0, size, count)
    home = source % communities
    leaves, far = random.random(count) < OUTSIDE, random.random(count) < 0.1
    community = np.where(leaves, np.where(far, random.integers(0, communities, count), home + 1), home) % communities
    target = np.minimum(random.integers(0, max(1, size // communities), count) * communities + community, size - 1)
    order = random.permutation(size)
    labels = np.empty(size, np.int64)
    labels[order] = (np.arange(size) % communities) % CLASSES
    features = random.standard_normal((size, FEATURES), dtype=np.float32)
    features[np.arange(size), labels] += 1.0
    nodes = random.permutation(size)
    splits = np.split(nodes, [round(LABELLED * size), round((LABELLED + VALIDATION) * size)])
    edges = np.stack([order[source], order[target]], 1)
    return Graph.build(
        edges, features, labels, train=np.sort(splits[0]), validation=np.sort(splits[1]), name=f"clustered-{size}"
    )
