"""PyG's GCN and GAT as in its citation examples, with dense or sparse features: the baselines of speed.py.

Needs torch_geometric: pip install 'confgcn[bench]'
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.nn import GATConv, GCNConv

from confgcn.graph import Graph
from confgcn.sparse import SparseMatrix

Step = Callable[[], Any]


class Features(nn.Module):
    """The features of a graph with dropout: dense, or sparse with dropout on the stored values."""

    def __init__(self, graph: Graph, *, dense: bool, rate: float) -> None:
        super().__init__()
        self.rate = rate
        features = graph.features
        self.sparse = features if isinstance(features, SparseMatrix) and not dense else None
        self.dense = None if self.sparse else _dense(features)

    def forward(self) -> Tensor:
        if self.sparse is None:
            return functional.dropout(self.dense, self.rate, self.training)
        structure, values = self.sparse.structure, functional.dropout(self.sparse.values, self.rate, self.training)
        return torch.sparse_csr_tensor(
            structure.indptr, structure.indices, values, structure.shape, check_invariants=False
        )


def _dense(features: Tensor | SparseMatrix) -> Tensor:
    if isinstance(features, Tensor):
        return features
    structure = features.structure
    return torch.zeros(features.shape).index_put_((structure.rows, structure.indices), features.values)


class GCN(nn.Module):
    """Two GCNConv layers, 16 hidden units, dropout 0.5."""

    def __init__(self, graph: Graph, *, dense: bool, edges: Any) -> None:
        super().__init__()
        self.features = Features(graph, dense=dense, rate=0.5)
        self.first = GCNConv(graph.num_features, 16, cached=True)
        self.second = GCNConv(16, graph.num_classes, cached=True)
        self.edges = edges

    def forward(self) -> Tensor:
        hidden = self.first(self.features(), self.edges).relu()
        return self.second(functional.dropout(hidden, 0.5, self.training), self.edges)


class GAT(nn.Module):
    """Two GATConv layers, eight heads of eight units, dropout 0.6 on features and attention."""

    def __init__(self, graph: Graph, *, dense: bool, edges: Any) -> None:
        super().__init__()
        self.features = Features(graph, dense=dense, rate=0.6)
        self.first = GATConv(graph.num_features, 8, heads=8, dropout=0.6)
        self.second = GATConv(64, graph.num_classes, heads=1, concat=False, dropout=0.6)
        self.edges = edges

    def forward(self) -> Tensor:
        hidden = functional.elu(self.first(self.features(), self.edges))
        return self.second(functional.dropout(hidden, 0.6, self.training), self.edges)


def edge_index(graph: Graph) -> Tensor:
    """Edges as in PyG's examples, (2, E)."""
    return torch.stack([graph.adjacency.indices, graph.adjacency.rows])


def compressed_edges(graph: Graph) -> Tensor:
    """Edges as a CSR matrix by target, for which PyG uses matrix products instead of gather and scatter."""
    structure = graph.adjacency
    ones = torch.ones(structure.num_entries)
    return torch.sparse_csr_tensor(structure.indptr, structure.indices, ones, structure.shape)


def train_step(model: nn.Module, graph: Graph) -> Step:
    """One epoch as in PyG's examples."""
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)

    def step() -> float:
        model.train()
        optimiser.zero_grad()
        loss = functional.cross_entropy(model()[graph.train], graph.labels[graph.train])
        loss.backward()
        optimiser.step()
        return float(loss.detach())

    return step


def predict(model: nn.Module) -> Step:
    """The prediction of all nodes."""

    @torch.no_grad()
    def forward() -> Tensor:
        model.eval()
        return model()

    return forward
