"""What a prediction of some nodes depends on: the work that need not be done is not in it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from confgcn.ops import rows_at
from confgcn.sparse import SparseMatrix, SparseStructure, rows_of

# Where a layer reads nearly every node it takes all: a copy of nearly all edges saves no time and costs their memory.
NEARLY_ALL = 0.7


@dataclass(frozen=True, eq=False)
class Hop:
    """The edges that one layer reads.

    ``structure`` (targets, sources) is a part of the adjacency, numbered anew; ``edges`` says which of the field's
    edges its own are, None: all; ``own`` where each target stands among the sources, None: in the same place.
    """

    structure: SparseStructure
    edges: Tensor | None
    own: Tensor | None

    def pick(self, of_field: Tensor) -> Tensor:
        """What belongs to these edges, of a quantity of the field's edges."""
        return of_field if self.edges is None else of_field.index_select(0, self.edges)

    def targets(self, of_sources: Tensor) -> Tensor:
        """The rows of the targets, of a quantity of the sources."""
        return of_sources if self.own is None else rows_at(of_sources, self.own)


@dataclass(frozen=True, eq=False)
class ReceptiveField:
    """The rows of the features, and layer by layer the edges, that the prediction of ``nodes`` depends on.

    ``nodes`` None means all, ``edges`` None all edges of the adjacency. The last hop's targets are the nodes, the
    first hop's sources the rows of ``features``. Every node is its own neighbour, so the first hop holds all edges.
    A field of depth zero has no hops: the nodes' own features are all it reads.
    """

    nodes: Tensor | None
    edges: Tensor | None
    features: Tensor | SparseMatrix
    hops: tuple[Hop, ...]

    @classmethod
    def find(
        cls, adjacency: SparseStructure, features: Tensor | SparseMatrix, nodes: Tensor | None, *, depth: int
    ) -> ReceptiveField:
        """Walk back from the nodes, none of them named twice, one hop for every layer."""
        if nodes is not None and len(nodes.unique()) < len(nodes):
            raise ValueError("a prediction was asked for nodes of which some are named twice")
        hops: list[Hop] = []
        targets = nodes
        for _ in range(depth):
            hop, targets = _hop_into(adjacency, targets)
            hops.insert(0, hop)
        edges = hops[0].edges if hops else torch.empty(0, dtype=torch.long)
        numbered = (replace(hop, edges=_places_among(edges, hop.edges)) for hop in hops)
        return cls(nodes, edges, features if targets is None else rows_of(features, targets), tuple(numbered))

    def pick(self, of_edges: Tensor) -> Tensor:
        """What belongs to the field's edges, of a quantity of all edges."""
        return of_edges if self.edges is None else of_edges.index_select(0, self.edges)


def _hop_into(adjacency: SparseStructure, targets: Tensor | None) -> tuple[Hop, Tensor | None]:
    """The edges into the targets, and their sources: sorted, None for all."""
    if targets is None:
        return Hop(adjacency, None, None), None
    structure, edges = adjacency.at_rows(targets)
    sources = structure.indices.unique()
    if len(sources) > NEARLY_ALL * adjacency.shape[1]:
        return Hop(structure, edges, targets), None
    return Hop(structure.at_columns(sources), edges, torch.searchsorted(sources, targets)), sources


def _places_among(of_field: Tensor | None, edges: Tensor | None) -> Tensor | None:
    if of_field is None or edges is None:
        return edges
    return None if edges is of_field else torch.searchsorted(of_field, edges)
