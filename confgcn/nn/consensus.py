"""The ConfGCN of the preset ``consensus`` with the interface of PyG's modules."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from confgcn.graph import EdgeCounts, Graph
from confgcn.models.base import Prediction, Shape
from confgcn.models.confgcn import consensus
from confgcn.models.ranges import Count, Depth, Width
from confgcn.nn.edge_index import EdgeIndexAdjacency, MaskablePropagation
from confgcn.nn.inputs import (
    NumClasses,
    check_features,
    check_ranges,
    checked_node_ids,
    training_labels,
    training_nodes,
)


class ConsensusConfGCN(nn.Module):
    r"""An adapter of :class:`confgcn.models.confgcn.consensus.ConsensusConfGCN`, which is its ``model``.

    ``module.model`` and a model trained by this library exchange their weights with ``load_state_dict``. Scale the
    rows of x to a sum of one first, as ``torch_geometric.transforms.NormalizeFeatures`` does.

    Label scores and precisions are parameters of single nodes, so a module belongs to the nodes of one graph.
    ``edge_index`` holds both directions of every edge; copies count once, and each node has one self loop. The module
    computes on the CPU.

    Args:
        in_channels, hidden_channels, out_channels, num_layers: features, width and number of the layers, classes.
        num_nodes: of the whole graph.
        options: of :class:`~confgcn.models.confgcn.consensus.ConsensusConfGCN`, such as ``steps`` and ``dropout``.

    Shapes: x (N, in), edge_index (2, E), node_ids (N,): the nodes of the rows of x, by default all in order -> logits
    (N, classes).
    """

    def __init__(
        self,
        in_channels: Width,
        hidden_channels: Width,
        out_channels: NumClasses,
        num_layers: Depth = 1,
        *,
        num_nodes: Count,
        **options: Any,
    ) -> None:
        sizes = {"in_channels": in_channels, "hidden_channels": hidden_channels, "out_channels": out_channels}
        check_ranges(ConsensusConfGCN.__init__, {**sizes, "num_layers": num_layers, "num_nodes": num_nodes})
        check_ranges(consensus.ConsensusConfGCN.__init__, options)
        super().__init__()
        self.in_channels, self.num_nodes, self.num_classes = in_channels, num_nodes, out_channels
        self.options = {"hidden_dim": hidden_channels, "num_layers": num_layers, **options}
        self.model = consensus.ConsensusConfGCN(Shape(num_nodes, in_channels, out_channels), **self.options)
        self.propagation = MaskablePropagation()

    def reset_parameters(self) -> None:
        """Draw new initial weights."""
        shape = Shape(self.num_nodes, self.in_channels, self.num_classes)
        self.model.load_state_dict(consensus.ConsensusConfGCN(shape, **self.options).state_dict())

    def forward(self, x: Tensor, edge_index: Tensor, node_ids: Tensor | None = None) -> Tensor:
        check_features(x, self.in_channels)
        graph = self._graph(x, edge_index, node_ids)
        return self.model.logits(graph, self.model.confidences(graph)["influence"], self.propagation)

    def loss(
        self, logits: Tensor, y: Tensor, train_mask: Tensor, edge_index: Tensor, node_ids: Tensor | None = None
    ) -> dict[str, Tensor]:
        """The terms of the objective, each with its weight: minimise ``sum(terms.values())``.

        Shapes: ``logits`` (N, classes), for the same ``edge_index`` and ``node_ids``; ``y`` (N,), of which only the
        labels of ``train_mask`` (N,) are read.
        """
        train = training_nodes(train_mask, len(logits))
        labels = training_labels(y, train, len(logits), self.num_classes)
        graph = self._graph(logits, edge_index, node_ids, labels, train)
        terms = self.model.loss_terms(graph, Prediction(logits, **self.model.confidences(graph)))
        return {name: term.value() for name, term in terms.items()}

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Groups for an optimiser of torch: label scores and precisions have their own rate, weights decay."""
        names = {"learning_rate": "lr"}
        return [
            {names.get(name, name): value for name, value in group.items()} for group in self.model.parameter_groups()
        ]

    @property
    @torch.no_grad()
    def mu(self) -> Tensor:
        """The label scores of every node, (nodes, classes)."""
        return self.model.scores_and_precisions(slice(0, self.num_nodes))[0]

    @property
    @torch.no_grad()
    def precision(self) -> Tensor:
        """The diagonal of every node's inverse covariance, (nodes, classes), from 0 to 1."""
        return self.model.scores_and_precisions(slice(0, self.num_nodes))[1]

    def confidence(self, node_ids: Tensor | None = None) -> Tensor:
        """The precision of the label with the highest score, of these nodes or of all, (n,)."""
        rows = checked_node_ids(self.num_nodes if node_ids is None else len(node_ids), node_ids, self.num_nodes)
        return self.precision[rows].gather(1, self.mu[rows].argmax(1, keepdim=True)).squeeze(1)

    def _graph(
        self,
        rows: Tensor,
        edge_index: Tensor,
        node_ids: Tensor | None,
        labels: Tensor | None = None,
        train: Tensor | None = None,
    ) -> Graph:
        """The arguments as a graph; ``rows`` are features, or any tensor with a row per node if they are not needed."""
        count = len(rows)
        none = torch.empty(0, dtype=torch.long)
        ids = checked_node_ids(count, node_ids, self.num_nodes)
        return Graph(
            name="",
            adjacency=EdgeIndexAdjacency.read(edge_index, count),
            features=rows,
            labels=torch.full((count,), -1) if labels is None else labels,
            train=none if train is None else train,
            validation=none,
            test=none,
            node_ids=ids,
            node_names=("",) * count,
            class_names=("",) * self.num_classes,
            edge_counts=EdgeCounts(edge_index.shape[1], 0, 0, 0, 0),
        )

    def __repr__(self) -> str:
        hidden = [self.options["hidden_dim"]] * self.options["num_layers"]
        widths = " -> ".join(map(str, [self.in_channels, *hidden, self.num_classes]))
        return f"{type(self).__name__}({widths}, num_nodes={self.num_nodes}, steps={self.model.steps})"
