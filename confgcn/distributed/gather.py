"""What the parts of a graph have come to, brought together in the first process; the others are given None."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import torch
from torch import Tensor

from confgcn.graph import Graph, Shard
from confgcn.models.base import AbstractMethod, Prediction
from confgcn.sparse import SparseStructure

ROWS = ("logits", "mu", "precision", "evidence")  # of a prediction: one for every node
INFLUENCE = "influence"  # one for every edge; distances, which have one too, are judged by nobody


class Collecting(Protocol):
    """Processes that hand the first one what they have."""

    def collect(self, *tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
        """To the first process what each of them gives, one after the other; to the others nothing."""


def whole_rows(rows: Tensor, shard: Shard, group: Collecting) -> Tensor | None:
    """The rows of all nodes, in the order of the whole."""
    whole = None
    for nodes, theirs in group.collect(shard.nodes, rows):
        whole = theirs.new_empty(shard.total_nodes, *rows.shape[1:]) if whole is None else whole
        whole[nodes] = theirs
    return whole


def whole_entries(
    values: Tensor, own: SparseStructure, shard: Shard, whole_adjacency: SparseStructure | None, group: Collecting
) -> Tensor | None:
    """The values of all edges, of which each process has those of its ``own`` adjacency; the first knows all edges."""
    whole = None
    for nodes, theirs in group.collect(shard.nodes, values[order_in_whole(own, shard)]):
        assert whole_adjacency is not None
        whole = theirs.new_empty(whole_adjacency.num_entries) if whole is None else whole
        whole[whole_adjacency.at_rows(nodes)[1]] = theirs
    return whole


def whole_weights(method: AbstractMethod, part: Graph, group: Collecting) -> dict[str, Tensor]:
    """The weights; in the first process with the rows of all nodes, in the others as they are."""
    assert part.shard is not None
    weights = dict(method.state_dict())
    for name in method.per_node:
        rows = whole_rows(weights[name], part.shard, group)
        weights[name] = weights[name] if rows is None else rows
    return weights


def whole_prediction(
    prediction: Prediction, part: Graph, whole_adjacency: SparseStructure | None, group: Collecting
) -> Prediction | None:
    """What is said of all nodes and edges."""
    assert part.shard is not None
    found: dict[str, Tensor | None] = {}
    for name in (*ROWS, INFLUENCE):
        values = getattr(prediction, name)
        if values is None:
            found[name] = None
        elif name in ROWS:
            found[name] = whole_rows(values, part.shard, group)
        else:
            found[name] = whole_entries(values, part.adjacency, part.shard, whole_adjacency, group)
    logits = found.pop("logits")
    return None if logits is None else Prediction(logits, **found)


def order_in_whole(own: SparseStructure, shard: Shard) -> Tensor:
    """The entries of a part's adjacency, row by row in the order that their sources have in the whole."""
    sources = torch.cat([shard.nodes, shard.halo_nodes])[own.indices]
    return own.rows.mul(shard.total_nodes).add_(sources).argsort()
