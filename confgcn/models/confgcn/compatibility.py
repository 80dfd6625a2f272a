"""The compatibility of labels: which labels the two ends of an edge have, estimated from the training labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from confgcn.graph import Graph
from confgcn.kernels import kernels_for

LENGTHS = 5  # of the paths that are counted
STARTS = (0.0, 1.0, -1.0)  # of the diagonal of log H: a uniform start alone ends at H = 1/C, where powers are flat
BALANCING_STEPS, MAX_ITERATIONS = 30, 100


def estimate_compatibility(graph: Graph) -> Tensor:
    r"""H, (C, C), symmetric, rows sum to one: :math:`H_{cd}` is the share of label d among neighbours of label c.

    Few pairs of neighbours are both labelled. Kumar, Krishnamurthy, Gatterbauer (Factorized graph representations for
    semi-supervised learning from sparse data, SIGMOD 2020) fit the powers of H to the labels at the two ends of longer
    paths that never turn back:

    .. math:: \min_H \sum_{l=1}^{5} n_l \| H^l - \hat{P}^{(l)} \|^2 + \| S \|^2, \qquad H = \mathrm{balanced}(S)

    They weigh a length by :math:`10^{l-1}`. Here it is weighed by the number :math:`n_l` of its paths between labelled
    nodes, so that the estimate is near uniform where these are few. Without any, H is uniform.
    """
    observed, weights = _label_statistics(graph)
    found = [_fitted(observed, weights, start * torch.eye(graph.num_classes, dtype=torch.double)) for start in STARTS]
    raw, _ = min(found, key=lambda pair: pair[1])
    return balanced(raw).float()


def _fitted(observed: Sequence[Tensor], weights: Sequence[float], start: Tensor) -> tuple[Tensor, float]:
    """The minimum near this start, and its objective."""
    raw = start.requires_grad_()
    optimiser = torch.optim.LBFGS([raw], max_iter=MAX_ITERATIONS, line_search_fn="strong_wolfe")

    def objective() -> Tensor:
        compatibility, power = balanced(raw), torch.eye(len(raw), dtype=torch.double)
        value = raw.square().sum()
        for matrix, weight in zip(observed, weights, strict=True):
            power = power @ compatibility
            value = value + weight * (power - matrix).square().sum()
        return value

    def differentiated() -> Tensor:
        optimiser.zero_grad()
        value = objective()
        value.backward()
        return value.detach()

    with torch.enable_grad():
        optimiser.step(differentiated)
    return raw.detach(), float(objective().detach().nan_to_num(math.inf))


def balanced(raw: Tensor) -> Tensor:
    """The exponential of the symmetric part, scaled alternately until rows and columns sum to one, (C, C)."""
    matrix = ((raw + raw.T) / 2).exp()
    for _ in range(BALANCING_STEPS):
        scale = matrix.sum(1).rsqrt()
        matrix = scale[:, None] * matrix * scale[None, :]
    return matrix


def _label_statistics(graph: Graph) -> tuple[list[Tensor], list[float]]:
    """The labels at the other end of paths of each length, (C, C) each with rows that sum to one, and their numbers.

    Paths that never turn back: N_1 = A, N_2 = A^2 - D, N_l = A N_(l-1) - (D - 1) N_(l-2), applied to one-hot labels.
    Weights of edges are divided by their mean.
    """
    edges = graph.neighbour_weights.to("cpu")
    values = edges.values / edges.values.mean().clamp(min=torch.finfo(torch.double).tiny)
    multiply = partial(kernels_for(values).multiply, edges.structure, values)
    labels = torch.zeros(graph.num_nodes, graph.num_classes, dtype=torch.double)
    labels[graph.train.cpu(), graph.train_labels.cpu()] = 1.0
    degrees = multiply(torch.ones(graph.num_nodes, 1, dtype=torch.double))
    counts = [labels, multiply(labels)]
    counts.append(multiply(counts[1]) - degrees * labels)
    for _ in range(3, LENGTHS + 1):
        following = multiply(counts[-1]) - (degrees - 1.0) * counts[-2]
        counts.append(following.clamp_(min=0.0))  # weights below one would make counts of returning paths too large
    observed, weights = [], []
    for count in counts[1:]:
        pairs = labels.T @ count
        pairs = (pairs + pairs.T).clamp_(min=0.0) / 2
        weights.append(float(pairs.sum()))
        pairs = pairs + 1e-9 * max(weights[-1], 1.0)
        observed.append(pairs / pairs.sum(1, keepdim=True))
    return observed, weights
