"""Novelty: nodes that resemble none of the labelled classes."""

from __future__ import annotations

import torch
from torch import Tensor

from confgcn.confidence.neighbourhood import neighbour_mean
from confgcn.graph import Graph

STEPS = 8  # of diffusion
DIFFUSION = 0.5  # w, the weight of the neighbours


def novelty(graph: Graph, probabilities: Tensor) -> Tensor:
    r"""The share of nodes that are less novel, ties counting half, (N,): near one for the most novel.

    .. math:: e^0_v = 1 - \max_c \hat{p}_v(c), \qquad
              e^{k+1}_v = (1 - w) \, e^k_v + \frac{w}{|N(v)|} \sum_{u \in N(v)} e^k_u

    An unlabelled class forms a region of low confidence in the graph, whereas a single uncertain node is merely hard;
    diffusion over the neighbours separates them, as in GNNSafe (Wu, Chen, Yang, Yan, ICLR 2023). GNNSafe's energy
    -logsumexp(logits) is not used: it is zero for a method whose logits are log-probabilities.

    Shapes: ``probabilities`` (N, C).
    """
    uncertainty = 1.0 - probabilities.double().max(1, keepdim=True).values
    for _ in range(STEPS):
        uncertainty = (1 - DIFFUSION) * uncertainty + DIFFUSION * neighbour_mean(graph, uncertainty)
    return share_below(uncertainty.squeeze(1))


def share_below(values: Tensor) -> Tensor:
    """For each value the share of all that are smaller, ties (and itself) counting half, (N,)."""
    _, inverse, counts = torch.unique(values, return_inverse=True, return_counts=True)
    middle = counts.cumsum(0).double() - counts / 2.0
    shares: Tensor = (middle / len(values))[inverse]
    return shares
