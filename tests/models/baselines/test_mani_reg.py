"""Manifold regularisation against dense algebra: the closed form, and the objective whose minimum it is."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor

from confgcn.graph import Graph
from confgcn.models.base import Shape
from confgcn.models.baselines.mani_reg import FLOOR, ManiReg
from confgcn.sparse import SparseMatrix

NUM_NODES = 15

sparse_or_dense = pytest.mark.parametrize("sparse", [True, False], ids=["sparse", "dense"])
some_weights = pytest.mark.parametrize(("ambient", "intrinsic"), [(0.005, 0.045), (1.0, 0.3), (0.2, 0.0)])


def random_graph(*, sparse: bool = False) -> Graph:
    """A third of the features are zero; three classes, seven labels."""
    random = np.random.default_rng(1)
    features = random.normal(size=(NUM_NODES, 6)) * (random.random((NUM_NODES, 6)) < 0.67)
    labels = random.integers(3, size=NUM_NODES)
    edges = random.integers(NUM_NODES, size=(25, 2))
    given = sp.csr_matrix(features) if sparse else features
    graph = Graph.build(edges, given, labels, train=[0, 2, 3, 7, 8, 11, 14])
    assert isinstance(graph.features, SparseMatrix) is sparse
    return graph


def fitted(graph: Graph, **settings: float) -> ManiReg:
    """In float64."""
    method = ManiReg(Shape.of(graph), **settings).double()
    method.setup(graph.training_view())
    return method


def dense_features() -> Tensor:
    features = random_graph().features
    assert isinstance(features, Tensor)
    return features.double()


def dense_laplacian(graph: Graph) -> Tensor:
    adjacency = torch.zeros(NUM_NODES, NUM_NODES, dtype=torch.double)
    adjacency[graph.neighbours.rows, graph.neighbours.indices] = 1.0
    return torch.diag(adjacency.sum(1)) - adjacency


def objective(graph: Graph, weight: Tensor, *, ambient: float, intrinsic: float) -> Tensor:
    """As printed, with gamma_A = ambient / l and gamma_I = intrinsic n^2 / l, summed over the classes."""
    y = torch.eye(3, dtype=torch.double)[graph.train_labels]
    count = len(y)
    gamma_a, gamma_i = ambient / count, intrinsic * NUM_NODES**2 / count
    f = y.mean(0) + dense_features() @ weight
    smooth = torch.trace(f.T @ dense_laplacian(graph) @ f)
    fit = (y - f[graph.train]).square().sum() / count
    return fit + gamma_a * weight.square().sum() + gamma_i / NUM_NODES**2 * smooth


@sparse_or_dense
@some_weights
def test_weights_are_the_closed_form(sparse: bool, ambient: float, intrinsic: float) -> None:
    graph = random_graph(sparse=sparse)
    x, laplacian = dense_features().numpy(), dense_laplacian(graph).numpy()
    train = graph.train.numpy()
    y = np.eye(3)[graph.train_labels]
    system = x[train].T @ x[train] + ambient * np.eye(6) + intrinsic * x.T @ laplacian @ x
    expected = np.linalg.solve(system, x[train].T @ (y - y.mean(0)))
    method = fitted(graph, ambient=ambient, intrinsic=intrinsic)
    np.testing.assert_allclose(method.weight, expected, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(method.share, y.mean(0))


@some_weights
def test_the_gradient_of_the_printed_objective_is_zero(ambient: float, intrinsic: float) -> None:
    graph = random_graph()
    weight = fitted(graph, ambient=ambient, intrinsic=intrinsic).weight.requires_grad_()
    value = objective(graph, weight, ambient=ambient, intrinsic=intrinsic)
    (gradient,) = torch.autograd.grad(value, weight)
    assert gradient.abs().max() < 1e-8


def test_no_intrinsic_weight_is_ridge_regression() -> None:
    graph = random_graph()
    x = dense_features()[graph.train]
    y = torch.eye(3, dtype=torch.double)[graph.train_labels]
    rows = torch.cat([x, 0.7**0.5 * torch.eye(6, dtype=torch.double)])  # the norm as further targets of zero
    targets = torch.cat([y - y.mean(0), torch.zeros(6, 3, dtype=torch.double)])
    expected = torch.linalg.lstsq(rows, targets).solution
    torch.testing.assert_close(fitted(graph, ambient=0.7, intrinsic=0.0).weight, expected, rtol=1e-7, atol=1e-9)


def test_a_larger_intrinsic_weight_makes_scores_smoother() -> None:
    graph = random_graph()
    scores = [dense_features() @ fitted(graph, ambient=0.01, intrinsic=g).weight for g in (0.0, 0.05, 0.5, 5.0)]
    roughness = [float(torch.trace(f.T @ dense_laplacian(graph) @ f)) for f in scores]
    assert all(after < 0.9 * before for before, after in pairwise(roughness))


@sparse_or_dense
def test_logits_are_scores_that_sum_to_one_raised_to_the_floor(sparse: bool) -> None:
    graph = random_graph(sparse=sparse)
    method = fitted(graph, ambient=0.01, intrinsic=0.01)
    scores = method.share + dense_features() @ method.weight
    torch.testing.assert_close(scores.sum(1), torch.ones(NUM_NODES, dtype=torch.double), rtol=0, atol=1e-8)
    assert (scores < FLOOR).any()
    expected = scores.clamp(min=FLOOR).float()
    torch.testing.assert_close(method.float()(graph).logits.exp(), expected, rtol=1e-5, atol=1e-6)
