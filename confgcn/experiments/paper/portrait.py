"""A node with its neighbours, as two trained models see them: the numbers of Figure 1."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from confgcn.evaluation.influence import relative_influence
from confgcn.graph import Graph
from confgcn.method import Prediction, present
from confgcn.ops import degree_weights


def portrait(graph: Graph, node: int, gcn: Prediction, confgcn: Prediction, uniform: Prediction) -> dict[str, Any]:
    """The two labels in question, what every model says of the node, and its neighbourhood.

    ``labels`` are the true one and the one Kipf-GCN gives instead (or, where it is right, its second choice).
    """
    own, other = int(graph.labels[node]), _rival(gcn.logits[node], int(graph.labels[node]))
    edges = slice(int(graph.adjacency.indptr[node]), int(graph.adjacency.indptr[node + 1]))
    weights = degree_weights(graph.adjacency, torch.float32)
    influence = relative_influence(graph, present(confgcn.influence))[edges]
    neighbours = zip(
        graph.adjacency.indices[edges].tolist(),
        relative_influence(graph, weights)[edges].tolist(),
        influence.tolist(),
        strict=True,
    )
    return {
        "name": graph.node_names[node],
        "labels": [graph.class_names[own], graph.class_names[other]],
        "gcn_says": _says(graph, gcn, node),
        "confgcn_says": _says(graph, confgcn, node),
        "uniform_says": _says(graph, uniform, node),
        "neighbours": [
            {
                "name": graph.node_names[neighbour],
                "is_node": neighbour == node,
                "true_label": _label(graph, int(graph.labels[neighbour])),
                "gcn_weight": gcn_weight,
                "influence": confgcn_weight,
                "gcn_scores": _pair(gcn.probabilities[neighbour], own, other),
                "scores": _pair(present(confgcn.mu)[neighbour], own, other),
                "precision": _pair(present(confgcn.precision)[neighbour], own, other),
            }
            for neighbour, gcn_weight, confgcn_weight in neighbours
        ],
    }


def _label(graph: Graph, label: int) -> str:
    return graph.class_names[label] if label >= 0 else "unknown"


def _says(graph: Graph, prediction: Prediction, node: int) -> dict[str, Any]:
    probability, label = prediction.probabilities[node].max(-1)
    return {"label": graph.class_names[int(label)], "probability": float(probability)}


def _rival(logits: Tensor, own: int) -> int:
    return int(logits.index_fill(0, torch.tensor(own), -torch.inf).argmax())


def _pair(values: Tensor, own: int, other: int) -> list[float]:
    return [float(value) for value in values.detach()[[own, other]]]
