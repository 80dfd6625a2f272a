"""What an epoch takes its steps on: the whole graph, or samples of it in which every node is counted once."""

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
    r"""The graph itself, or where the recipe has a ``batch_size`` about so many of its nodes at a time, with context.

    Training nodes and others are dealt out separately, in a new order every epoch, so that every batch has its share
    of labels. Each node is in one of K batches, so the terms of a batch times K are on average those of all nodes:

    .. math:: \sum_{v \in V} l_v = \frac{1}{K} \sum_{k=1}^{K} \Big( K \sum_{v \in B_k} l_v \Big)
    """

    def __init__(self, graph: Graph, method: AbstractMethod, recipe: Recipe) -> None:
        self.graph = graph
        self.count = 1 if recipe.batch_size is None else math.ceil(graph.num_nodes / recipe.batch_size)
        self.sampler = None
        if recipe.batch_size is not None:
            self.sampler = NeighbourSampler(graph, fanout=recipe.fanout, depth=method.reach)

    def __iter__(self) -> Iterator[Graph]:
        if self.sampler is None:
            yield self.graph
            return
        for nodes in self._dealt():
            yield self.sampler.draw(nodes)

    def _dealt(self) -> list[Tensor]:
        """All nodes, in as many hands as there are batches; the first hands get the odd training nodes."""
        is_other = torch.ones(self.graph.num_nodes, dtype=torch.bool).index_fill_(0, self.graph.train, False)
        train, others = (_shuffled(nodes) for nodes in (self.graph.train, is_other.nonzero().squeeze(1)))
        return [
            torch.cat([train[hand :: self.count], others[self.count - 1 - hand :: self.count]]).sort().values
            for hand in range(self.count)
        ]


def check_batches(method: type[AbstractMethod], recipe: Recipe, *, in_parts: bool = False) -> None:
    """Training on samples is for methods that know of them, and for one process."""
    if recipe.batch_size is None:
        return
    if not method.supports_samples:
        raise UsageError(
            f"batch_size = {recipe.batch_size}: {method.__name__} can only be trained on the whole graph; "
            "leave batch_size out"
        )
    if in_parts:
        raise UsageError(
            f"batch_size = {recipe.batch_size}: several workers train on the whole graph, a part each; "
            "leave out batch_size or --workers"
        )


def _shuffled(nodes: Tensor) -> Tensor:
    return nodes[torch.randperm(len(nodes))]
