"""What is said of a node that no label speaks for, and what decides between classes that are equally likely."""

from __future__ import annotations

import torch
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from confgcn.graph import Graph

PRIOR_SHARE = 1e-3  # of every answer: no probability is zero, and equal ones are told apart
TILT = 0.05  # of the prior towards classes that are found more often


def log_probabilities(graph: Graph, scores: Tensor, reached: Tensor) -> Tensor:
    r"""Class scores as log-probabilities, with the prior where there is nothing else to say, (N, C).

    A reached node's scores, divided by their sum, are mixed with a thousandth of the prior; any other node gets the
    prior alone:

    .. math:: \pi_c \propto (n_c + 1) (1 + \tau s_c)

    with :math:`n_c` the number of training nodes of class c and :math:`s_c` the mean probability of c over the
    reached nodes. So of equally frequent classes the one that is found more often is said, and of equally likely
    ones at a node the one with the larger prior. It is never decided by the order of the classes unless all else is
    equal.

    Shapes: ``scores`` (N, C), not negative; ``reached`` (N,), true where scores are to be believed.
    """
    found = scores / scores.sum(1, keepdim=True).clamp(min=torch.finfo(scores.dtype).tiny)
    share = found.detach()[reached].mean(0) if reached.any() else torch.zeros_like(found[0])
    counts = torch.bincount(graph.train_labels, minlength=graph.num_classes).to(scores.dtype)
    prior = (counts + 1) * (1 + TILT * share)
    prior = prior / prior.sum()
    mixed = (1 - PRIOR_SHARE) * found + PRIOR_SHARE * prior
    return torch.where(reached[:, None], mixed, prior).log()


def reached_by_labels(graph: Graph) -> Tensor:
    """Is there a training node in the component of each node? (N,)"""
    matrix = graph.adjacency.with_ones().to_scipy()
    component = torch.from_numpy(connected_components(matrix, directed=False)[1]).long()
    return torch.isin(component, component[graph.train])
