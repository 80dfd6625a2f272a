"""A graph of clusters, whose partition gives one of the graph itself. Edges are read in blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from confgcn.io.blocks import BLOCK, blocks_of_entries
from confgcn.sparse import SparseStructure

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class CoarseGraph:
    """Clusters as nodes.

    Shapes: ``cluster`` (N,): the cluster of each node; ``sizes`` (K,): its number of nodes; ``indptr`` (K + 1,) and
    ``indices``: the other clusters that each one has edges to; ``weights``: the number of these edges.
    """

    cluster: IntArray
    sizes: IntArray
    indptr: IntArray
    indices: IntArray
    weights: IntArray


def coarsen(adjacency: SparseStructure, *, largest: int, rounds: int) -> CoarseGraph:
    """The graph of clusters with about ``largest`` nodes at most."""
    cluster = clusters(adjacency, largest=largest, rounds=rounds)
    sizes = np.bincount(cluster)
    keys, weights = _pairs(adjacency, cluster, len(sizes))
    first, second = np.divmod(keys, len(sizes))
    indptr = np.searchsorted(first, np.arange(len(sizes) + 1))
    return CoarseGraph(cluster, sizes, indptr, second, weights)


def clusters(adjacency: SparseStructure, *, largest: int, rounds: int) -> IntArray:
    """The cluster of each node, (N,), from 0 (Meyerhenke, Sanders and Schulz: Partitioning complex networks via
    size-constrained clustering, SEA 2014).

    In every round each node joins the cluster with most of its neighbours among those with fewer than ``largest``
    nodes; ties are broken at random. All nodes of a block are moved at once, so a cluster can exceed ``largest``.
    Memory: one block and two numbers per node.
    """
    cluster, size = np.arange(adjacency.shape[0]), np.ones(adjacency.shape[0], dtype=np.int64)
    for _ in range(rounds):
        for rows in blocks_of_entries(adjacency.indptr.numpy()):
            nodes, joined = _choices(adjacency, rows, cluster, size, largest)
            np.subtract.at(size, cluster[nodes], 1)
            np.add.at(size, joined, 1)
            cluster[nodes] = joined
    return np.unique(cluster, return_inverse=True)[1]


def _choices(
    adjacency: SparseStructure, rows: slice, cluster: IntArray, size: IntArray, largest: int
) -> tuple[IntArray, IntArray]:
    """The nodes of these rows that change cluster, and their new clusters."""
    nodes, neighbours = _edges(adjacency, rows)
    keys, votes = np.unique(nodes * len(cluster) + cluster[neighbours], return_counts=True)
    nodes, candidate = np.divmod(keys, len(cluster))
    is_open = (size[candidate] < largest) | (candidate == cluster[nodes])
    score = np.where(is_open, votes + torch.rand(len(votes)).numpy() / 2, 0.0)
    order = np.lexsort((score, nodes))
    best = order[np.flatnonzero(np.diff(nodes[order], append=-1))]  # the last of each node
    moves = best[(score[best] > 0) & (candidate[best] != cluster[nodes[best]])]
    return nodes[moves], candidate[moves]


def _edges(adjacency: SparseStructure, rows: slice) -> tuple[IntArray, IntArray]:
    """Both ends of the edges into these rows, without self loops."""
    indptr = adjacency.indptr[rows.start : rows.stop + 1].numpy()
    targets = np.repeat(np.arange(rows.start, rows.stop), np.diff(indptr))
    sources = adjacency.indices[int(indptr[0]) : int(indptr[-1])].numpy()
    is_edge = sources != targets
    return targets[is_edge], sources[is_edge]


def _pairs(adjacency: SparseStructure, cluster: IntArray, count: int) -> tuple[IntArray, IntArray]:
    """Pairs of different clusters with edges between them, as one sorted number each, and the number of edges."""
    keys, weights = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for rows in blocks_of_entries(adjacency.indptr.numpy()):
        targets, sources = (cluster[ends] for ends in _edges(adjacency, rows))
        block_keys, counts = np.unique((targets * count + sources)[targets != sources], return_counts=True)
        keys.append(block_keys)
        weights.append(counts)
        if sum(map(len, keys[1:])) > max(BLOCK, len(keys[0])):  # merge rarely: each merge sorts all keys
            keys, weights = ([merged] for merged in _merged(keys, weights))
    return _merged(keys, weights)


def _merged(keys: list[IntArray], weights: list[IntArray]) -> tuple[IntArray, IntArray]:
    together = np.concatenate(keys)
    order = np.argsort(together, kind="stable")
    together = together[order]
    first = np.flatnonzero(np.diff(together, prepend=-1))
    return together[first], np.add.reduceat(np.concatenate(weights)[order], first) if len(first) else together
