"""The features and edges that a prediction of some nodes depends on, so that a layer computes nothing else."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from confgcn.sparse import SparseMatrix, SparseStructure, rows_of

# A layer that reads a larger share of the nodes reads all: a copy of nearly all edges saves no time and costs memory.
NEARLY_ALL = 0.7


@dataclass(frozen=True, eq=False)
class Hop:
    """The edges that one layer reads.

    ``structure`` (targets, sources) holds some rows and columns of the adjacency; ``edges``: positions of its entries
    among the field's edges, None: all; ``own``: position of each target among the sources, None: the same.
    """

    structure: SparseStructure
    edges: Tensor | None
    own: Tensor | None

    def to(self, device: torch.device) -> Hop:
        """The same hop on this device."""
        return Hop(self.structure.to(device), _moved(self.edges, device), _moved(self.own, device))

    def pick(self, of_field: Tensor) -> Tensor:
        """The values at this hop's edges, from values at the field's edges."""
        return of_field if self.edges is None else of_field.index_select(0, self.edges)

    def targets(self, from_sources: Tensor) -> Tensor:
        """The rows of the targets, from rows of the sources."""
        return from_sources if self.own is None else from_sources.index_select(0, self.own)


@dataclass(frozen=True, eq=False)
class ReceptiveField:
    """The rows of the features, and the edges of each layer, that the prediction of ``nodes`` depends on.

    ``nodes`` None means all nodes, ``edges`` None all edges of the adjacency. The targets of the last hop are
    ``nodes``; the sources of the first hop are the rows of ``features``. Every node is its own neighbour, so the first
    hop holds the edges of all hops. A field of depth zero has no hops and the features of ``nodes``.
    """

    nodes: Tensor | None
    edges: Tensor | None
    features: Tensor | SparseMatrix
    hops: tuple[Hop, ...]

    @classmethod
    def find(
        cls, adjacency: SparseStructure, features: Tensor | SparseMatrix, nodes: Tensor | None, *, depth: int
    ) -> ReceptiveField:
        """Follow the edges back from distinct nodes, one hop per layer."""
        if nodes is not None and len(nodes.unique()) < len(nodes):
            raise ValueError("nodes to predict must be distinct: some occur twice")
        hops: list[Hop] = []
        targets = nodes
        for _ in range(depth):
            hop, targets = _hop_into(adjacency, targets)
            hops.insert(0, hop)
        edges = hops[0].edges if hops else torch.empty(0, dtype=torch.long, device=adjacency.device)
        numbered = (replace(hop, edges=_places_among(edges, hop.edges)) for hop in hops)
        return cls(nodes, edges, features if targets is None else rows_of(features, targets), tuple(numbered))

    def pick(self, of_edges: Tensor) -> Tensor:
        """The values at the field's edges, from values at all edges."""
        return of_edges if self.edges is None else of_edges.index_select(0, self.edges)


def _hop_into(adjacency: SparseStructure, targets: Tensor | None) -> tuple[Hop, Tensor | None]:
    """The edges into the targets, and their sources, sorted (None: all)."""
    if targets is None:
        return Hop(adjacency, None, None), None
    structure, edges = adjacency.at_rows(targets)
    sources = structure.indices.unique()
    if len(sources) > NEARLY_ALL * adjacency.shape[1]:
        return Hop(structure, edges, targets), None
    return Hop(structure.at_columns(sources), edges, torch.searchsorted(sources, targets)), sources


def _moved(tensor: Tensor | None, device: torch.device) -> Tensor | None:
    return None if tensor is None else tensor.to(device)


def _places_among(of_field: Tensor | None, edges: Tensor | None) -> Tensor | None:
    if of_field is None or edges is None:
        return edges
    return None if edges is of_field else torch.searchsorted(of_field, edges)
