"""Features computed from the edges: degree, position, identity.

Their names say how they are computed, so that new nodes get the same columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from confgcn.exceptions import unknown_name
from confgcn.sparse import SparseStructure

Structural = Literal["degree", "positional", "identity"]
KINDS: tuple[str, ...] = get_args(Structural)

DEGREE, POSITION, IDENTITY = "graph:degree", "graph:near ", "graph:is "  # the last two are followed by a node's name
NUM_LANDMARKS = 128
WALK_LENGTH = 10  # about the distance over which labels are informative on citation graphs


def check_structural(kinds: Sequence[str]) -> None:
    """Refuse unknown kinds of features."""
    for kind in kinds:
        if kind not in KINDS:
            raise unknown_name("kind of features", kind, KINDS)


def is_structural(name: str) -> bool:
    """Whether a column of that name is computed from the edges."""
    return name == DEGREE or name.startswith((POSITION, IDENTITY))


def structural_names(adjacency: SparseStructure, nodes: Sequence[str], kinds: Sequence[str]) -> list[str]:
    """The names of the columns of these kinds, for an adjacency with self loops."""
    check_structural(kinds)
    names = [DEGREE] if "degree" in kinds else []
    if "positional" in kinds:
        names += [POSITION + nodes[landmark] for landmark in _landmarks(adjacency)]
    return names + ([IDENTITY + node for node in nodes] if "identity" in kinds else [])


def structural_features(adjacency: SparseStructure, nodes: Sequence[str], names: Sequence[str]) -> sp.csr_matrix:
    r"""The columns of these names, in their order, (N, F).

    The degree d is given as log(1 + d). The position of a node is the share of steps in which a random walk from it is
    at each landmark, :math:`\frac{1}{K} \sum_{i=1}^K P^i`, where P is a uniform step to a neighbour or to itself.
    """
    place = {node: position for position, node in enumerate(nodes)}
    degree, near, own = ([name for name in names if name.startswith(kind)] for kind in (DEGREE, POSITION, IDENTITY))
    landmarks = _indicators([place.get(name.removeprefix(POSITION)) for name in near], len(nodes))
    columns = [
        np.tile(np.log1p(np.diff(adjacency.indptr.numpy()) - 1)[:, None], len(degree)),
        _visits(adjacency, landmarks.toarray()),
        _indicators([place.get(name.removeprefix(IDENTITY)) for name in own], len(nodes)),
    ]
    computed = {name: column for column, name in enumerate((*degree, *near, *own))}
    joined = sp.hstack([sp.csr_matrix(column) for column in columns]).tocsr()
    return sp.csr_matrix(joined[:, [computed[name] for name in names]], dtype=np.float32)


def _landmarks(adjacency: SparseStructure) -> list[int]:
    """The nodes of highest degree of which no two are neighbours; ties by position."""
    degrees = np.diff(adjacency.indptr.numpy())
    free = np.ones(len(degrees), dtype=bool)
    chosen: list[int] = []
    for node in np.argsort(-degrees, kind="stable").tolist():
        if len(chosen) == NUM_LANDMARKS:
            break
        if free[node]:
            chosen.append(node)
            free[adjacency.indices[adjacency.indptr[node] : adjacency.indptr[node + 1]].numpy()] = False
    return chosen


def _indicators(places: Sequence[int | None], num_nodes: int) -> sp.csr_matrix:
    """A one in each column, in the row of its place; a column without a place is all zero."""
    entries = [(place, column) for column, place in enumerate(places) if place is not None]
    rows, columns = zip(*entries, strict=True) if entries else ((), ())
    return sp.csr_matrix((np.ones(len(entries)), (rows, columns)), shape=(num_nodes, len(places)))


def _visits(adjacency: SparseStructure, start: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    matrix = adjacency.with_ones().to_scipy()
    step = sp.diags_array(1.0 / np.diff(matrix.indptr)) @ matrix
    total, here = np.zeros_like(start), start
    for _ in range(WALK_LENGTH):
        here = step @ here
        total += here
    return total / WALK_LENGTH
