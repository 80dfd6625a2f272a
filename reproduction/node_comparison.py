"""Kipf-GCN and ConfGCN on one graph: the nodes that only one predicts correctly, and the influences around a node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from confgcn.evaluation.edges import relative_influence
from confgcn.graph import Graph
from confgcn.models.base import Prediction, require
from confgcn.ops import degree_weights

VISIBLE = 0.1  # distance of a relative influence from one that is visible in the width of a line

Labels = tuple[int, int]


@dataclass(frozen=True)
class Counts:
    """Numbers of test nodes of one run.

    Attributes:
        gcn_wrong_confgcn_right: as in the paper's picture.
        lost_without_influence: of these, the ones ConfGCN predicts wrongly with uniform influences.
        right_without_influence: of all test nodes, the ones it predicts correctly only with uniform influences.
    """

    preset: str
    seed: int
    gcn_wrong_confgcn_right: int
    lost_without_influence: int
    right_without_influence: int


@dataclass(frozen=True)
class ModelComparison:
    """The predictions of two trained models; ``uniform`` is ConfGCN's prediction with uniform influences.

    Every mask has shape (N,).
    """

    title: str
    seed: int
    graph: Graph
    gcn: Prediction
    confgcn: Prediction
    uniform: Prediction

    def correct(self, prediction: Prediction) -> Tensor:
        """Test nodes that are predicted correctly."""
        is_test = torch.zeros(self.graph.num_nodes, dtype=torch.bool).index_fill_(0, self.graph.test, True)
        return (prediction.logits.argmax(-1) == self.graph.labels) & is_test

    def gained(self) -> Tensor:
        """Test nodes that ConfGCN predicts correctly and Kipf-GCN does not."""
        return self.correct(self.confgcn) & ~self.correct(self.gcn)

    def gained_by_influence(self) -> Tensor:
        """Gained nodes that are lost with uniform influences."""
        return self.gained() & ~self.correct(self.uniform)

    def visibly_gained_by_influence(self) -> Tensor:
        """Nodes gained by influence with visibly uneven influences in their neighbourhood: the others are near ties."""
        uneven = (relative_influence(self.graph, require(self.confgcn.influence)) - 1.0).abs() >= VISIBLE
        targets = self.graph.adjacency.rows[uneven]
        return self.gained_by_influence() & torch.zeros_like(self.graph.labels).index_fill_(0, targets, 1).bool()

    def any_node(self) -> Tensor:
        """Every node."""
        return torch.ones(self.graph.num_nodes, dtype=torch.bool)

    def counts(self) -> Counts:
        """The numbers of gained and lost nodes."""
        return Counts(
            self.title,
            self.seed,
            int(self.gained().sum()),
            int(self.gained_by_influence().sum()),
            int((self.correct(self.uniform) & ~self.correct(self.confgcn)).sum()),
        )

    def describe_node(self, node: int) -> dict[str, Any]:
        """The predictions for a node, and the weights and scores of its neighbours.

        ``labels`` are the true label and the one Kipf-GCN predicts instead (its second choice where it is correct).
        """
        graph, true_label = self.graph, int(self.graph.labels[node])
        labels = true_label, _best_other(self.gcn.logits[node], true_label)
        weights = {
            "gcn_weight": relative_influence(graph, degree_weights(graph.adjacency, torch.float32)),
            "influence": relative_influence(graph, require(self.confgcn.influence)),
        }
        edges = range(int(graph.adjacency.indptr[node]), int(graph.adjacency.indptr[node + 1]))
        return {
            "name": graph.node_names[node],
            "labels": [graph.class_names[label] for label in labels],
            "gcn_prediction": self._predicted(self.gcn, node),
            "confgcn_prediction": self._predicted(self.confgcn, node),
            "uniform_prediction": self._predicted(self.uniform, node),
            "neighbours": [
                {
                    "is_node": int(graph.adjacency.indices[edge]) == node,
                    **self._neighbour(int(graph.adjacency.indices[edge]), labels),
                    **{name: float(values[edge]) for name, values in weights.items()},
                }
                for edge in edges
            ],
        }

    def _neighbour(self, node: int, labels: Labels) -> dict[str, Any]:
        label = int(self.graph.labels[node])
        return {
            "name": self.graph.node_names[node],
            "true_label": self.graph.class_names[label] if label >= 0 else "unknown",
            "gcn_scores": _pair(self.gcn.raw_probabilities[node], labels),
            "scores": _pair(require(self.confgcn.mu)[node], labels),
            "precision": _pair(require(self.confgcn.precision)[node], labels),
        }

    def _predicted(self, prediction: Prediction, node: int) -> dict[str, Any]:
        probability, label = prediction.raw_probabilities[node].max(-1)
        return {"label": self.graph.class_names[int(label)], "probability": float(probability)}


def _best_other(logits: Tensor, label: int) -> int:
    return int(logits.index_fill(0, torch.tensor(label), -torch.inf).argmax())


def _pair(values: Tensor, labels: Labels) -> list[float]:
    return [float(value) for value in values.detach()[list(labels)]]
