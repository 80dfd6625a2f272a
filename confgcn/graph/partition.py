"""Partitions of the nodes of a graph into subsets with few edges between them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
import torch
from scipy.cluster.vq import kmeans2
from scipy.sparse.linalg import ArpackError, eigsh
from torch import Tensor

from confgcn.exceptions import DivergedError, ResourceError
from confgcn.graph import Graph
from confgcn.graph.coarsening import IntArray, coarsen

MAX_ENTRIES = 2**22  # of an adjacency that METIS gets as it is; a larger one is coarsened first
CLUSTERS_PER_SUBSET, ROUNDS = 500, 5  # enough clusters for METIS to balance the subsets

Partition = Literal["flood_fill", "metis", "spectral"]


def partition(graph: Graph, how: Partition, num_subsets: int) -> Tensor:
    """The subset of each node, (N,), from 0 to ``num_subsets`` - 1; with fewer nodes, each is its own subset."""
    if num_subsets >= graph.num_nodes:
        return torch.arange(graph.num_nodes)
    if num_subsets == 1:
        return torch.zeros(graph.num_nodes, dtype=torch.long)
    return PARTITIONS[how](graph, num_subsets)


def flood_fill(graph: Graph, num_subsets: int) -> Tensor:
    """Subsets that grow from training nodes, drawn in proportion to their degree (Liao and others 2018).

    In every round each subset, in random order, adds the unassigned neighbours of the first node in its queue. Nodes
    that no subset reaches are added to the smallest. Without enough training nodes the other seeds are drawn from all
    nodes.
    """
    subset = np.full(graph.num_nodes, -1)
    queues = [deque([seed]) for seed in _seeds(graph, num_subsets)]
    for number, queue in enumerate(queues):
        subset[queue[0]] = number
    indptr, indices = (t.numpy() for t in (graph.neighbours.indptr, graph.neighbours.indices))
    while any(queues):
        for number in torch.randperm(num_subsets).tolist():
            if queues[number]:
                node = queues[number].popleft()
                unassigned = indices[indptr[node] : indptr[node + 1]]
                unassigned = unassigned[subset[unassigned] < 0]
                subset[unassigned] = number
                queues[number].extend(unassigned.tolist())
    sizes = np.bincount(subset[subset >= 0], minlength=num_subsets)
    for node in np.flatnonzero(subset < 0):
        subset[node] = sizes.argmin()
        sizes[subset[node]] += 1
    return torch.from_numpy(subset)


def metis(graph: Graph, num_subsets: int) -> Tensor:
    """Subsets of nearly equal size with few edges between them (Karypis and Kumar 1998).

    METIS needs many times the memory of the graph, so a large graph is coarsened first.
    """
    if graph.adjacency.num_entries <= MAX_ENTRIES:
        neighbours = graph.neighbours
        return _by_metis(num_subsets, neighbours.indptr.numpy(), neighbours.indices.numpy())
    largest = max(1, graph.num_nodes // (num_subsets * CLUSTERS_PER_SUBSET))
    coarse = coarsen(graph.adjacency, largest=largest, rounds=ROUNDS)
    subset = _by_metis(num_subsets, coarse.indptr, coarse.indices, sizes=coarse.sizes, weights=coarse.weights)
    return subset[torch.from_numpy(coarse.cluster)]


def _by_metis(
    num_subsets: int, indptr: IntArray, indices: IntArray, *, sizes: Any = None, weights: Any = None
) -> Tensor:
    """``sizes`` (N,) of the nodes and ``weights`` (E,) of the edges are all one unless given."""
    try:
        import pymetis
    except ImportError:
        raise ResourceError("this partition needs METIS: pip install 'confgcn[partition]'") from None
    edges, options = pymetis.CSRAdjacency(indptr, indices), pymetis.Options(seed=_draw_seed())
    _, subset = pymetis.part_graph(num_subsets, adjacency=edges, vweights=sizes, eweights=weights, options=options)
    return torch.tensor(subset)


def spectral(graph: Graph, num_subsets: int) -> Tensor:
    """k-means on the rows of the first eigenvectors of the normalised Laplacian (Shi and Malik 2000).

    They are the eigenvectors of the largest eigenvalues of :math:`D^{-1/2} W D^{-1/2}`, times :math:`D^{-1/2}`.
    Without edges node i is in subset i modulo ``num_subsets``.
    """
    if not graph.neighbours.num_entries:
        return torch.arange(graph.num_nodes) % num_subsets
    root = sp.diags_array(graph.degrees.clamp(min=1).double().rsqrt().numpy())
    weights = root @ graph.neighbours.with_ones().to_scipy() @ root
    start = torch.rand(graph.num_nodes, dtype=torch.double).numpy()
    try:
        _, vectors = eigsh(weights, k=num_subsets, which="LA", v0=start, rng=_draw_seed())
    except ArpackError as error:
        raise DivergedError(
            f"{graph.name}: no spectral partition was found ({error}); try flood_fill or metis"
        ) from None
    _, subset = kmeans2(root @ vectors, num_subsets, minit="++", missing="warn", rng=_draw_seed())
    return torch.from_numpy(subset).long()


PARTITIONS: dict[str, Callable[[Graph, int], Tensor]] = {
    "flood_fill": flood_fill,
    "metis": metis,
    "spectral": spectral,
}


def _seeds(graph: Graph, num_subsets: int) -> list[int]:
    """Distinct nodes, as many training nodes as possible."""
    degrees = graph.degrees.double() + 1e-9  # so that isolated nodes are drawn when no others are left
    seeds: list[int] = []
    is_candidate = torch.zeros(graph.num_nodes, dtype=torch.bool)
    is_candidate[graph.train] = True
    for candidates in (is_candidate, ~is_candidate):
        count = min(num_subsets - len(seeds), int(candidates.sum()))
        if count:
            seeds += torch.multinomial(degrees * candidates, count).tolist()
    return seeds


def _draw_seed() -> int:
    """A seed for a library with its own random generator."""
    return int(torch.randint(2**31 - 1, ()))
