"""Synthetic graphs: a degree-corrected stochastic block model with class-dependent features."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from confgcn.data.splits import planetoid_split
from confgcn.graph import Graph
from confgcn.graph.validation import IntArray

DEGREE_EXPONENT = 2.5  # Pareto shape of the degree propensities; citation graphs have a tail of about this weight


def block_model(
    num_nodes: int,
    *,
    num_classes: int = 4,
    num_features: int = 32,
    mean_degree: float = 4.0,
    mismatch: float = 0.2,
    feature_noise: float = 1.0,
    seed: int = 0,
    per_class: int = 10,
    validation: int | None = None,
    test: int | None = None,
) -> Graph:
    """A graph in which a share ``mismatch`` of the edges joins different classes.

    Both ends of an edge are drawn in proportion to a heavy-tailed propensity. Features are the class mean (a
    random direction of unit length) plus ``feature_noise`` times standard normal noise. Validation and test sets
    have a quarter of the nodes each unless their sizes are given.
    """
    random = np.random.default_rng(seed)
    labels = random.permutation(np.arange(num_nodes) % num_classes)
    edges = _draw_edges(random, labels, num_edges=int(num_nodes * mean_degree / 2), mismatch=mismatch)
    means = random.normal(size=(num_classes, num_features))
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    features = means[labels] + feature_noise * random.normal(size=(num_nodes, num_features)) / np.sqrt(num_features)
    graph = Graph.build(edges, features, labels, name=f"block_model_{num_nodes}")
    return planetoid_split(
        graph,
        seed=seed,
        per_class=per_class,
        validation=num_nodes // 4 if validation is None else validation,
        test=num_nodes // 4 if test is None else test,
    )


def _draw_edges(random: np.random.Generator, labels: IntArray, *, num_edges: int, mismatch: float) -> IntArray:
    propensity = 1.0 + random.pareto(DEGREE_EXPONENT, size=len(labels))
    source = random.choice(len(labels), size=num_edges, p=propensity / propensity.sum())
    num_classes = int(labels.max()) + 1
    differs = random.random(num_edges) < mismatch
    shift = np.where(differs, random.integers(1, max(num_classes, 2), size=num_edges), 0)
    wanted = (labels[source] + shift) % num_classes
    target = _draw_members(random, labels, propensity, wanted)
    return np.stack([source, target], axis=1)


def _draw_members(
    random: np.random.Generator, labels: IntArray, propensity: npt.NDArray[np.float64], wanted: IntArray
) -> IntArray:
    target = np.empty(len(wanted), dtype=np.int64)
    for c in np.unique(wanted):
        members = np.flatnonzero(labels == c)
        weights = propensity[members] / propensity[members].sum()
        rows = wanted == c
        target[rows] = random.choice(members, size=int(rows.sum()), p=weights)
    return target
