"""How one shard of a graph relates to the whole graph, whose other shards are held by other processes."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from confgcn.ops import Halo


@dataclass(frozen=True, eq=False)
class Shard:
    """Where the rows and columns of a shard lie in the whole graph, which has ``total_nodes`` nodes.

    Shapes: ``nodes`` (N,), sorted: positions of the shard's own nodes; ``halo_nodes`` (H,): positions of the nodes
    of other shards with edges into it, in the order of its last H columns.
    """

    halo: Halo
    nodes: Tensor
    halo_nodes: Tensor
    total_nodes: int
