r"""What is said of a node that no label speaks for, and what decides between classes that are equally likely.

The prior of a class grows with its training nodes, and a little with how often it is found:

.. math:: \pi_c \propto (n_c + 1) (1 + \tau s_c)

with :math:`n_c` the number of training nodes of class c and :math:`s_c` its mean probability over the nodes of which
something is known. So of classes with equally many labels the one that is found more often is said, and the order of
the classes decides only where all else is equal.
"""

from __future__ import annotations

import torch
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from confgcn.graph import Graph

PRIOR_SHARE = 1e-3  # of every answer: no probability is zero, and equal ones are told apart
TILT = 0.05  # tau


def class_prior(graph: Graph, known: Tensor) -> Tensor:
    """The prior, (C,), for the probabilities (n, C) of the nodes of which something is known.

    Of a part of a graph it is that of the whole: all parts ask for it at the same time.
    """
    labels = torch.bincount(graph.train_labels, minlength=graph.num_classes)
    found = torch.cat(
        [known.sum(0, dtype=torch.double), labels.double(), torch.tensor([len(known)], dtype=torch.double)]
    )
    sums, counts, number = graph.over_all_parts(found).split([graph.num_classes, graph.num_classes, 1])
    prior: Tensor = (counts + 1) * (1 + TILT * sums / number.clamp(min=1))
    return (prior / prior.sum()).to(known.dtype)


def log_probabilities(graph: Graph, scores: Tensor, reached: Tensor) -> Tensor:
    """Class scores as log-probabilities, with the prior where there is nothing else to say, (N, C).

    A reached node's scores, divided by their sum, are mixed with a thousandth of the prior, which decides between
    equal ones; any other node gets the prior alone.

    Shapes: ``scores`` (N, C), not negative; ``reached`` (N,), true where scores are to be believed.
    """
    found = scores / scores.sum(1, keepdim=True).clamp(min=torch.finfo(scores.dtype).tiny)
    prior = class_prior(graph, found.detach()[reached])
    mixed = (1 - PRIOR_SHARE) * found + PRIOR_SHARE * prior
    return torch.where(reached[:, None], mixed, prior).log()


def prior_where_silent(graph: Graph, logits: Tensor, nodes: Tensor | None) -> Tensor:
    """The logits of these nodes (None: of all), and the prior's where there was nothing to go by, (n, C).

    That is a node without features, neighbours and label, whatever a method's biases say of it, and one all of whose
    logits are equal.
    """
    blank = graph.is_blank if nodes is None else graph.is_blank[nodes]
    is_silent = blank | (logits == logits[:, :1]).all(1)
    if not graph.over_all_parts(is_silent.sum()):
        return logits
    prior = class_prior(graph, logits[~is_silent].softmax(-1))
    return torch.where(is_silent[:, None], prior.log(), logits)


def reached_by_labels(graph: Graph) -> Tensor:
    """Is there a training node in the component of each node? (N,)"""
    matrix = graph.adjacency.with_ones().to_scipy()
    component = torch.from_numpy(connected_components(matrix, directed=False)[1]).long()
    return torch.isin(component, component[graph.train])
