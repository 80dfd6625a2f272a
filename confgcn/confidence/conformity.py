"""How ill each label conforms to what is predicted for a node: the scores that prediction sets are made of."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor

from confgcn.confidence.neighbourhood import neighbour_mean
from confgcn.exceptions import DataError, unknown_name
from confgcn.graph import Graph

Score = Literal["aps", "diffused", "raps", "threshold"]

RANK_PENALTY = 0.1  # lambda of RAPS, on probabilities of a handful of classes (its paper: 0.001 to 1 on 1000 classes)
FREE_RANKS = 1  # k_reg of RAPS: the first label costs nothing
TIE_BREAK = 1e-9  # equal probabilities, of nodes that hear the same, are put in a random order
DIFFUSION = 0.5  # of DAPS: as much from the neighbours as from the node


def label_scores(graph: Graph, probabilities: Tensor, score: Score, *, seed: int = 0) -> Tensor:
    """The score of every label of every node, (N, C), low for a label that fits.

    - ``threshold``: 1 - p. Sadinle, Lei, Wasserman, JASA 2019. The smallest sets, on the citation graphs too.
    - ``aps``: Romano, Sesia, Candès, NeurIPS 2020 (:func:`adaptive_scores`). Sets that grow with the difficulty.
    - ``raps``: with a penalty on long sets. Angelopoulos, Bates, Malik, Jordan, ICLR 2021.
    - ``diffused``: DAPS, Zargarbashi, Antonelli, Bojchevski, ICML 2023: half the node's score of ``aps`` and half the
      mean of its neighbours'.
    """
    if score not in get_args(Score):
        raise unknown_name("score", score, get_args(Score))
    if probabilities.shape != (graph.num_nodes, graph.num_classes):
        raise DataError(
            f"probabilities: expected {(graph.num_nodes, graph.num_classes)}, a row per node and a column per class, "
            f"got {tuple(probabilities.shape)}"
        )
    draws = node_draws(graph, seed)
    if score == "threshold":
        return (1.0 - probabilities.double()).add_((TIE_BREAK * draws)[:, None])
    if score == "raps":
        return adaptive_scores(probabilities, draws) + rank_penalty(probabilities)
    own = adaptive_scores(probabilities, draws)
    return own if score == "aps" else (1 - DIFFUSION) * own + DIFFUSION * neighbour_mean(graph, own)


def adaptive_scores(probabilities: Tensor, draws: Tensor) -> Tensor:
    r"""The probability of all likelier labels, and a random share of the label's own, (N, C).

    .. math:: s_v(y) = \sum_{c : p_v(c) > p_v(y)} p_v(c) + u_v \, p_v(y)

    Without u, uniform on [0, 1], scores would come in lumps, and sets would cover more than they are asked to.
    """
    ordered, labels = probabilities.double().sort(dim=1, descending=True, stable=True)
    scores = ordered.cumsum(1) - (1.0 - draws[:, None]) * ordered
    return torch.empty_like(scores).scatter_(1, labels, scores)


def rank_penalty(probabilities: Tensor) -> Tensor:
    r""":math:`\lambda \max(0, \mathrm{rank}_v(y) - k)`, (N, C), with ranks from one for the likeliest label."""
    labels = probabilities.double().argsort(dim=1, descending=True, stable=True)
    ranks = torch.empty_like(labels).scatter_(1, labels, torch.arange(1, labels.size(1) + 1).expand_as(labels))
    return RANK_PENALTY * (ranks - FREE_RANKS).clamp(min=0)


def node_draws(graph: Graph, seed: int) -> Tensor:
    """u of each node, (N,): it goes with the node's id, whatever its place in the graph."""
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(int(graph.node_ids.max()) + 1, generator=generator, dtype=torch.float64)[graph.node_ids]
