"""What the training labels around a node say, never its own label: an input of the classifier."""

from __future__ import annotations

import torch
from torch import Tensor

from confgcn.graph import Graph
from confgcn.kernels import kernels_for
from confgcn.models.confgcn.propagation import uniform_propagation


def label_channel(graph: Graph) -> Tensor:
    r"""For one and for two steps: the distribution of labels among labelled nodes, and their share, (N, 2C + 3).

    .. math:: Y^{(1)} = P Y_L, \qquad Y^{(2)} = P^2 Y_L - \mathrm{diag}(P^2) Y_L

    A node's own label, which two steps would return to it, is subtracted. The distribution of a node without labelled
    neighbours is uniform. The last column is the logarithm of one plus the degree.
    """
    labels = torch.zeros(graph.num_nodes, graph.num_classes)
    labels[graph.train, graph.train_labels] = 1.0
    values, kernels = uniform_propagation(graph).without_loops, kernels_for(labels)
    first = kernels.multiply(graph.adjacency, values, labels)
    second = kernels.multiply(graph.adjacency, values, first)
    mirrored = values if graph.adjacency.mirror is None else values[graph.adjacency.mirror]
    returning = kernels.sum_rows(graph.adjacency, values * mirrored)
    second = (second - returning[:, None] * labels).clamp_(min=0.0)
    degrees = graph.degrees.float().log1p()[:, None]
    return torch.cat([*_distribution(first), *_distribution(second), degrees], dim=1)


def _distribution(sums: Tensor) -> tuple[Tensor, Tensor]:
    shares = sums.sum(1, keepdim=True)
    is_reached = shares > torch.finfo(sums.dtype).eps
    return torch.where(is_reached, sums / shares.clamp(min=1e-30), 1.0 / sums.shape[1]), shares
