"""What an epoch trains on: the whole graph, or samples of it in which every node is counted once."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from confgcn.exceptions import UsageError
from confgcn.graph import Graph
from confgcn.graph.sampling import NeighbourSampler
from confgcn.models.base import AbstractMethod
from confgcn.training.recipe import Recipe


class Batches:
    r"""The graph itself or, with a ``batch_size``, about so many of its nodes at a time with their neighbourhoods.

    Training nodes and others are assigned to batches separately, in a new random order every epoch, so that every
    batch has its share of labels. Each node is in one of K batches, so the terms of a batch times K are on average
    those of all nodes:

    .. math:: \sum_{v \in V} l_v = \frac{1}{K} \sum_{k=1}^{K} \Big( K \sum_{v \in B_k} l_v \Big)
    """

    def __init__(self, graph: Graph, method: AbstractMethod, recipe: Recipe) -> None:
        self.graph, self.on_cpu = graph, graph.to("cpu")  # samples are drawn on the CPU
        self.count = 1 if recipe.batch_size is None else math.ceil(graph.num_nodes / recipe.batch_size)
        self.sampler = None
        if recipe.batch_size is not None:
            self.sampler = NeighbourSampler(self.on_cpu, fanout=recipe.fanout, depth=method.reach)

    def __iter__(self) -> Iterator[Graph]:
        if self.sampler is None:
            yield self.graph
            return
        for nodes in self._nodes_of_batches():
            yield self.sampler.draw(nodes).to(self.graph.device)

    def _nodes_of_batches(self) -> list[Tensor]:
        """All nodes, divided into batches; the first batches get the remaining training nodes."""
        is_other = torch.ones(self.on_cpu.num_nodes, dtype=torch.bool).index_fill_(0, self.on_cpu.train, False)
        train, others = (_shuffled(nodes) for nodes in (self.on_cpu.train, is_other.nonzero().squeeze(1)))
        return [
            torch.cat([train[batch :: self.count], others[self.count - 1 - batch :: self.count]]).sort().values
            for batch in range(self.count)
        ]


def check_batches(method: type[AbstractMethod], recipe: Recipe, *, in_shards: bool = False) -> None:
    """Raise unless the method can be trained on samples; several workers cannot use them."""
    if recipe.batch_size is None:
        return
    if not method.supports_samples:
        raise UsageError(
            f"batch_size = {recipe.batch_size}: {method.__name__} can only be trained on the whole graph; "
            "leave batch_size out"
        )
    if in_shards:
        raise UsageError(
            f"batch_size = {recipe.batch_size}: several workers train on the whole graph, a shard each; "
            "leave out batch_size or --workers"
        )


def _shuffled(nodes: Tensor) -> Tensor:
    return nodes[torch.randperm(len(nodes))]
