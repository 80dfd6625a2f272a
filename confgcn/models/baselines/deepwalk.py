"""DeepWalk: embeddings of nodes that occur near each other on random walks; features are not used."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import softplus

from confgcn.graph import Graph
from confgcn.graph.walks import random_walks
from confgcn.models.base import AbstractMethod, Prediction, Shape
from confgcn.models.prior import log_probabilities, reached_by_labels
from confgcn.models.ranges import Count, LearningRate, NonNegative, Width
from confgcn.ops import Linear

NUM_SHARED = 64  # negative nodes drawn per batch and shared by all its nodes
MIN_BATCHES = 8  # per pass over the nodes, so that a small graph has enough steps
NOISE_POWER = 0.75  # of a node's frequency: Mikolov and others 2013


class DeepWalk(AbstractMethod):
    r"""Perozzi, Al-Rfou, Skiena: DeepWalk, KDD 2014: skip-gram on random walks, then logistic regression.

    Embeddings e and contexts c minimise, over all positions i, j of a walk at most ``window`` apart,

    .. math:: - \log \sigma(e_i c_j) - k \, \mathrm{E}_{n \sim P} \log \sigma(- e_i c_n)

    Negative sampling (Mikolov and others 2013) replaces the hierarchical softmax of the authors' code. The embeddings
    are computed before the first epoch and then fixed; the epochs fit the regression. A node in a component without a
    label gets the prior (``confgcn.models.prior``).

    Args:
        walks_per_node, walk_length, window, embedding_dim: as in the paper.
        num_negatives: k.
        num_passes: number of times that new walks are drawn.
        batch_walks: largest number of walks in a step of the optimiser, which is Adam with ``embedding_rate``.
        weight_decay: on the regression's weights.

    Shapes: ``embedding`` (N, ``embedding_dim``), of mean zero and variance one in every column.
    """

    embedding: Tensor
    reached: Tensor

    def __init__(
        self,
        shape: Shape,
        *,
        walks_per_node: Count = 10,
        walk_length: Count = 40,
        window: Count = 5,
        embedding_dim: Width = 64,
        num_negatives: Count = 5,
        num_passes: Count = 1,
        batch_walks: Count = 256,
        embedding_rate: LearningRate = 0.02,
        weight_decay: NonNegative = 5e-4,
    ) -> None:
        super().__init__()
        self.walks_per_node, self.walk_length, self.window = walks_per_node, walk_length, window
        self.num_negatives, self.num_passes, self.batch_walks = num_negatives, num_passes, batch_walks
        self.embedding_rate = embedding_rate
        self.weight_decay = weight_decay
        self.register_buffer("embedding", torch.zeros(shape.num_nodes, embedding_dim))
        self.register_buffer("reached", torch.zeros(shape.num_nodes, dtype=torch.bool))
        self.output = Linear(embedding_dim, shape.num_classes)

    def forward(self, graph: Graph, nodes: Tensor | None = None) -> Prediction:
        rows = graph.node_rows
        scores = self.output(self.embedding[rows]).softmax(-1)
        return Prediction(log_probabilities(graph, scores, self.reached[rows]))

    def setup(self, graph: Graph) -> None:
        """Compute embeddings with standardised columns."""
        self.reached.copy_(reached_by_labels(graph))
        embedding = self.skip_gram(graph)
        deviation = embedding.std(0, correction=0).clamp(min=torch.finfo(embedding.dtype).tiny)
        self.embedding.copy_((embedding - embedding.mean(0)) / deviation)

    def skip_gram(self, graph: Graph) -> Tensor:
        """e of every node, (N, d)."""
        count, dim = self.embedding.shape
        embedding = torch.rand(count, dim).sub_(0.5).div_(dim).requires_grad_()  # e
        context = torch.zeros(count, dim, requires_grad=True)  # c
        optimiser = torch.optim.Adam([embedding, context], lr=self.embedding_rate)
        noise = graph.degrees.clamp(min=1).double().pow(NOISE_POWER)
        for _ in range(self.num_passes * self.walks_per_node):
            for starts in torch.randperm(count).split(min(self.batch_walks, -(-count // MIN_BATCHES))):
                walks = random_walks(graph.neighbours, starts, length=self.walk_length)
                negatives = torch.multinomial(noise, NUM_SHARED, replacement=True)
                optimiser.zero_grad()
                self.skip_gram_loss(embedding, context, walks, negatives).backward()
                optimiser.step()
        return embedding.detach()

    def skip_gram_loss(self, embedding: Tensor, context: Tensor, walks: Tensor, negatives: Tensor) -> Tensor:
        """The objective per position of these walks (walks, positions), with the nodes ``negatives`` (n,)."""
        positions = walks.shape[1]
        e = embedding.index_select(0, walks.reshape(-1)).view(*walks.shape, -1)  # (walks, positions, d)
        c = context.index_select(0, walks.reshape(-1)).view(*walks.shape, -1)
        gap = (torch.arange(positions)[:, None] - torch.arange(positions)).abs()
        is_near = (gap > 0) & (gap <= self.window)  # (positions, positions)
        near = (softplus(-e @ c.transpose(1, 2)) * is_near).sum()
        noise = softplus(e @ context.index_select(0, negatives).T).mean(-1)  # (walks, positions)
        return (near + self.num_negatives * (noise * is_near.sum(1)).sum()) / walks.numel()

    def parameter_groups(self) -> list[dict[str, Any]]:
        return [{"params": [self.output.weight], "weight_decay": self.weight_decay}, {"params": [self.output.bias]}]
