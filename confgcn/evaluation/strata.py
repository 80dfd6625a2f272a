"""Nodes ranked by a property of their neighbourhood, and what holds in each quarter of them."""

from __future__ import annotations

import torch
from torch import Tensor

from confgcn.graph import Graph

QUARTERS = 4


def neighbour_label_entropy(graph: Graph) -> Tensor:
    r"""How mixed the true labels around each node are (section 7.2), (N,), in natural units.

    .. math:: H(u) = - \sum_l p_{ul} \log p_{ul}, \qquad
              p_{ul} = \frac{|\{v \in \mathcal{N}(u) : \mathrm{label}(v) = l\}|}{|\mathcal{N}(u)|}

    Here N(u) is without u, and a neighbour whose label is not known does not count. A node without a neighbour that
    counts has entropy zero.
    """
    edges = graph.neighbours
    labels = graph.labels[edges.indices]
    known = labels >= 0
    counts = torch.zeros(graph.num_nodes, graph.num_classes, dtype=torch.float64)
    counts.index_put_((edges.rows[known], labels[known]), torch.ones(1, dtype=torch.float64), accumulate=True)
    shares = counts / counts.sum(1, keepdim=True).clamp(min=1.0)
    entropy: Tensor = torch.special.entr(shares).sort(1).values.sum(1)  # in one order, or equal ones would not be tied
    return entropy


def quarter_means(outcome: Tensor, rank_by: Tensor) -> list[float]:
    """Mean of ``outcome`` (M,) in each quarter of the items sorted by ``rank_by`` (M,), from lowest to highest.

    The rule for ties: items of equal rank share their places. Each counts in a quarter by the share of those places
    that lies in it, which is the mean over all orders of the tied ones. So no number depends on the order of the
    nodes in a file, and a quarter's size is exactly M/4.
    """
    _, group, sizes = torch.unique(rank_by, return_inverse=True, return_counts=True)
    ends = sizes.cumsum(0).double()
    starts = ends - sizes
    sums = torch.zeros(len(sizes), dtype=torch.float64).index_add_(0, group, outcome.double())
    size = len(outcome) / QUARTERS
    means = []
    for quarter in range(QUARTERS):
        overlap = ends.clamp(max=(quarter + 1) * size) - starts.clamp(min=quarter * size)
        means.append(float((sums / sizes * overlap.clamp(min=0.0)).sum() / size))
    return means
