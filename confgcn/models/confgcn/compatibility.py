"""The compatibility of labels: which labels the two ends of an edge have, estimated from the training labels."""

from __future__ import annotations

import torch
from torch import Tensor

from confgcn.graph import Graph
from confgcn.kernels import kernels_for

LENGTHS = 5  # of the paths that are counted
RATIO = 10.0  # of the weight of a length to that of the next shorter one: long paths join many more labels
RIDGE = 1e-3  # on the logarithms: classes that no path joins keep a compatibility near that of independent labels
BALANCING_STEPS, MAX_ITERATIONS = 30, 100


def estimate_compatibility(graph: Graph) -> Tensor:
    r"""H, (C, C), symmetric, rows sum to one: :math:`H_{cd}` is the share of label d among neighbours of label c.

    Few pairs of neighbours are both labelled. Kumar, Krishnamurthy, Gatterbauer (Factorized graph representations for
    semi-supervised learning from sparse data, SIGMOD 2020) fit the powers of H to the labels at the two ends of longer
    paths that never turn back:

    .. math:: \min_H \sum_{l=1}^{5} 10^{\,l-1} \| H^l - \hat{P}^{(l)} \|^2

    Without any labelled pair H is uniform.
    """
    observed, weights = _label_statistics(graph)
    size = graph.num_classes
    raw = torch.zeros(size, size, dtype=torch.double, requires_grad=True)
    optimiser = torch.optim.LBFGS([raw], max_iter=MAX_ITERATIONS, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimiser.zero_grad()
        compatibility, power = balanced(raw), torch.eye(size, dtype=torch.double)
        value = RIDGE * raw.square().mean()
        for matrix, weight in zip(observed, weights, strict=True):
            power = power @ compatibility
            value = value + weight * (power - matrix).square().sum()
        value.backward()
        return value

    with torch.enable_grad():
        optimiser.step(loss)
    return balanced(raw).detach().float()


def balanced(raw: Tensor) -> Tensor:
    """The exponential of the symmetric part, scaled alternately until rows and columns sum to one, (C, C)."""
    matrix = ((raw + raw.T) / 2).exp()
    for _ in range(BALANCING_STEPS):
        scale = matrix.sum(1).rsqrt()
        matrix = scale[:, None] * matrix * scale[None, :]
    return matrix


def _label_statistics(graph: Graph) -> tuple[list[Tensor], list[float]]:
    """The labels at the other end of paths of each length, (C, C) each with rows that sum to one, and weights.

    Paths that never turn back: N_1 = A, N_2 = A^2 - D, N_l = A N_(l-1) - (D - 1) N_(l-2), applied to one-hot labels.
    """
    edges = graph.neighbour_weights
    multiply = kernels_for(edges.values).multiply
    labels = torch.zeros(graph.num_nodes, graph.num_classes, dtype=torch.double)
    labels[graph.train, graph.train_labels] = 1.0
    degrees = multiply(edges.structure, edges.values, torch.ones(graph.num_nodes, 1, dtype=torch.double))
    counts = [labels, multiply(edges.structure, edges.values, labels)]
    counts.append(multiply(edges.structure, edges.values, counts[1]) - degrees * labels)
    for _ in range(3, LENGTHS + 1):
        following = multiply(edges.structure, edges.values, counts[-1]) - (degrees - 1.0) * counts[-2]
        counts.append(following.clamp_(min=0.0))  # weights below one would make counts of returning paths too large
    observed, weights = [], []
    for length, count in enumerate(counts[1:]):
        pairs = labels.T @ count
        pairs = (pairs + pairs.T).clamp_(min=0.0) / 2
        total = float(pairs.sum())
        weights.append(RATIO**length if total > 0 else 0.0)
        pairs = pairs + 1e-9 * max(total, 1.0)
        observed.append(pairs / pairs.sum(1, keepdim=True))
    return observed, [weight / max(sum(weights), 1.0) for weight in weights]
