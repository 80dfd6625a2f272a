"""Where in the graph a node stands: how many neighbours, how mixed, how far from the nearest training label."""

from __future__ import annotations

import torch
from torch import Tensor

from confgcn.evaluation.strata import QUARTERS, neighbour_label_entropy
from confgcn.graph import Graph

FAR = 4  # hops from which on distances are told together


def label_distance(graph: Graph) -> Tensor:
    r"""Hops to the nearest training node, (N,): 0 for a training node, -1 where there is none in the component.

    .. math:: \mathrm{dist}(v) = \min_{u \in \mathrm{train}} |\text{shortest path}(u, v)|

    Breadth first from all training nodes at once; every edge is looked at once.
    """
    distance = torch.full((graph.num_nodes,), -1)
    frontier, hops = graph.train, 0
    while len(frontier):
        distance[frontier] = hops
        reached = graph.adjacency.at_rows(frontier)[0].indices
        frontier, hops = reached[distance[reached] < 0].unique(), hops + 1
    return distance


def slices(graph: Graph, nodes: Tensor) -> dict[str, Tensor]:
    """Parts of ``nodes`` (M,), which are positions of nodes: name -> mask (M,). Empty parts are left out.

    - ``degree_q1`` .. ``degree_q4`` and ``entropy_q1`` .. ``entropy_q4``, from the lowest number of neighbours and
      the lowest entropy of the true labels among them, see :func:`quartile`;
    - ``distance_1`` .. ``distance_3``, ``distance_4_or_more``: hops to the nearest training node;
    - ``no_label_in_component``: no training node can be reached, and ``isolated``: there is no neighbour at all, so
      such a node is in both unless it is a training node itself.
    """
    if not len(nodes):
        return {}
    degree, distance = graph.degrees[nodes], label_distance(graph)[nodes]
    found = {
        **_quartile_masks("degree", degree),
        **_quartile_masks("entropy", neighbour_label_entropy(graph)[nodes]),
        **{f"distance_{hops}": distance == hops for hops in range(1, FAR)},
        f"distance_{FAR}_or_more": distance >= FAR,
        "no_label_in_component": distance < 0,
        "isolated": degree == 0,
    }
    return {name: mask for name, mask in found.items() if mask.any()}


def quartile(values: Tensor) -> Tensor:
    r"""The quartile 0 to 3 of each of ``values`` (M,), of which there is at least one.

    .. math:: \mathrm{quartile}_i = |\{k \in \{1, 2, 3\} : x_i > c_k\}|, \qquad
              c_k = \min \{x : |\{j : x_j \le x\}| \ge k M / 4\}

    It depends on the value alone: equal values are never parted, so quartiles may be of unequal size, or empty.
    """
    last = (torch.arange(1, QUARTERS) * len(values) + QUARTERS - 1) // QUARTERS - 1  # the place of c_k: rounded up
    cuts = values.sort().values[last]
    return torch.searchsorted(cuts, values.contiguous())


def _quartile_masks(name: str, values: Tensor) -> dict[str, Tensor]:
    place = quartile(values)
    return {f"{name}_q{k + 1}": place == k for k in range(QUARTERS)}
