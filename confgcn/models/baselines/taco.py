"""TACO: label scores with confidences, propagated over the graph; features are not used."""

from __future__ import annotations

import torch
from torch import Tensor

from confgcn.graph import Graph
from confgcn.models.base import AbstractMethod, Prediction, Shape
from confgcn.models.prior import log_probabilities
from confgcn.models.ranges import Count, Positive
from confgcn.ops import aggregate
from confgcn.sparse import SparseMatrix


class TACO(AbstractMethod):
    r"""Orbach, Crammer: Graph-based transduction with confidence, ECML PKDD 2012.

    For every class separately, with diagonal covariances s; jointly convex in mu and s:

    .. math:: \min \frac{1}{4} \sum_{uv} (\mu_u - \mu_v)^2 (s_u^{-1} + s_v^{-1})
              + \frac{1}{2} \sum_{v \in V_l} (\mu_v - y_v)^2 (s_v^{-1} + \gamma^{-1})
              + \alpha \sum_v s_v - \beta \sum_v \log s_v

    over the edges in both directions. A sweep sets every mu to its minimum with all else fixed, then every s:

    .. math:: \mu_v = \frac{\sum_u (s_u^{-1} + s_v^{-1}) \mu_u + d_v (s_v^{-1} + \gamma^{-1}) y_v}
                           {\sum_u (s_u^{-1} + s_v^{-1}) + d_v (s_v^{-1} + \gamma^{-1})}, \quad
              s_v = \frac{\beta + \sqrt{\beta^2 + 2 \alpha R_v}}{2 \alpha}

    with :math:`R_v = \sum_u (\mu_u - \mu_v)^2 + d_v (\mu_v - y_v)^2` and :math:`d_v` = 1 at labelled nodes, else 0.
    mu starts at zero; divided by its sum it is the probability. A node whose mu stays zero gets the prior
    (``confgcn.models.prior``). In a component without labels the precision :math:`1 / s = \alpha / \beta` is the
    largest possible one: the objective penalises disagreement, not missing evidence.

    Shapes: ``mu``, ``precision``, ``log_probabilities`` (N, C).
    """

    mu: Tensor
    precision: Tensor
    log_probabilities: Tensor

    def __init__(
        self, shape: Shape, *, alpha: Positive = 1.0, beta: Positive = 1.0, gamma: Positive = 1.0, sweeps: Count = 50
    ) -> None:
        super().__init__()
        self.alpha, self.beta, self.gamma, self.sweeps = alpha, beta, gamma, sweeps
        for name in ("mu", "precision", "log_probabilities"):
            self.register_buffer(name, torch.zeros(shape.num_nodes, shape.num_classes))

    def forward(self, graph: Graph, nodes: Tensor | None = None) -> Prediction:
        rows = graph.node_rows
        return Prediction(self.log_probabilities[rows], mu=self.mu[rows], precision=self.precision[rows])

    @torch.no_grad()
    def setup(self, graph: Graph) -> None:
        y = torch.zeros(graph.num_nodes, graph.num_classes, dtype=torch.double)
        y[graph.train] = graph.train_one_hot.double()
        d = y.sum(1, keepdim=True)
        mu = torch.zeros_like(y)
        s = torch.full_like(y, self.beta / self.alpha)  # where R = 0
        for _ in range(self.sweeps):
            mu = self.best_mu(graph.neighbour_weights, mu, s, y, d)
            s = self.best_covariance(graph.neighbour_weights, mu, y, d)
        self.mu.copy_(mu)
        self.precision.copy_(1.0 / s)
        self.log_probabilities.copy_(log_probabilities(graph, mu, reached=mu.sum(1) > 0))

    def best_mu(self, edges: SparseMatrix, mu: Tensor, s: Tensor, y: Tensor, d: Tensor) -> Tensor:
        """The minimum over each mu with all else fixed; zero without neighbours and label, (N, C)."""
        precision, known = 1.0 / s, d * (1.0 / s + 1.0 / self.gamma)
        above = _sum(edges, precision * mu) + precision * _sum(edges, mu) + known * y
        below = _sum(edges, precision) + precision * _sum(edges, torch.ones_like(mu)) + known
        return torch.where(below > 0, above / below, 0.0)

    def best_covariance(self, edges: SparseMatrix, mu: Tensor, y: Tensor, d: Tensor) -> Tensor:
        """The minimum over each s with mu fixed, (N, C)."""
        degrees = _sum(edges, torch.ones_like(mu))
        disagreement = _sum(edges, mu.square()) - 2.0 * mu * _sum(edges, mu) + degrees * mu.square()
        r = disagreement.clamp(min=0.0) + d * (mu - y).square()  # rounding can put a sum of squares below zero
        return (self.beta + (self.beta**2 + 2.0 * self.alpha * r).sqrt()) / (2.0 * self.alpha)


def _sum(edges: SparseMatrix, values: Tensor) -> Tensor:
    """The weighted sum over the neighbours of each node."""
    return aggregate(edges.structure, edges.values, values)
