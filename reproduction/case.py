"""Kipf-GCN and ConfGCN trained on one graph: what one gets right and the other wrong, and whether influence is why."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from confgcn.evaluation.edges import relative_influence
from confgcn.graph import Graph
from confgcn.models.base import Prediction, require

VISIBLE = 0.1  # distance of a relative influence from one that shows in the width of a line


@dataclass(frozen=True)
class Counts:
    """Test nodes of one run.

    Attributes:
        gcn_wrong_confgcn_right: as in the paper's picture.
        lost_without_influence: of those, the ones ConfGCN gets wrong once its influences are made uniform.
        right_without_influence: of all test nodes, the ones it gets right only once they are.
    """

    preset: str
    seed: int
    gcn_wrong_confgcn_right: int
    lost_without_influence: int
    right_without_influence: int


@dataclass(frozen=True)
class Case:
    """What two trained models say of every node; ``uniform`` is ConfGCN's prediction without influence."""

    title: str
    seed: int
    graph: Graph
    gcn: Prediction
    confgcn: Prediction
    uniform: Prediction

    def right(self, prediction: Prediction) -> Tensor:
        """Which test nodes are right, (N,)."""
        is_test = torch.zeros(self.graph.num_nodes, dtype=torch.bool).index_fill_(0, self.graph.test, True)
        return (prediction.logits.argmax(-1) == self.graph.labels) & is_test

    def gained(self) -> Tensor:
        """Nodes as in the paper's picture, (N,)."""
        return self.right(self.confgcn) & ~self.right(self.gcn)

    def gained_by_influence(self) -> Tensor:
        """Those of them that are lost once the influences are made uniform, (N,)."""
        return self.gained() & ~self.right(self.uniform)

    def visibly_gained_by_influence(self) -> Tensor:
        """Those of these in whose neighbourhood some influence is another: the others are near ties, (N,)."""
        away = (relative_influence(self.graph, require(self.confgcn.influence)) - 1.0).abs() >= VISIBLE
        targets = self.graph.adjacency.rows[away]
        return self.gained_by_influence() & torch.zeros_like(self.graph.labels).index_fill_(0, targets, 1).bool()

    def any_node(self) -> Tensor:
        """Every node, (N,)."""
        return torch.ones(self.graph.num_nodes, dtype=torch.bool)

    def counts(self) -> Counts:
        """How many of each kind."""
        return Counts(
            self.title,
            self.seed,
            int(self.gained().sum()),
            int(self.gained_by_influence().sum()),
            int((self.right(self.uniform) & ~self.right(self.confgcn)).sum()),
        )
