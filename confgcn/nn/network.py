"""The preset ``consensus`` of ConfGCN as a module that takes features and an edge index, as PyG's modules do."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from confgcn.models.confgcn import losses
from confgcn.models.confgcn.influence import agreement, walk
from confgcn.models.confgcn.label_distribution import LabelDistribution
from confgcn.models.ranges import Count, Depth, DropoutRate, LearningRate, NonNegative, Positive, Share, Width
from confgcn.nn.confidence_conv import ConfidenceConv
from confgcn.nn.inputs import check_features, check_ranges, node_rows, training_labels, training_nodes
from confgcn.nn.message_edges import MessageEdges
from confgcn.ops import edge_distance, propagate, softmax

NumClasses = Annotated[int, Field(ge=2, le=65_536)]  # where there is one class alone there is nothing to agree on


class ConfGCN(nn.Module):
    r"""Vashishth, Yadav, Bhandari, Talukdar: Confidence-based Graph Convolutional Networks, AISTATS 2019.

    The same mathematics and the same parameters, by name, as :class:`confgcn.models.confgcn.network.ConfGCN` with the
    preset ``consensus``, whose values are the defaults: what one has learned, ``load_state_dict`` gives to the other.
    Scale the rows of x to a sum of one first, as ``torch_geometric.transforms.NormalizeFeatures`` does.

    Every node has label scores and precisions of its own, so the module belongs to the nodes of one graph.
    ``edge_index`` holds both directions of every edge; copies count once, self loops are replaced by the one that
    every node has. It computes on the CPU.

    Args:
        in_channels, hidden_channels, out_channels, num_layers: features, width and number of the graph layers, classes.
        num_nodes: of the whole graph.
        steps, dropout, node_dropout: of :class:`~confgcn.nn.ConfidenceConv`.
        mu_temperature, lambda_smooth, lambda_label, lambda_const, lambda_reg, gamma, consensus_share, weight_decay,
            confidence_learning_rate: as in :class:`confgcn.models.confgcn.network.ConfGCN`.

    Shapes: x (N, in), edge_index (2, E), node_ids (N,): whose scores belong to the rows of x, by default all nodes in
    order -> logits (N, classes).
    """

    def __init__(
        self,
        in_channels: Width,
        hidden_channels: Width,
        out_channels: NumClasses,
        num_layers: Depth = 1,
        *,
        num_nodes: Count,
        dropout: DropoutRate = 0.5,
        node_dropout: DropoutRate = 0.5,
        steps: Count = 4,
        mu_temperature: Positive = 0.8,
        lambda_smooth: NonNegative = 0.02,
        lambda_label: NonNegative = 0.1,
        lambda_const: NonNegative = 0.5,
        lambda_reg: NonNegative = 0.05,
        gamma: Positive = 1.0,
        consensus_share: Share = 0.5,
        weight_decay: NonNegative = 5e-4,
        confidence_learning_rate: LearningRate = 0.05,
    ) -> None:
        check_ranges(
            ConfGCN.__init__, {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        )
        super().__init__()
        self.in_channels, self.num_nodes, self.num_classes = in_channels, num_nodes, out_channels
        self.dropout, self.steps, self.consensus_share = dropout, steps, consensus_share
        self.certainty = 1.0 / gamma
        self.lambdas = {"smooth": lambda_smooth, "label": lambda_label, "const": lambda_const, "reg": lambda_reg}
        self.weight_decay, self.confidence_learning_rate = weight_decay, confidence_learning_rate
        self.label_distribution = LabelDistribution(
            num_nodes, out_channels, mu_form="softmax", precision_form="sigmoid", temperature=mu_temperature
        )
        widths = [in_channels, *[hidden_channels] * num_layers]
        self.layers = nn.ModuleList(
            ConfidenceConv(before, after, steps=steps, dropout=dropout, node_dropout=node_dropout)
            for before, after in pairwise(widths)
        )
        self.dense = nn.Linear(hidden_channels, out_channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Begin again, from other numbers of torch's default stream."""
        self.label_distribution.reset_parameters()
        for layer in self.layers:
            assert isinstance(layer, ConfidenceConv)
            layer.reset_parameters()
        nn.init.xavier_uniform_(self.dense.weight)
        nn.init.zeros_(self.dense.bias)

    def forward(self, x: Tensor, edge_index: Tensor, node_ids: Tensor | None = None) -> Tensor:
        check_features(x, self.in_channels)
        rows = node_rows(len(x), node_ids, self.num_nodes)
        edges = MessageEdges.read(edge_index, len(x))
        influence, on_itself = edges.spread(self._influence(edges, rows))
        hidden = x
        for layer in self.layers:
            hidden = functional.relu(layer(hidden, edge_index, influence, on_itself))
        logits: Tensor = self.dense(functional.dropout(hidden, self.dropout, self.training))
        return logits if self.training or not self.consensus_share else self._with_consensus(logits, rows)

    def loss(
        self, logits: Tensor, y: Tensor, train_mask: Tensor, edge_index: Tensor, node_ids: Tensor | None = None
    ) -> dict[str, Tensor]:
        """The terms of the objective, each with its weight: ``sum(terms.values())`` is what to minimise.

        Shapes: ``logits`` (N, classes), of the same ``edge_index`` and ``node_ids``; ``y`` (N,), of which only the
        labels of ``train_mask`` (N,) are read.
        """
        train = training_nodes(train_mask, len(logits))
        labels = training_labels(y, train, len(logits), self.num_classes)
        rows = node_rows(len(logits), node_ids, self.num_nodes)
        edges = MessageEdges.read(edge_index, len(logits))
        influence = self._influence(edges, rows)
        mu, precision = self.label_distribution(rows)
        distance = edge_distance(edges.adjacency, mu, precision)
        one_hot = functional.one_hot(labels, self.num_classes).to(mu.dtype)
        labelled = mu.new_zeros(len(mu), 1).index_fill_(0, train, 1.0)
        evidence = propagate(edges.adjacency, influence, labelled, steps=self.steps).squeeze(1)
        consensus = self.label_distribution.consensus(rows)
        means = {
            "smooth": losses.trusted_smooth_loss(distance, influence) / len(mu),
            "label": losses.label_loss(mu, precision, train, one_hot, certainty=self.certainty) / len(train),
            "const": losses.consensus_loss(mu, consensus, softmax(logits)) / len(mu),
            "reg": losses.evidence_loss(precision, evidence) / len(mu),
        }
        cross = functional.cross_entropy(logits.index_select(0, train), labels)
        return {"cross": cross, **{name: self.lambdas[name] * mean for name, mean in means.items()}}

    def parameter_groups(self) -> list[dict[str, Any]]:
        """For an optimiser of torch: label scores and precisions learn at a rate of their own, weights decay."""
        weights = [*(layer.weight for layer in self.layers), self.dense.weight]
        biases = [*(layer.bias for layer in self.layers), self.dense.bias]
        return [
            {"params": list(self.label_distribution.parameters()), "lr": self.confidence_learning_rate},
            {"params": weights, "weight_decay": self.weight_decay},
            {"params": biases},
        ]

    @property
    def mu(self) -> Tensor:
        """The label scores of every node, (nodes, classes)."""
        return self._beliefs(slice(0, self.num_nodes))[0]

    @property
    def precision(self) -> Tensor:
        """The diagonal of every node's inverse covariance, (nodes, classes), from 0 to 1."""
        return self._beliefs(slice(0, self.num_nodes))[1]

    def confidence(self, node_ids: Tensor | None = None) -> Tensor:
        """The precision of the label whose score is highest, of these nodes or of all, (n,)."""
        rows = node_rows(self.num_nodes if node_ids is None else len(node_ids), node_ids, self.num_nodes)
        mu, precision = self._beliefs(rows)
        return precision.gather(1, mu.argmax(1, keepdim=True)).squeeze(1)

    @torch.no_grad()
    def _beliefs(self, rows: Tensor | slice) -> tuple[Tensor, Tensor]:
        mu, precision = self.label_distribution(rows)
        return mu, precision

    def _influence(self, edges: MessageEdges, rows: Tensor | slice) -> Tensor:
        """No gradient reaches the scores and precisions through it."""
        mu, precision = (quantity.detach() for quantity in self.label_distribution(rows))
        return walk(edges.adjacency, agreement(edges.adjacency, mu, precision))

    def _with_consensus(self, logits: Tensor, rows: Tensor | slice) -> Tensor:
        mean = torch.lerp(softmax(logits), self.label_distribution.consensus(rows), self.consensus_share)
        return mean.clamp(min=torch.finfo(mean.dtype).tiny).log()

    def __repr__(self) -> str:
        widths = [self.in_channels, *(layer.out_channels for layer in self.layers), self.num_classes]
        return f"{type(self).__name__}({' -> '.join(map(str, widths))}, num_nodes={self.num_nodes}, steps={self.steps})"
