"""Groups of nodes, and the one definition of quartiles.

Sort M values: quartile k = 0, .., 3 covers the positions from k M/4 to (k + 1) M/4. Equal values are never ordered by
their position in a file: :func:`quartile` puts all of them into the quartile of the first, and
:func:`quartile_means` counts each in every quartile by the share of their positions that it covers.
"""

from __future__ import annotations

import torch
from torch import Tensor

from confgcn.graph import Graph

QUARTILES = 4
MAX_HOPS = 4  # distances from here on form one group


def quartile(values: Tensor, reference: Tensor | None = None) -> Tensor:
    r"""The quartile 0 to 3 of each of ``values`` (M,) among ``reference`` (n,), by default the values themselves.

    .. math:: \mathrm{quartile}_i = |\{k \in \{1, 2, 3\} : x_i > c_k\}|, \qquad
              c_k = \min \{x : |\{j : x_j \le x\}| \ge k n / 4\}

    Equal values are in the same quartile, so quartiles may be of unequal size, or empty. n must be at least one.
    """
    ordered = (values if reference is None else reference).sort().values
    last = (torch.arange(1, QUARTILES) * len(ordered) + QUARTILES - 1) // QUARTILES - 1  # position of c_k, rounded up
    return torch.searchsorted(ordered[last], values.contiguous())


def quartile_means(outcome: Tensor, rank_by: Tensor) -> list[float]:
    """Mean of ``outcome`` (M,) in each quartile of the items sorted by ``rank_by`` (M,), from lowest to highest.

    Tied items share their positions, which is the mean over all their orders: each quartile counts exactly M/4 items.
    """
    _, tied, sizes = torch.unique(rank_by, return_inverse=True, return_counts=True)
    ends = sizes.cumsum(0).double()
    starts = ends - sizes
    sums = torch.zeros(len(sizes), dtype=torch.float64).index_add_(0, tied, outcome.double())
    size = len(outcome) / QUARTILES
    means = []
    for k in range(QUARTILES):
        overlap = ends.clamp(max=(k + 1) * size) - starts.clamp(min=k * size)
        means.append(float((sums / sizes * overlap.clamp(min=0.0)).sum() / size))
    return means


def sort_by_confidence(confidence: Tensor, correct: Tensor) -> tuple[Tensor, Tensor]:
    """Both (M,) in double precision, from least to most confident; among ties, wrong predictions come first."""
    order = correct.to(torch.uint8).argsort(stable=True)
    order = order[confidence[order].argsort(stable=True)]
    return confidence[order].double(), correct[order].double()


def share_ties(confidence: Tensor, outcome: Tensor) -> Tensor:
    """The outcome of each item (..., M) replaced by the mean over the items of its row with the same confidence.

    ``confidence`` (..., M) is sorted within each row. The result is the mean over all orders of the tied items.
    """
    tied = (confidence.diff(dim=-1, prepend=confidence[..., :1]) != 0).cumsum(-1)
    sums = torch.zeros_like(outcome).scatter_add_(-1, tied, outcome)
    sizes = torch.zeros_like(outcome).scatter_add_(-1, tied, torch.ones_like(outcome))
    return (sums / sizes).gather(-1, tied)


def node_groups(graph: Graph, nodes: Tensor) -> dict[str, Tensor]:
    """Groups of ``nodes`` (M,) by their position in the graph: name -> mask (M,). Empty groups are left out.

    - ``degree_q1`` .. ``degree_q4`` and ``entropy_q1`` .. ``entropy_q4``: quartiles of the number of neighbours and of
      the entropy of their true labels, from the lowest;
    - ``distance_1`` .. ``distance_3``, ``distance_4_or_more``: hops to the nearest training node;
    - ``no_label_in_component``: no training node can be reached; ``isolated``: no neighbours. An isolated node is in
      both groups unless it is a training node.
    """
    if not len(nodes):
        return {}
    degree, distance = graph.degrees[nodes], label_distance(graph)[nodes]
    groups = {
        **_quartile_masks("degree", degree),
        **_quartile_masks("entropy", neighbour_label_entropy(graph)[nodes]),
        **{f"distance_{hops}": distance == hops for hops in range(1, MAX_HOPS)},
        f"distance_{MAX_HOPS}_or_more": distance >= MAX_HOPS,
        "no_label_in_component": distance < 0,
        "isolated": degree == 0,
    }
    return {name: mask for name, mask in groups.items() if mask.any()}


def label_distance(graph: Graph) -> Tensor:
    r"""Hops to the nearest training node, (N,): 0 for a training node, -1 where there is none in the component.

    .. math:: \mathrm{dist}(v) = \min_{u \in \mathrm{train}} |\text{shortest path}(u, v)|

    A breadth-first search from all training nodes at once visits every edge once.
    """
    distance = torch.full((graph.num_nodes,), -1)
    frontier, hops = graph.train, 0
    while len(frontier):
        distance[frontier] = hops
        reached = graph.adjacency.at_rows(frontier)[0].indices
        frontier, hops = reached[distance[reached] < 0].unique(), hops + 1
    return distance


def neighbour_label_entropy(graph: Graph) -> Tensor:
    r"""Entropy of the true labels among the neighbours of each node (section 7.2 of the paper), (N,), in nats.

    .. math:: H(u) = - \sum_l p_{ul} \log p_{ul}, \qquad
              p_{ul} = \frac{|\{v \in \mathcal{N}(u) : \mathrm{label}(v) = l\}|}{|\mathcal{N}(u)|}

    N(u) excludes u and neighbours of unknown label. A node without such neighbours has entropy zero.
    """
    edges = graph.neighbours
    labels = graph.labels[edges.indices]
    known = labels >= 0
    counts = torch.zeros(graph.num_nodes, graph.num_classes, dtype=torch.float64)
    counts.index_put_((edges.rows[known], labels[known]), torch.ones(1, dtype=torch.float64), accumulate=True)
    shares = counts / counts.sum(1, keepdim=True).clamp(min=1.0)
    entropy: Tensor = torch.special.entr(shares).sort(1).values.sum(1)  # a fixed order keeps equal entropies tied
    return entropy


def _quartile_masks(name: str, values: Tensor) -> dict[str, Tensor]:
    place = quartile(values)
    return {f"{name}_q{k + 1}": place == k for k in range(QUARTILES)}
