"""ManiReg, manifold regularisation: a linear model of the features with similar scores at neighbours."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch
from scipy.sparse.linalg import LinearOperator
from torch import Tensor

from confgcn.graph import Graph
from confgcn.models.base import InductiveMethod, Prediction, Shape
from confgcn.models.ranges import NonNegative, Positive
from confgcn.ops import matmul
from confgcn.ops.solver import FloatArray, solve
from confgcn.sparse import SparseMatrix

FLOOR = 1e-3  # least squares can give negative probabilities


class ManiReg(InductiveMethod):
    r"""Belkin, Niyogi, Sindhwani: Manifold regularization, JMLR 2006; Laplacian regularised least squares, linear.

    The scores of class c are :math:`f = q_c + X w`, where :math:`q_c` is the class's share of the l labels and

    .. math:: w = \arg\min \frac{1}{l} \sum_{v \in V_l} (y_v - f_v)^2 + \gamma_A \|w\|^2
              + \frac{\gamma_I}{n^2} f^T L f

    with L = D - W of the given graph, so that :math:`(X^T J X + \gamma_A l I + \frac{\gamma_I l}{n^2} X^T L X) w
    = X^T J (y - q)`, J the diagonal of the labelled nodes. For targets of zero and one f estimates the probability
    of the class; the scores of a node sum to one, and scores below ``FLOOR`` are set to it.

    Args:
        ambient: :math:`\gamma_A l`, the weight of the norm relative to the sum over the labels.
        intrinsic: :math:`\gamma_I l / n^2`, the weight of the differences along edges.

    Shapes: ``weight`` (F, C), ``share`` (C,).
    """

    weight: Tensor
    share: Tensor

    def __init__(self, shape: Shape, *, ambient: Positive = 0.005, intrinsic: NonNegative = 0.045) -> None:
        super().__init__()
        self.ambient = ambient
        self.intrinsic = intrinsic
        self.register_buffer("weight", torch.zeros(shape.num_features, shape.num_classes))
        self.register_buffer("share", torch.zeros(shape.num_classes))

    def forward(self, graph: Graph, nodes: Tensor | None = None) -> Prediction:
        scores = self.share + matmul(graph.receptive_field(nodes, depth=0).features, self.weight)
        return Prediction(scores.clamp(min=FLOOR).log(), nodes=nodes)

    def setup(self, graph: Graph) -> None:
        targets = graph.train_one_hot.double()  # y of every class
        share = targets.mean(0)  # q
        features = as_scipy(graph.features)  # X
        known = features[graph.train.numpy()]
        right = known.T @ (targets - share).numpy()
        operator, diagonal = self.system(graph, features, known)
        self.weight.copy_(torch.from_numpy(solve(operator, right, diagonal=diagonal)))
        self.share.copy_(share)

    def system(self, graph: Graph, features: sp.csr_array, known: sp.csr_array) -> tuple[LinearOperator, FloatArray]:
        """The matrix of the equation for w, as an operator, and its diagonal."""
        adjacency = graph.neighbour_weights.to_scipy()  # W
        degrees = adjacency.sum(1)
        laplacian = sp.diags_array(degrees) - adjacency  # L

        def times(w: FloatArray) -> FloatArray:
            smooth = features.T @ (laplacian @ (features @ w))
            product: FloatArray = known.T @ (known @ w) + self.ambient * w + self.intrinsic * smooth
            return product

        # An approximation without the off-diagonal entries of L: it is only used as a preconditioner.
        diagonal = known.power(2).sum(0) + self.ambient + self.intrinsic * (features.power(2).T @ degrees)
        return LinearOperator((graph.num_features, graph.num_features), matvec=times, dtype=np.float64), diagonal


def as_scipy(features: Tensor | SparseMatrix) -> sp.csr_array:
    """Features in double precision."""
    if isinstance(features, SparseMatrix):
        return features.with_values(features.values.double()).to_scipy()
    return sp.csr_array(features.double().numpy())
