"""Planetoid: embeddings that predict the label of a node and its context, in the graph and in its class."""

from __future__ import annotations

from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional

from confgcn.exceptions import check_choice
from confgcn.graph import Graph
from confgcn.graph.walks import context_pairs, random_walks, with_negatives
from confgcn.models.base import AbstractMethod, LossTerm, Prediction, Shape
from confgcn.models.ranges import Count, NonNegative, Share, WholeNumber, Width
from confgcn.ops import Linear
from confgcn.sparse import rows_of

Variant = Literal["transductive", "inductive"]


class Planetoid(AbstractMethod):
    r"""Yang, Cohen, Salakhutdinov: Revisiting semi-supervised learning with graph embeddings, ICML 2016.

    With an embedding e of every node, its own (transductive) or of its features, :math:`\max(x W + b, 0)` (inductive):

    .. math:: p_x = \mathrm{softmax}(x W_x + b_x), \quad p_e = \mathrm{softmax}(e W_e + b_e), \quad
              p = \mathrm{softmax}([p_x; p_e] W_p + b_p)

    and contexts c, :math:`- \log \sigma(\pm e_i c_j)` summed over pairs that are drawn in every step. Positive graph
    pairs are near each other on a walk; for each there are ``num_negatives`` pairs of its first node with random nodes.
    Positive label pairs are training nodes of one class; for each there are as many pairs with nodes of other classes.

    A step is one of the authors' batches: the first ``label_steps`` use label pairs, the next ``graph_steps`` graph
    pairs, all others the labels (the cross-entropies of p, p_x and p_e) and, with probability ``graph_share``, also
    graph pairs. The inductive variant has no pairs with test nodes.

    Args:
        variant: ``transductive`` or ``inductive``.
        batch_nodes: walks of ``walk_length`` steps in a batch of graph pairs, within ``window`` steps of each other.
        batch_pairs: label pairs in a batch.
        context_weight: the weight of the sum over pairs; with plain gradient descent, the ratio of their learning rate
            to that of the labels.
    """

    step: Tensor

    def __init__(
        self,
        shape: Shape,
        *,
        variant: Variant = "transductive",
        embedding_dim: Width = 50,
        label_steps: WholeNumber = 2000,
        graph_steps: WholeNumber = 70,
        graph_share: Share = 0.0,
        batch_nodes: Count = 200,
        batch_pairs: Count = 200,
        walk_length: Count = 10,
        window: Count = 3,
        num_negatives: Count = 5,
        context_weight: NonNegative = 0.1,
        weight_decay: NonNegative = 0.0,
    ) -> None:
        super().__init__()
        check_choice("variant", variant, get_args(Variant))
        self.label_steps, self.graph_steps, self.graph_share = label_steps, graph_steps, graph_share
        self.batch_nodes, self.batch_pairs = batch_nodes, batch_pairs
        self.walk_length, self.window, self.num_negatives = walk_length, window, num_negatives
        self.context_weight, self.weight_decay = context_weight, weight_decay
        self.is_inductive = variant == "inductive"
        self.register_buffer("step", torch.zeros((), dtype=torch.long))
        if self.is_inductive:
            self.encoder = Linear(shape.num_features, embedding_dim)
        else:
            self.embedding = nn.Parameter(nn.init.xavier_uniform_(torch.empty(shape.num_nodes, embedding_dim)))
        self.context = nn.Parameter(nn.init.xavier_uniform_(torch.empty(shape.num_nodes, embedding_dim)))
        self.of_features = Linear(shape.num_features, shape.num_classes)
        self.of_embedding = Linear(embedding_dim, shape.num_classes)
        self.output = Linear(2 * shape.num_classes, shape.num_classes)

    def forward(self, graph: Graph, nodes: Tensor | None = None) -> Prediction:
        return Prediction(self.heads(graph, nodes)[0], nodes=nodes)

    def heads(self, graph: Graph, nodes: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """The logits of p, p_x and p_e, each (n, C)."""
        features = graph.receptive_field(nodes, depth=0).features
        chosen = torch.arange(graph.num_nodes, device=graph.device) if nodes is None else nodes
        of_features, of_embedding = self.of_features(features), self.of_embedding(self.embed(graph, chosen))
        return self.output(of_features.softmax(-1), of_embedding.softmax(-1)), of_features, of_embedding

    def embed(self, graph: Graph, nodes: Tensor) -> Tensor:
        """e of these nodes, which may repeat, (n, d)."""
        if self.is_inductive:
            return functional.relu(self.encoder(rows_of(graph.features, nodes)))
        return self.embedding.index_select(0, graph.node_ids[nodes])

    def loss_terms(self, graph: Graph, prediction: Prediction) -> dict[str, LossTerm]:
        self.step += 1
        if self.step <= self.label_steps:
            return {"label_pairs": self.context_loss(graph, *self.label_pairs(graph))}
        if self.step <= self.label_steps + self.graph_steps:
            return {"graph_pairs": self.context_loss(graph, *self.graph_pairs(graph))}
        heads = zip(("cross", "cross_features", "cross_embedding"), self.heads(graph, graph.train), strict=True)
        losses = {name: functional.cross_entropy(h, graph.train_labels, reduction="sum") for name, h in heads}
        terms = {name: LossTerm(loss, len(graph.train)) for name, loss in losses.items()}
        if torch.rand(()) < self.graph_share:
            terms["graph_pairs"] = self.context_loss(graph, *self.graph_pairs(graph))
        return terms

    def context_loss(self, graph: Graph, centre: Tensor, other: Tensor, sign: Tensor) -> LossTerm:
        """The term of these pairs and their signs, (pairs,) each."""
        nodes, place = centre.unique(return_inverse=True)
        embedding = self.embed(graph, nodes).index_select(0, place)
        scores = (embedding * self.context.index_select(0, graph.node_ids[other])).sum(1)
        return LossTerm(functional.softplus(-sign * scores).sum(), weight=self.context_weight)

    def label_pairs(self, graph: Graph) -> tuple[Tensor, Tensor, Tensor]:
        """Pairs of training nodes: of one class with sign +1, ``num_negatives`` times as many of two with sign -1."""
        labels, order = graph.train_labels.sort()
        nodes, sizes = graph.train[order], labels.bincount(minlength=graph.num_classes)
        place = torch.randint(len(nodes), (self.batch_pairs,)).to(graph.device).repeat(1 + self.num_negatives)
        size = sizes[labels[place]]
        start = (sizes.cumsum(0) - sizes)[labels[place]]  # of the class in the sorted labels
        is_positive = torch.arange(len(place), device=graph.device) < self.batch_pairs
        drawn = (torch.rand(len(place)).to(graph.device) * torch.where(is_positive, size, len(nodes) - size)).long()
        other = torch.where(is_positive, start + drawn, (start + size + drawn) % len(nodes))
        return nodes[place], nodes[other], torch.where(is_positive, 1.0, -1.0)

    def graph_pairs(self, graph: Graph) -> tuple[Tensor, Tensor, Tensor]:
        """Pairs from walks with sign +1, ``num_negatives`` times as many with random nodes with sign -1."""
        starts = torch.randperm(graph.num_nodes)[: self.batch_nodes].to(graph.device)
        walks = random_walks(graph.neighbours, starts, length=self.walk_length + 1)
        near = context_pairs(walks, window=self.window)
        centre, other, sign = with_negatives(*near, num_negatives=self.num_negatives, num_nodes=graph.num_nodes)
        if self.is_inductive:
            seen = ~(torch.isin(centre, graph.test) | torch.isin(other, graph.test))
            return centre[seen], other[seen], sign[seen]
        return centre, other, sign

    def parameter_groups(self) -> list[dict[str, Any]]:
        heads = [self.of_features.weight, self.of_embedding.weight, self.output.weight]
        others = [p for p in self.parameters() if all(p is not head for head in heads)]
        return [{"params": heads, "weight_decay": self.weight_decay}, {"params": others}]
