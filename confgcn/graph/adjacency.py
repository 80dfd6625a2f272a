"""Edge lists as a symmetric adjacency with one self loop per node."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from confgcn.exceptions import DataError
from confgcn.graph.validation import IntArray
from confgcn.sparse import SparseStructure


@dataclass(frozen=True)
class EdgeCounts:
    """Contents of an edge list before it was made simple and symmetric."""

    listed: int  # entries of the list
    duplicates: int  # entries that repeat an earlier one
    loops: int  # nodes with a self loop
    one_way: int  # edges listed in one direction only
    unique: int  # undirected edges without self loops


def symmetric_adjacency(pairs: IntArray, num_nodes: int) -> tuple[SparseStructure, EdgeCounts]:
    """Both directions of every edge, each once, and one self loop per node, sorted by target then source."""
    source, target = pairs[:, 0], pairs[:, 1]
    listed = distinct(target * num_nodes + source)
    is_loop = listed // num_nodes == listed % num_nodes
    forward = listed[~is_loop]
    backward = (forward % num_nodes) * num_nodes + forward // num_nodes
    both = distinct(np.concatenate([forward, backward]))
    loops = np.arange(num_nodes, dtype=np.int64) * (num_nodes + 1)
    keys = np.sort(np.concatenate([both, loops]))
    counts = EdgeCounts(
        listed=len(pairs),
        duplicates=len(pairs) - len(listed),
        loops=int(is_loop.sum()),
        one_way=len(both) - len(forward),
        unique=len(both) // 2,
    )
    indptr = np.searchsorted(keys, np.arange(num_nodes + 1, dtype=np.int64) * num_nodes)
    structure = SparseStructure(
        torch.from_numpy(indptr.astype(np.int64)),
        torch.from_numpy(keys % num_nodes),
        (num_nodes, num_nodes),
    )
    return structure, counts


def symmetric_weights(adjacency: SparseStructure, pairs: IntArray, weights: npt.NDArray[np.float32]) -> Tensor:
    """The weight of every entry of :func:`symmetric_adjacency`, (E,), from those of the listed edges (M,).

    Both directions of an edge have its weight; every self loop has weight one, whatever is listed. An edge that is
    listed more than once must have the same weight each time.
    """
    num_nodes = adjacency.shape[0]
    keys = adjacency.rows.numpy() * num_nodes + adjacency.indices.numpy()
    is_edge = pairs[:, 0] != pairs[:, 1]
    (source, target), given = pairs[is_edge].T, weights[is_edge]
    of_entries = np.ones(len(keys), dtype=np.float32)
    both = [np.searchsorted(keys, one * num_nodes + other) for one, other in ((target, source), (source, target))]
    for entries in both:
        of_entries[entries] = given
    differs = (of_entries[both[0]] != given) | (of_entries[both[1]] != given)
    if differs.any():
        row = int(np.argmax(differs))
        raise DataError(
            f"edge_weight: nodes {source[row]} and {target[row]} are listed with weights {given[row]:g} and "
            f"{of_entries[both[0][row]]:g}; list an edge once, or with the same weight"
        )
    return torch.from_numpy(of_entries)


def distinct(keys: IntArray) -> IntArray:
    """Sorted values without repetition; sorting is several times as fast as ``numpy.unique``, which hashes."""
    ordered = np.sort(keys)
    return ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])] if len(ordered) else ordered
