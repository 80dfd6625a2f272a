r"""The class prior: the prediction for nodes without any information, and the tie-breaker between equal scores.

.. math:: \pi_c \propto (n_c + 1) (1 + \tau s_c)

:math:`n_c` is the number of training nodes of class c and :math:`s_c` its mean probability over the informed nodes.
Among classes with equally many labels the one that is predicted more often is preferred; the order of the classes
decides only if these are equal too.
"""

from __future__ import annotations

import torch
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from confgcn.graph import Graph

PRIOR_SHARE = 1e-3  # of every class distribution: no probability is zero, and ties are broken
TILT = 0.05  # tau


def class_prior(graph: Graph, informed: Tensor) -> Tensor:
    """The prior, (C,), from the probabilities (n, C) of the informed nodes.

    In a shard of a graph it is the prior of the whole graph: all shards must call it together.
    """
    labels = torch.bincount(graph.train_labels, minlength=graph.num_classes)
    number = torch.tensor([len(informed)], dtype=torch.double, device=informed.device)
    own = torch.cat([informed.sum(0, dtype=torch.double), labels.double(), number])
    sums, counts, number = graph.sum_over_shards(own).split([graph.num_classes, graph.num_classes, 1])
    prior: Tensor = (counts + 1) * (1 + TILT * sums / number.clamp(min=1))
    return (prior / prior.sum()).to(informed.dtype)


def log_probabilities(graph: Graph, scores: Tensor, reached: Tensor) -> Tensor:
    """Class scores as log-probabilities, (N, C); nodes that are not reached get the prior.

    The scores of a reached node are divided by their sum and mixed with a share of ``PRIOR_SHARE`` of the prior.

    Shapes: ``scores`` (N, C), not negative; ``reached`` (N,), bool.
    """
    normalised = scores / scores.sum(1, keepdim=True).clamp(min=torch.finfo(scores.dtype).tiny)
    prior = class_prior(graph, normalised.detach()[reached])
    mixed = (1 - PRIOR_SHARE) * normalised + PRIOR_SHARE * prior
    return torch.where(reached[:, None], mixed, prior).log()


def prior_where_uninformed(graph: Graph, logits: Tensor, nodes: Tensor | None) -> Tensor:
    """The logits of these nodes (None: of all), with those of the prior at uninformed nodes, (n, C).

    Uninformed is a node without features, neighbours and label, and one whose logits are all equal.
    """
    blank = graph.is_uninformative if nodes is None else graph.is_uninformative[nodes]
    is_uninformed = blank | (logits == logits[:, :1]).all(1)
    if not graph.sum_over_shards(is_uninformed.sum()):
        return logits
    prior = class_prior(graph, logits[~is_uninformed].softmax(-1))
    return torch.where(is_uninformed[:, None], prior.log(), logits)


def reached_by_labels(graph: Graph) -> Tensor:
    """Is there a training node in the connected component of each node? (N,)"""
    matrix = graph.neighbour_weights.to_scipy() > 0  # an edge of weight zero connects nothing
    component = torch.from_numpy(connected_components(matrix, directed=False)[1]).long()
    return torch.isin(component, component[graph.train])
