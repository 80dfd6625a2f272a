"""LP, label propagation: the scores of a node are the mean of its neighbours' scores; features are not used."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from scipy.sparse.linalg import aslinearoperator
from torch import Tensor

from confgcn.graph import Graph
from confgcn.models.base import AbstractMethod, Prediction, Shape
from confgcn.models.prior import log_probabilities, reached_by_labels
from confgcn.ops.solver import FloatArray, solve

BoolArray = npt.NDArray[np.bool_]


class LabelPropagation(AbstractMethod):
    r"""Zhu, Ghahramani, Lafferty: Semi-supervised learning using Gaussian fields and harmonic functions, ICML 2003.

    .. math:: (D_{uu} - W_{uu}) F_u = W_{ul} Y_l

    for the labelled nodes l and the unlabelled nodes u that are connected to them; W holds the weights of the edges,
    without self loops. A node in a component without a label gets the prior (``confgcn.models.prior``).

    Args:
        mass_normalisation: scale the column of class c so that its sum over u is proportional to the smoothed share
            :math:`q_c` of the class among the labels (section 4 of the paper). Without it one class can win nearly
            all nodes of a large component.

    Shapes: ``log_probabilities`` (N, C).
    """

    log_probabilities: Tensor

    def __init__(self, shape: Shape, *, mass_normalisation: bool = True) -> None:
        super().__init__()
        self.mass_normalisation = mass_normalisation
        self.register_buffer("log_probabilities", torch.zeros(shape.num_nodes, shape.num_classes))

    def forward(self, graph: Graph, nodes: Tensor | None = None) -> Prediction:
        return Prediction(self.log_probabilities[graph.node_rows])

    def setup(self, graph: Graph) -> None:
        reached = reached_by_labels(graph)
        labelled = np.zeros(graph.num_nodes, dtype=bool)
        labelled[graph.train.numpy()] = True
        unlabelled = reached.numpy() & ~labelled
        scores = np.zeros((graph.num_nodes, graph.num_classes))
        scores[graph.train.numpy(), graph.train_labels.numpy()] = 1.0
        if unlabelled.any():
            harmonic = harmonic_scores(graph, scores[labelled], labelled, unlabelled)
            scores[unlabelled] = harmonic * self.class_weights(graph, harmonic)
        self.log_probabilities.copy_(log_probabilities(graph, torch.from_numpy(scores), reached))

    def class_weights(self, graph: Graph, harmonic: FloatArray) -> FloatArray:
        """The factor of the scores of each class, (C,)."""
        if not self.mass_normalisation:
            return np.ones(graph.num_classes)
        counts = np.bincount(graph.train_labels.numpy(), minlength=graph.num_classes)
        mass = harmonic.sum(0)
        weights: FloatArray = np.divide(counts + 1.0, mass, out=np.zeros_like(mass), where=mass > 0)
        return weights


def harmonic_scores(graph: Graph, known: FloatArray, labelled: BoolArray, unlabelled: BoolArray) -> FloatArray:
    """F_u, (unlabelled, C), for the Y_l of the labelled nodes."""
    adjacency = graph.neighbour_weights.to_scipy()  # W
    degrees = adjacency.sum(1)[unlabelled]
    laplacian = sp.diags_array(degrees) - adjacency[unlabelled][:, unlabelled]
    solution = solve(aslinearoperator(laplacian), adjacency[unlabelled][:, labelled] @ known, diagonal=degrees)
    scores: FloatArray = solution.clip(min=0.0)  # the solver may return zeros as small negative numbers
    return scores
