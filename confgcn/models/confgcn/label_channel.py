"""The training labels around a node, never its own label: an input of the classifier."""

from __future__ import annotations

import torch
from torch import Tensor

from confgcn.graph import Graph
from confgcn.kernels import kernels_for
from confgcn.models.confgcn.propagation import feature_type, uniform_propagation


def label_channel(graph: Graph) -> Tensor:
    r"""For one and for two steps: the distribution of labels among labelled nodes, and their share, (N, 2C + 3).

    .. math:: Y^{(1)} = P Y_L, \qquad Y^{(2)} = P^2 Y_L - \mathrm{diag}(P^2) Y_L

    A node's own label, which two steps would return to it, is subtracted. The distribution of a node without labelled
    neighbours is uniform. The last column is the logarithm of one plus the degree. The channel has the type of the
    graph's features.
    """
    labels = torch.zeros(graph.num_nodes, graph.num_classes, dtype=torch.double, device=graph.device)
    labels[graph.train, graph.train_labels] = 1.0
    values, kernels = _exact(uniform_propagation(graph).without_loops), kernels_for(labels)
    first = kernels.multiply(graph.adjacency, values, labels)
    second = kernels.multiply(graph.adjacency, values, first)
    mirrored = values if graph.adjacency.mirror is None else values[graph.adjacency.mirror]
    returning = kernels.sum_rows(graph.adjacency, values * mirrored)
    second = second - returning[:, None] * labels
    degrees = graph.degrees.double().log1p()[:, None]
    return torch.cat([*_distribution(first), *_distribution(second), degrees], dim=1).to(feature_type(graph))


def _exact(values: Tensor) -> Tensor:
    """Multiples of 2^-26, as sums of whose products double precision is exact: no trace of a label remains."""
    return (values.double() * 2**26).round() / 2**26


def _distribution(sums: Tensor) -> tuple[Tensor, Tensor]:
    shares = sums.sum(1, keepdim=True)
    return torch.where(shares > 0.0, sums / shares.masked_fill(shares == 0.0, 1.0), 1.0 / sums.shape[1]), shares
