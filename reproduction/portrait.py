"""A node with its neighbours, as two trained models see them: the numbers of Figure 1."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from confgcn.evaluation.edges import relative_influence
from confgcn.graph import Graph
from confgcn.models.base import Prediction, require
from confgcn.ops import degree_weights

Labels = tuple[int, int]


def portrait(graph: Graph, node: int, gcn: Prediction, confgcn: Prediction, uniform: Prediction) -> dict[str, Any]:
    """The two labels in question, what every model says of the node, and its neighbourhood.

    ``labels`` are the true one and the one Kipf-GCN gives instead (or, where it is right, its second choice).
    """
    labels = int(graph.labels[node]), _rival(gcn.logits[node], int(graph.labels[node]))
    weights = {
        "gcn_weight": relative_influence(graph, degree_weights(graph.adjacency, torch.float32)),
        "influence": relative_influence(graph, require(confgcn.influence)),
    }
    edges = range(int(graph.adjacency.indptr[node]), int(graph.adjacency.indptr[node + 1]))
    return {
        "name": graph.node_names[node],
        "labels": [graph.class_names[label] for label in labels],
        "gcn_says": _says(graph, gcn, node),
        "confgcn_says": _says(graph, confgcn, node),
        "uniform_says": _says(graph, uniform, node),
        "neighbours": [
            {
                "is_node": int(graph.adjacency.indices[edge]) == node,
                **_neighbour(graph, int(graph.adjacency.indices[edge]), labels, gcn, confgcn),
                **{name: float(values[edge]) for name, values in weights.items()},
            }
            for edge in edges
        ],
    }


def _neighbour(graph: Graph, node: int, labels: Labels, gcn: Prediction, confgcn: Prediction) -> dict[str, Any]:
    label = int(graph.labels[node])
    return {
        "name": graph.node_names[node],
        "true_label": graph.class_names[label] if label >= 0 else "unknown",
        "gcn_scores": _pair(gcn.raw_probabilities[node], labels),
        "scores": _pair(require(confgcn.mu)[node], labels),
        "precision": _pair(require(confgcn.precision)[node], labels),
    }


def _says(graph: Graph, prediction: Prediction, node: int) -> dict[str, Any]:
    probability, label = prediction.raw_probabilities[node].max(-1)
    return {"label": graph.class_names[int(label)], "probability": float(probability)}


def _rival(logits: Tensor, own: int) -> int:
    return int(logits.index_fill(0, torch.tensor(own), -torch.inf).argmax())


def _pair(values: Tensor, labels: Labels) -> list[float]:
    return [float(value) for value in values.detach()[list(labels)]]
