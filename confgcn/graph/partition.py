"""Cut the nodes of a graph into parts."""

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

MOST_ENTRIES = 2**22  # of an adjacency that is given to METIS as it is
CLUSTERS_PER_PART, ROUNDS = 500, 5  # of a larger one: at least so many, which leaves METIS room to balance the parts

Partition = Literal["flood_fill", "metis", "spectral"]


def partition(graph: Graph, how: Partition, num_parts: int) -> Tensor:
    """The part of each node, (N,), from 0 to ``num_parts`` - 1; where there are fewer nodes, each is a part."""
    if num_parts >= graph.num_nodes:
        return torch.arange(graph.num_nodes)
    if num_parts == 1:
        return torch.zeros(graph.num_nodes, dtype=torch.long)
    return PARTITIONS[how](graph, num_parts)


def flood_fill(graph: Graph, num_parts: int) -> Tensor:
    """Grow the parts from training nodes, drawn by degree (Liao and others 2018).

    The parts take turns, in a new random order in every round: each claims the unclaimed neighbours of the node it
    has held longest. Nodes that no part comes to go to the part that is then smallest. Without enough training
    nodes the other seeds are drawn from all nodes.
    """
    part = np.full(graph.num_nodes, -1)
    queues = [deque([seed]) for seed in _seeds(graph, num_parts)]
    for number, queue in enumerate(queues):
        part[queue[0]] = number
    indptr, indices = (t.numpy() for t in (graph.neighbours.indptr, graph.neighbours.indices))
    while any(queues):
        for number in torch.randperm(num_parts).tolist():
            if queues[number]:
                node = queues[number].popleft()
                found = indices[indptr[node] : indptr[node + 1]]
                found = found[part[found] < 0]
                part[found] = number
                queues[number].extend(found.tolist())
    sizes = np.bincount(part[part >= 0], minlength=num_parts)
    for node in np.flatnonzero(part < 0):
        part[node] = sizes.argmin()
        sizes[part[node]] += 1
    return torch.from_numpy(part)


def metis(graph: Graph, num_parts: int) -> Tensor:
    """Parts of nearly equal size with few edges between them (Karypis and Kumar 1998).

    METIS holds a graph many times over: of a large one it is given the clusters.
    """
    if graph.adjacency.num_entries <= MOST_ENTRIES:
        neighbours = graph.neighbours
        return _by_metis(num_parts, neighbours.indptr.numpy(), neighbours.indices.numpy())
    largest = max(1, graph.num_nodes // (num_parts * CLUSTERS_PER_PART))
    coarse = coarsen(graph.adjacency, largest=largest, rounds=ROUNDS)
    parts = _by_metis(num_parts, coarse.indptr, coarse.indices, sizes=coarse.sizes, weights=coarse.weights)
    return parts[torch.from_numpy(coarse.cluster)]


def _by_metis(num_parts: int, indptr: IntArray, indices: IntArray, *, sizes: Any = None, weights: Any = None) -> Tensor:
    """With the size of every node and the weight of every edge, (N,) and (E,), where they are not all the same."""
    try:
        import pymetis
    except ImportError:
        raise ResourceError("this partition needs METIS: pip install 'confgcn[partition]'") from None
    edges, options = pymetis.CSRAdjacency(indptr, indices), pymetis.Options(seed=_draw_seed())
    _, part = pymetis.part_graph(num_parts, adjacency=edges, vweights=sizes, eweights=weights, options=options)
    return torch.tensor(part)


def spectral(graph: Graph, num_parts: int) -> Tensor:
    """k-means on the rows of the first eigenvectors of the normalised Laplacian (Shi and Malik 2000).

    They are those of the largest eigenvalues of :math:`D^{-1/2} W D^{-1/2}`, times :math:`D^{-1/2}`. Without edges
    the nodes are dealt out.
    """
    if not graph.neighbours.num_entries:
        return torch.arange(graph.num_nodes) % num_parts
    root = sp.diags_array(graph.degrees.clamp(min=1).double().rsqrt().numpy())
    weights = root @ graph.neighbours.with_ones().to_scipy() @ root
    start = torch.rand(graph.num_nodes, dtype=torch.double).numpy()
    try:
        _, vectors = eigsh(weights, k=num_parts, which="LA", v0=start, rng=_draw_seed())
    except ArpackError as error:
        raise DivergedError(f"{graph.name}: no spectral partition was found ({error}); try another") from None
    _, part = kmeans2(root @ vectors, num_parts, minit="++", missing="warn", rng=_draw_seed())
    return torch.from_numpy(part).long()


PARTITIONS: dict[str, Callable[[Graph, int], Tensor]] = {
    "flood_fill": flood_fill,
    "metis": metis,
    "spectral": spectral,
}


def _seeds(graph: Graph, num_parts: int) -> list[int]:
    """Different nodes, as many as possible of them training nodes."""
    degrees = graph.degrees.double() + 1e-9  # an isolated node is drawn when there is no other
    seeds: list[int] = []
    is_candidate = torch.zeros(graph.num_nodes, dtype=torch.bool)
    is_candidate[graph.train] = True
    for candidates in (is_candidate, ~is_candidate):
        count = min(num_parts - len(seeds), int(candidates.sum()))
        if count:
            seeds += torch.multinomial(degrees * candidates, count).tolist()
    return seeds


def _draw_seed() -> int:
    """For a library with a stream of its own."""
    return int(torch.randint(2**31 - 1, ()))
