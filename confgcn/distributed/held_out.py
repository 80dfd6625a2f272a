"""Divide the held-out labels of a graph in shards as they are divided in the whole graph."""

from __future__ import annotations

import torch
from torch import Tensor

from confgcn.data.held_out import HeldOutUse, divide
from confgcn.graph import Graph
from confgcn.training.group import Group


def choosing_nodes_of_shard(graph: Graph, use: HeldOutUse, group: Group) -> Tensor:
    """The validation nodes of this worker's shard that choose. All workers call this at the same time."""
    assert graph.shard is not None
    own = graph.shard.nodes[graph.validation]  # positions in the whole graph
    nodes, order = _of_all_workers(own, group).sort()
    labels = _of_all_workers(graph.labels[graph.validation], group)[order]
    return graph.validation[torch.isin(own, divide(nodes, labels, use).choosing)]


def _of_all_workers(values: Tensor, group: Group) -> Tensor:
    """The values (n,) of every worker, one after the other."""
    sizes = group.sum([len(values) if rank == group.rank else 0 for rank in range(group.size)])
    joined = values.new_zeros(int(sum(sizes)))
    first = int(sum(sizes[: group.rank]))
    joined[first : first + len(values)] = values
    group.sum_tensors([joined])
    return joined
