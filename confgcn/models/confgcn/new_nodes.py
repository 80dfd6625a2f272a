"""Label scores and precisions of nodes that were not there at training: solved for alone, with all else held fixed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from confgcn.graph import Graph
from confgcn.graph.subgraph import induced_subgraph, nodes_within
from confgcn.models.confgcn.label_distribution import LabelDistribution

if TYPE_CHECKING:
    from confgcn.models.confgcn.network import ConfGCN

STEPS = 30
LEARNING_RATE = 0.01  # where the method has none of its own for label scores and precisions: the paper's


def solve_new_rows(method: ConfGCN, graph: Graph, new: Tensor) -> None:
    r"""Find the rows of the ``new`` nodes (n,) in the method's label distribution.

    .. math:: \min_{\mu_{new}, \Sigma_{new}} L \quad \text{with weights and all other rows fixed}

    Only what the new nodes depend on is computed. They start from the mean of their neighbours, weighed by the
    neighbours' confidence, and where no term of L reaches a node it stays there.
    """
    if not len(new):
        return
    start_from_neighbours(method.label_distribution, graph, new)
    reach = nodes_within(graph, new, method.reach)
    part = induced_subgraph(graph, reach)
    _descend(method, part, graph.node_ids[new])


def start_from_neighbours(distribution: LabelDistribution, graph: Graph, new: Tensor) -> None:
    r"""Give each new node the confidence-weighted mean of its neighbours, in rounds outwards from the known ones.

    .. math:: \mu_v = \Big(\sum_u \Sigma_u^{-1}\Big)^{-1} \sum_u \Sigma_u^{-1} \mu_u

    A node that no known node is connected with starts without an opinion.
    """
    known = torch.ones(graph.num_nodes, dtype=torch.bool).index_fill_(0, new, False)
    left = new
    while len(left):
        structure, _ = graph.adjacency.at_rows(left)
        heard = known[structure.indices]
        rows, neighbours = structure.rows[heard], structure.indices[heard]
        reached = torch.bincount(rows, minlength=len(left)) > 0
        if not reached.any():
            distribution.set_undecided(graph.node_ids[left])
            return
        distribution.set_mean(graph.node_ids[left], graph.node_ids[neighbours], rows)
        known[left[reached]] = True
        left = left[~reached]


def _descend(method: ConfGCN, part: Graph, rows: Tensor) -> None:
    """Adam on these rows alone."""
    tables = list(method.label_distribution.parameters())
    leaves = [table.detach()[rows].requires_grad_() for table in tables]
    optimiser = torch.optim.Adam(leaves, lr=method.confidence_learning_rate or LEARNING_RATE)
    for _ in range(STEPS):
        terms = method.loss_terms(part, method(part))
        loss = torch.stack([term.value() for term in terms.values() if term.count != 0]).sum()  # a part may lack labels
        gradients = torch.autograd.grad(loss, tables, allow_unused=True)
        for leaf, gradient in zip(leaves, gradients, strict=True):
            leaf.grad = None if gradient is None else gradient[rows]
        optimiser.step()
        with torch.no_grad():
            for table, leaf in zip(tables, leaves, strict=True):
                table[rows] = leaf
