"""The fingerprint of a graph: equal for the same graph, different for any other."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from confgcn.io.blocks import blocks_of_rows
from confgcn.sparse import SparseMatrix

if TYPE_CHECKING:
    from confgcn.graph.graph import Graph

NAME_LENGTH = 16  # typical number of characters of a node name: sets the size of the blocks that are hashed


def fingerprint_of(graph: Graph) -> str:
    """SHA-256 over everything a result can depend on."""
    features, structure = graph.features, []
    if isinstance(features, SparseMatrix):
        structure = [features.structure.indptr, features.structure.indices]
        features = features.values
    tensors = [graph.adjacency.indptr, graph.adjacency.indices, features, graph.labels, *structure]
    tensors += [graph.train, graph.validation, graph.test, graph.node_ids]
    tensors += [] if graph.edge_weight is None else [graph.edge_weight]
    digest = hashlib.sha256(f"({bool(structure)}, ".encode())
    for piece in _repr_of_tuple(graph.node_names):
        digest.update(piece.encode())
    digest.update(f", {graph.class_names!r})".encode())
    for tensor in tensors:
        digest.update(repr((tuple(tensor.shape), tensor.dtype)).encode())
        digest.update(tensor.cpu().contiguous().view(-1).numpy().data)
    return digest.hexdigest()


def _repr_of_tuple(texts: Sequence[str]) -> Iterator[str]:
    """``repr(tuple(texts))`` in pieces: as one text it may be larger than memory."""
    yield "("
    for block in blocks_of_rows(len(texts), width=NAME_LENGTH):
        yield ("" if block.start == 0 else ", ") + ", ".join(map(repr, texts[block]))
    yield ",)" if len(texts) == 1 else ")"
