"""Every term of the objectives against a version written with loops, values and gradients, on six nodes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck

from confgcn.graph import Graph
from confgcn.models.confgcn import losses
from confgcn.models.confgcn.label_distribution import covariance
from confgcn.ops import edge_distance

pytestmark = pytest.mark.usefixtures("each_kernels")

TOLERANCE = 1e-9
CLASSES = 3


@pytest.fixture
def mu() -> Tensor:
    return torch.randn(6, CLASSES, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).requires_grad_()


@pytest.fixture
def precision() -> Tensor:
    """Some of them negative, as they may become in training."""
    return torch.randn(6, CLASSES, dtype=torch.float64, generator=torch.Generator().manual_seed(2)).requires_grad_()


def edges(graph: Graph) -> list[tuple[int, int]]:
    return list(zip(graph.adjacency.indices.tolist(), graph.adjacency.rows.tolist(), strict=True))


def slow_distance(mu: Tensor, precision: Tensor, u: int, v: int) -> Tensor:
    total = mu.new_zeros(())
    for j in range(CLASSES):
        total = total + (mu[u, j] - mu[v, j]) ** 2 * (precision[u, j] + precision[v, j])
    return total


def assert_same(fast: Tensor, slow: Tensor, *variables: Tensor) -> None:
    """Equal values, and equal gradients of a random combination of them."""
    torch.testing.assert_close(fast, slow, rtol=TOLERANCE, atol=TOLERANCE)
    mix = torch.randn(fast.shape, dtype=fast.dtype, generator=torch.Generator().manual_seed(3))
    for ours, theirs in zip(
        torch.autograd.grad((fast * mix).sum(), variables),
        torch.autograd.grad((slow * mix).sum(), variables),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs, rtol=TOLERANCE, atol=TOLERANCE)


def test_smooth_loss_counts_every_undirected_edge_once(six_nodes: Graph, mu: Tensor, precision: Tensor) -> None:
    undirected = [(u, v) for u, v in edges(six_nodes) if u < v]
    assert len(undirected) == 5
    slow = torch.stack([slow_distance(mu, precision, u, v) for u, v in undirected]).sum()
    fast = losses.smooth_loss(edge_distance(six_nodes.adjacency, mu, precision))
    assert_same(fast, slow, mu, precision)


def test_smooth_loss_weighs_edges(six_nodes: Graph, mu: Tensor, precision: Tensor) -> None:
    weight = torch.rand(six_nodes.adjacency.num_entries, dtype=torch.float64)
    both = zip(edges(six_nodes), weight, strict=True)
    slow = sum(w / 2 * slow_distance(mu, precision, u, v) for (u, v), w in both)
    assert_same(losses.smooth_loss(edge_distance(six_nodes.adjacency, mu, precision), weight), slow, mu, precision)


def test_label_loss(six_nodes: Graph, mu: Tensor, precision: Tensor) -> None:
    gamma = 0.4
    slow = mu.new_zeros(())
    for v in six_nodes.train.tolist():
        for j in range(CLASSES):
            y = 1.0 if six_nodes.labels[v] == j else 0.0
            slow = slow + (mu[v, j] - y) ** 2 * (precision[v, j] + 1 / gamma)
    nodes = six_nodes.train
    one_hot = torch.eye(CLASSES, dtype=torch.float64)[six_nodes.labels[nodes]]
    fast = losses.label_loss(mu, precision, nodes, one_hot, certainty=1 / gamma)
    assert_same(fast, slow, mu, precision)


def test_const_loss(mu: Tensor) -> None:
    probabilities = torch.rand(6, CLASSES, dtype=torch.float64).requires_grad_()
    slow = mu.new_zeros(())
    for v in range(6):
        for j in range(CLASSES):
            slow = slow + (mu[v, j] - probabilities[v, j]) ** 2
    assert_same(losses.const_loss(mu, probabilities), slow, mu, probabilities)


def test_reg_loss(precision: Tensor) -> None:
    slow = precision.new_zeros(())
    for value in precision.flatten():
        slow = slow + torch.maximum(-value, torch.zeros_like(value))
    assert (precision < 0).any()
    assert_same(losses.reg_loss(precision), slow, precision)


def test_smooth_loss_by_influence_holds_the_influence_fixed(six_nodes: Graph, mu: Tensor, precision: Tensor) -> None:
    influence = torch.rand(len(edges(six_nodes)), dtype=torch.float64).requires_grad_()
    slow = mu.new_zeros(())
    for r, (u, v) in zip(influence.detach(), edges(six_nodes), strict=True):
        slow = slow + r * slow_distance(mu, precision, u, v)
    distance = edge_distance(six_nodes.adjacency, mu, precision)
    assert_same(losses.influence_smooth_loss(distance, influence), slow, mu, precision)
    losses.influence_smooth_loss(torch.rand_like(influence).requires_grad_(), influence).backward()
    assert influence.grad is None


def test_consensus_loss(mu: Tensor) -> None:
    generator = torch.Generator().manual_seed(7)
    consensus, predicted = (torch.rand(6, CLASSES, dtype=torch.float64, generator=generator) for _ in range(2))
    for quantity in (consensus, predicted):
        quantity.requires_grad_()
    slow = mu.new_zeros(())
    for v in range(6):
        for j in range(CLASSES):
            slow = slow + (predicted[v, j] - mu[v, j].detach()) ** 2 + (consensus[v, j] - predicted[v, j].detach()) ** 2
    assert_same(losses.consensus_loss(mu, consensus, predicted), slow, consensus, predicted)
    losses.consensus_loss(mu, consensus, predicted).backward()
    assert mu.grad is None  # the sharpened consensus is held fixed
    torch.testing.assert_close(consensus.grad, 2 * (consensus - predicted).detach())
    torch.testing.assert_close(predicted.grad, 2 * (predicted - mu).detach())


def test_consensus_loss_is_zero_where_all_agree() -> None:
    same = torch.rand(6, CLASSES)
    assert losses.consensus_loss(same, same, same) == 0


evidence_loss = partial(losses.evidence_loss, alpha=0.5, beta=0.1, nu=10.0)


def slow_evidence_loss(raw: Tensor, evidence: Tensor) -> Tensor:
    slow = raw.new_zeros(())
    for v in range(6):
        for j in range(CLASSES):
            p = 1 / (1 + torch.exp(-raw[v, j]))
            slow = slow - (0.5 + 10 * evidence[v].detach()) * torch.log(p) - 0.1 * torch.log(1 - p)
    return slow


def test_evidence_loss(precision: Tensor) -> None:
    evidence = torch.rand(6, dtype=torch.float64).requires_grad_()
    assert_same(evidence_loss(precision, evidence), slow_evidence_loss(precision, evidence), precision)
    assert gradcheck(lambda raw: evidence_loss(raw, evidence.detach()), (precision,))
    evidence_loss(precision, evidence).backward()
    assert evidence.grad is None


def test_the_precision_of_least_loss_grows_with_the_evidence() -> None:
    evidence = torch.tensor([0.0, 0.1, 0.5, 1.0], dtype=torch.float64)
    best = torch.tensor([0.5 / 0.6, 1.5 / 1.6, 5.5 / 5.6, 10.5 / 10.6], dtype=torch.float64)[:, None]
    slopes = []
    for shift in (-1e-3, 0.0, 1e-3):
        raw = (best + shift).logit().requires_grad_()
        evidence_loss(raw, evidence).backward()
        slopes.append(raw.grad.flatten())
    assert (slopes[0] < -1e-6).all()
    assert (slopes[1].abs() < 1e-9).all()
    assert (slopes[2] > 1e-6).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_evidence_loss_is_finite_where_a_precision_is_zero_or_one(dtype: torch.dtype) -> None:
    raw = torch.tensor([[-1e4, 1e4]], dtype=dtype, requires_grad=True)
    assert raw.sigmoid().tolist() == [[0.0, 1.0]]
    loss = evidence_loss(raw, torch.zeros(1, dtype=dtype))
    loss.backward()
    assert torch.isfinite(loss)
    assert raw.grad.flatten().tolist() == pytest.approx([-0.5, 0.1])  # away from both bounds


def test_doubled_l2_squares_the_penalty_of_each_variable() -> None:
    s = 0.1
    for value in ([1.0, 2.0], [[3.0]]):
        w = torch.tensor(value, dtype=torch.float64, requires_grad=True)
        squared_norm = sum(x**2 for x in w.flatten())
        (gradient,) = torch.autograd.grad(s / 2 * (s / 2 * squared_norm) ** 2, w)
        decay = losses.doubled_l2_decay(squared_norm.item(), strength=s)
        torch.testing.assert_close(decay * w.detach(), gradient, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("loss", [losses.smooth_loss, losses.reg_loss])
def test_losses_of_one_argument_pass_gradcheck(loss: Callable[[Tensor], Tensor], precision: Tensor) -> None:
    assert gradcheck(loss, (precision,))


def test_losses_of_more_arguments_pass_gradcheck(mu: Tensor, precision: Tensor) -> None:
    nodes = torch.tensor([0, 1, 3, 4])
    labels = torch.eye(CLASSES, dtype=torch.float64)[torch.tensor([0, 1, 2, 0])]
    assert gradcheck(lambda m, p: losses.label_loss(m, p, nodes, labels, certainty=2.0), (mu, precision))
    assert gradcheck(losses.const_loss, (mu, precision))
    assert gradcheck(lambda p: losses.reg_loss(covariance(p)), (precision,))
