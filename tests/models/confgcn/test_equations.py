"""Every equation of the model against a version written with loops, values and gradients, on six nodes."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck

from confgcn.graph import Graph
from confgcn.models.base import Prediction, cross_entropy
from confgcn.models.confgcn import losses
from confgcn.models.confgcn.influence import influence
from confgcn.models.confgcn.label_distribution import SMALLEST_PRECISION, covariance
from confgcn.models.confgcn.layer import ConfidenceConvolution
from confgcn.ops import aggregate, edge_distance, normalise

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


def test_distance(six_nodes: Graph, mu: Tensor, precision: Tensor) -> None:
    slow = torch.stack([slow_distance(mu, precision, u, v) for u, v in edges(six_nodes)])
    assert_same(edge_distance(six_nodes.adjacency, mu, precision), slow, mu, precision)
    assert gradcheck(lambda m, p: edge_distance(six_nodes.adjacency, m, p), (mu, precision))


@pytest.mark.parametrize("normalisation", ["none", "softmax"])
def test_influence(six_nodes: Graph, mu: Tensor, normalisation: str) -> None:
    precision = torch.rand(6, CLASSES, dtype=torch.float64, generator=torch.Generator().manual_seed(4)).requires_grad_()
    scores = {(u, v): 1 / (slow_distance(mu, precision, u, v) + 0.5) for u, v in edges(six_nodes)}
    if normalisation == "softmax":
        slow = torch.stack(
            [
                torch.exp(scores[u, v]) / sum(torch.exp(s) for (_, w), s in scores.items() if w == v)
                for u, v in edges(six_nodes)
            ]
        )
    else:
        slow = torch.stack([scores[edge] for edge in edges(six_nodes)])

    def fast(mu: Tensor, precision: Tensor) -> Tensor:
        distance = edge_distance(six_nodes.adjacency, mu, precision)
        return influence(
            six_nodes.receptive_field(None, depth=1),
            distance,
            score="distance",
            distance_offset=0.5,
            normalisation=normalisation,
        )

    assert_same(fast(mu, precision), slow, mu, precision)
    assert gradcheck(fast, (mu, precision))


def test_uniform_influence_is_the_plain_mean_under_softmax(six_nodes: Graph) -> None:
    weights = influence(
        six_nodes.receptive_field(None, depth=1),
        torch.rand(len(six_nodes.adjacency.indices)),
        score="uniform",
        distance_offset=1.0,
        normalisation="softmax",
    )
    neighbours = [sum(target == v for _, target in edges(six_nodes)) for _, v in edges(six_nodes)]
    torch.testing.assert_close(weights, torch.tensor([1 / n for n in neighbours]))


def test_symmetric_normalisation(six_nodes: Graph) -> None:
    size = {v: sum(target == v for _, target in edges(six_nodes)) for v in range(6)}
    expected = torch.tensor([1 / math.sqrt(size[u] * size[v]) for u, v in edges(six_nodes)])
    torch.testing.assert_close(normalise(six_nodes.adjacency, torch.ones(len(expected)), "symmetric"), expected)


def test_aggregation(six_nodes: Graph) -> None:
    generator = torch.Generator().manual_seed(5)
    weights = torch.randn(len(edges(six_nodes)), dtype=torch.float64, generator=generator).requires_grad_()
    values = torch.randn(6, 2, dtype=torch.float64, generator=generator).requires_grad_()
    rows = [values.new_zeros(2) for _ in range(6)]
    for weight, (u, v) in zip(weights, edges(six_nodes), strict=True):
        rows[v] = rows[v] + weight * values[u]
    assert_same(aggregate(six_nodes.adjacency, weights, values), torch.stack(rows), weights, values)
    assert gradcheck(lambda w, x: aggregate(six_nodes.adjacency, w, x), (weights, values))


@pytest.mark.parametrize("bias", [True, False])
def test_layer(six_nodes: Graph, bias: bool) -> None:
    layer = ConfidenceConvolution(4, 2, bias=bias).double()
    if layer.bias is not None:
        torch.nn.init.normal_(layer.bias)
    weights = torch.rand(len(edges(six_nodes)), dtype=torch.float64).requires_grad_()
    hidden = torch.randn(6, 4, dtype=torch.float64).requires_grad_()
    rows = [hidden.new_zeros(2) for _ in range(6)]
    for r, (u, v) in zip(weights, edges(six_nodes), strict=True):
        message = layer.weight.T @ hidden[u] + (layer.bias if layer.bias is not None else 0)
        rows[v] = rows[v] + r * message
    fast = layer(six_nodes.adjacency, weights, hidden, dropout=0.0)
    assert_same(fast, torch.stack(rows), weights, hidden, *layer.parameters())
    assert gradcheck(lambda r, h: layer(six_nodes.adjacency, r, h, dropout=0.0), (weights, hidden))


@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("bias", [True, False])
def test_layer_of_several_steps(six_nodes: Graph, bias: bool, steps: int) -> None:
    layer = ConfidenceConvolution(4, 2, bias=bias).double()
    if layer.bias is not None:
        torch.nn.init.normal_(layer.bias)
    weights = torch.rand(len(edges(six_nodes)), dtype=torch.float64)
    hidden = torch.randn(6, 4, dtype=torch.float64).requires_grad_()
    walked = torch.stack([layer.weight.T @ row + (layer.bias if layer.bias is not None else 0) for row in hidden])
    total = walked
    for _ in range(steps):
        rows = [hidden.new_zeros(2) for _ in range(6)]
        for r, (u, v) in zip(weights, edges(six_nodes), strict=True):
            rows[v] = rows[v] + r * walked[u]
        walked = torch.stack(rows)
        total = total + walked
    fast = layer(six_nodes.adjacency, weights, hidden, steps=steps)
    assert_same(fast, total / (steps + 1), hidden, *layer.parameters())


def test_node_dropout_drops_the_messages_of_whole_nodes() -> None:
    graph = Graph.build([], np.eye(200, 4), [0] * 200)  # nobody hears anybody else
    layer = ConfidenceConvolution(4, 3, bias=True)
    features, nobody_else = torch.randn(200, 4), torch.ones(200)
    torch.nn.init.normal_(layer.bias)
    message = layer(graph.adjacency, nobody_else, features, steps=2).detach()
    dropped = layer(graph.adjacency, nobody_else, features, node_dropout=0.25, steps=2).detach()
    kept = (dropped != 0).any(1)
    torch.testing.assert_close(dropped, torch.where(kept[:, None], message / 0.75, 0.0))
    assert 0.15 < 1 - float(kept.double().mean()) < 0.35


def test_features_may_be_dropped_before_several_steps() -> None:
    layer = ConfidenceConvolution(1000, 1, bias=False)
    torch.nn.init.ones_(layer.weight)
    graph = Graph.build([], np.ones((2, 1000)), [0, 1])
    heard = layer(graph.adjacency, torch.ones(2), graph.features, dropout=0.5, steps=1).detach().flatten()
    assert (heard % 2 == 0).all()  # of a thousand ones half are left, doubled
    assert ((heard > 800) & (heard < 1200)).all()
    assert (heard != 1000).any()


def test_smooth_loss_counts_every_undirected_edge_once(six_nodes: Graph, mu: Tensor, precision: Tensor) -> None:
    undirected = [(u, v) for u, v in edges(six_nodes) if u < v]
    assert len(undirected) == 5
    slow = torch.stack([slow_distance(mu, precision, u, v) for u, v in undirected]).sum()
    fast = losses.smooth_loss(edge_distance(six_nodes.adjacency, mu, precision))
    assert_same(fast, slow, mu, precision)


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


@pytest.fixture(params=[4, 4096], ids=["in blocks", "whole"])
def block_rows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that are added up together: of six all, or four and two."""
    monkeypatch.setattr(losses, "BLOCK_ROWS", request.param)


@pytest.mark.usefixtures("block_rows")
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


def test_trusted_smooth_loss(six_nodes: Graph, mu: Tensor, precision: Tensor) -> None:
    influence = torch.rand(len(edges(six_nodes)), dtype=torch.float64).requires_grad_()
    slow = mu.new_zeros(())
    for r, (u, v) in zip(influence.detach(), edges(six_nodes), strict=True):
        slow = slow + r * slow_distance(mu, precision, u, v)
    distance = edge_distance(six_nodes.adjacency, mu, precision)
    assert_same(losses.trusted_smooth_loss(distance, influence), slow, mu, precision)
    losses.trusted_smooth_loss(torch.rand_like(influence).requires_grad_(), influence).backward()
    assert influence.grad is None  # a node does not lose trust in order to be left alone


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
    assert mu.grad is None  # the sharpened consensus pulls, and is not pulled
    torch.testing.assert_close(consensus.grad, 2 * (consensus - predicted).detach())
    torch.testing.assert_close(predicted.grad, 2 * (predicted - mu).detach())


def test_consensus_loss_is_zero_where_all_agree() -> None:
    same = torch.rand(6, CLASSES)
    assert losses.consensus_loss(same, same, same) == 0


@pytest.fixture
def share() -> Tensor:
    """Precisions between 0 and 1."""
    return torch.rand(6, CLASSES, dtype=torch.float64, generator=torch.Generator().manual_seed(8)).requires_grad_()


@pytest.mark.usefixtures("block_rows")
def test_evidence_loss(share: Tensor) -> None:
    evidence = torch.rand(6, dtype=torch.float64).requires_grad_()
    alpha, beta, nu = losses.PRIOR_FOR, losses.PRIOR_AGAINST, losses.COUNT_OF_EVIDENCE
    slow = share.new_zeros(())
    for v in range(6):
        for j in range(CLASSES):
            counts = alpha + nu * evidence[v].detach()
            slow = slow - counts * torch.log(share[v, j]) - beta * torch.log(1 - share[v, j])
    assert_same(losses.evidence_loss(share, evidence), slow, share)
    assert gradcheck(lambda p: losses.evidence_loss(p, evidence.detach()), (share,))
    losses.evidence_loss(share, evidence).backward()
    assert evidence.grad is None


def test_the_precision_of_least_loss_grows_with_the_evidence() -> None:
    evidence = torch.tensor([0.0, 0.1, 0.5, 1.0], dtype=torch.float64)
    counts = losses.PRIOR_FOR + losses.COUNT_OF_EVIDENCE * evidence
    best = (counts / (counts + losses.PRIOR_AGAINST)).unsqueeze(1)
    assert best.flatten().tolist() == pytest.approx([0.5 / 0.6, 1.5 / 1.6, 5.5 / 5.6, 10.5 / 10.6])
    slopes = []
    for shift in (-1e-3, 0.0, 1e-3):
        precision = (best + shift).requires_grad_()
        losses.evidence_loss(precision, evidence).backward()
        slopes.append(precision.grad.flatten())
    assert (slopes[0] < -1e-3).all()
    assert (slopes[1].abs() < 1e-9).all()
    assert (slopes[2] > 1e-3).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_evidence_loss_is_finite_at_both_bounds_and_pulls_away_from_them(dtype: torch.dtype) -> None:
    precision = torch.tensor([[0.0, 1.0]], dtype=dtype, requires_grad=True)
    loss = losses.evidence_loss(precision, torch.zeros(1, dtype=dtype))
    loss.backward()
    assert torch.isfinite(loss)
    assert precision.grad[0, 0] < -1e4
    assert 1e4 < precision.grad[0, 1] < torch.inf


def test_covariance_is_the_inverse_and_finite_at_zero() -> None:
    precision = torch.tensor([2.0, -4.0, 0.0, 1e-30, -1e-30], dtype=torch.float64)
    result = covariance(precision)
    torch.testing.assert_close(result[:2], torch.tensor([0.5, -0.25], dtype=torch.float64))
    assert torch.isfinite(result).all()
    assert result[4] < 0 < result[3]


def test_covariance_is_a_line_through_zero_below_the_smallest_precision() -> None:
    assert float(covariance(torch.tensor(SMALLEST_PRECISION))) == pytest.approx(1 / SMALLEST_PRECISION)
    assert float(covariance(torch.tensor(-SMALLEST_PRECISION / 2))) == pytest.approx(-1 / SMALLEST_PRECISION / 2)


def test_cross_loss(six_nodes: Graph) -> None:
    logits = torch.randn(6, CLASSES, dtype=torch.float64, generator=torch.Generator().manual_seed(6)).requires_grad_()
    slow = logits.new_zeros(())
    for v in six_nodes.train.tolist():
        total = sum(torch.exp(logits[v, j]) for j in range(CLASSES))
        for j in range(CLASSES):
            y = 1.0 if six_nodes.labels[v] == j else 0.0
            slow = slow - y * torch.log(torch.exp(logits[v, j]) / total)
    assert_same(cross_entropy(six_nodes, Prediction(logits)), slow, logits)
    assert gradcheck(lambda x: cross_entropy(six_nodes, Prediction(x)), (logits,))


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
