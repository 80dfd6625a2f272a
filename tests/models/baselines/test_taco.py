"""TACO against a numerical minimum of its printed objective; both updates, and components without labels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from torch import Tensor

from confgcn.graph import Graph
from confgcn.models.base import Shape
from confgcn.models.baselines.taco import TACO

SETTINGS = [(1.0, 1.0, 1.0), (0.3, 2.0, 0.5), (3.0, 0.3, 2.0)]
every_setting = pytest.mark.parametrize(("alpha", "beta", "gamma"), SETTINGS)


@pytest.fixture
def connected() -> Graph:
    """Seven nodes with cycles of odd and even length, three classes, four labels."""
    edges = [(0, 1), (1, 2), (2, 3), (3, 1), (0, 4), (4, 5), (5, 2), (6, 3)]
    return Graph.build(edges, np.eye(7), [0, 1, 2, 1, 0, 2, 2], train=[0, 1, 2, 6])


def fitted(graph: Graph, **settings: float) -> TACO:
    """In float64."""
    method = TACO(Shape.of(graph), **settings).double()
    method.setup(graph.training_view())
    return method


def targets(graph: Graph) -> tuple[Tensor, Tensor]:
    """y, (N, C), and d, (N, 1)."""
    y = torch.zeros(graph.num_nodes, graph.num_classes, dtype=torch.double)
    y[graph.train, graph.train_labels] = 1.0
    return y, y.sum(1, keepdim=True)


def objective(method: TACO, graph: Graph, mu: Tensor, s: Tensor) -> Tensor:
    """As printed, summed over the classes."""
    u, v = graph.neighbours.indices, graph.neighbours.rows  # either direction of every edge
    y, d = targets(graph)
    smooth = 0.25 * ((mu[u] - mu[v]) ** 2 * (1 / s[u] + 1 / s[v])).sum()
    label = 0.5 * (d * (mu - y) ** 2 * (1 / s + 1 / method.gamma)).sum()
    return smooth + label + method.alpha * s.sum() - method.beta * s.log().sum()


def minimum(method: TACO, graph: Graph) -> tuple[Tensor, Tensor]:
    """mu and s where L-BFGS ends; s is searched as its logarithm."""
    shape = (2, graph.num_nodes, graph.num_classes)

    def value_and_gradient(x: np.ndarray) -> tuple[float, np.ndarray]:
        point = torch.from_numpy(x).view(shape).requires_grad_()
        value = objective(method, graph, point[0], point[1].exp())
        (gradient,) = torch.autograd.grad(value, point)
        return value.item(), gradient.flatten().numpy()

    options = {"maxiter": 10_000, "maxfun": 20_000, "ftol": 1e-16, "gtol": 1e-9}
    found = minimize(value_and_gradient, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B", options=options)
    mu, log_s = torch.from_numpy(found.x).view(shape)
    return mu, log_s.exp()


def random_point(graph: Graph) -> tuple[Tensor, Tensor]:
    mu, noise = torch.rand(2, graph.num_nodes, graph.num_classes, dtype=torch.double)
    return mu, 0.2 + 2 * noise


def assert_each_is_a_minimum(best: Tensor, start: Tensor, value_at: Callable[[Tensor], Tensor]) -> None:
    """Of every entry by itself: with that one at its best and the others as they were, a step to no side falls."""
    for place in np.ndindex(*best.shape):
        values = []
        for step in (0.0, 1e-3, -1e-3):
            point = start.clone()
            point[place] = best[place] + step
            values.append(value_at(point).item())
        assert values[0] <= min(values) + 1e-13


@every_setting
def test_many_sweeps_end_at_the_minimum(connected: Graph, alpha: float, beta: float, gamma: float) -> None:
    method = fitted(connected, alpha=alpha, beta=beta, gamma=gamma, sweeps=1500)
    mu, s = minimum(method, connected)
    torch.testing.assert_close(method.mu, mu, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(1 / method.precision, s, rtol=1e-4, atol=1e-5)


@every_setting
def test_an_update_of_mu_is_its_minimum(connected: Graph, alpha: float, beta: float, gamma: float) -> None:
    method = TACO(Shape.of(connected), alpha=alpha, beta=beta, gamma=gamma)
    mu, s = random_point(connected)
    best = method.best_mu(connected.neighbour_weights, mu, s, *targets(connected))
    assert_each_is_a_minimum(best, mu, lambda point: objective(method, connected, point, s))


@every_setting
def test_an_update_of_the_covariance_is_its_minimum(connected: Graph, alpha: float, beta: float, gamma: float) -> None:
    method = TACO(Shape.of(connected), alpha=alpha, beta=beta, gamma=gamma)
    mu, s = random_point(connected)
    best = method.best_covariance(connected.neighbour_weights, mu, *targets(connected))
    assert_each_is_a_minimum(best, s, lambda point: objective(method, connected, mu, point))
    (gradient,) = torch.autograd.grad(objective(method, connected, mu, best.requires_grad_()), best)
    assert gradient.abs().max() < 1e-10


@every_setting
def test_more_sweeps_come_lower(connected: Graph, alpha: float, beta: float, gamma: float) -> None:
    methods = [fitted(connected, alpha=alpha, beta=beta, gamma=gamma, sweeps=n) for n in (1, 5, 25, 125)]
    values = [objective(method, connected, method.mu, 1 / method.precision).item() for method in methods]
    assert values == sorted(values, reverse=True)
    assert values[-1] < values[0]


def test_one_sweep_by_hand() -> None:
    """0 - 1 with a label at 0: s starts at 1/2, mu at zero."""
    graph = Graph.build([(0, 1)], np.eye(2), [0, 1], train=[0])
    method = fitted(graph, alpha=2.0, beta=1.0, gamma=0.5, sweeps=1)
    above, below = 2.0 + 2.0, (2.0 + 2.0) + (2.0 + 2.0)
    assert method.mu[:, 0].tolist() == pytest.approx([above / below, 0.0])
    ends = [0.5**2 + 0.5**2, 0.5**2]  # R
    assert (1 / method.precision[:, 0]).tolist() == pytest.approx([(1 + (1 + 4 * r) ** 0.5) / 4 for r in ends])


def test_probabilities_are_mu_divided_by_its_sum(connected: Graph) -> None:
    method = fitted(connected)
    prediction = method(connected)
    expected = method.mu / method.mu.sum(1, keepdim=True)
    torch.testing.assert_close(prediction.raw_probabilities, expected, rtol=0, atol=1e-3)  # the share of the prior
    assert torch.equal(prediction.mu, method.mu)
    assert torch.equal(prediction.precision, method.precision)


def test_where_no_label_reaches_mu_is_zero_and_the_prior_is_predicted() -> None:
    graph = Graph.build([(0, 1), (1, 2), (3, 4)], np.eye(6), [0, 1, 1, 0, 0, 0], train=[0, 1, 2])
    prediction = fitted(graph, alpha=3.0, beta=0.6)(graph)
    assert not prediction.mu[3:].any()
    torch.testing.assert_close(prediction.precision[3:], torch.full((3, 2), 5.0, dtype=torch.double))
    share = (prediction.mu[:3] / prediction.mu[:3].sum(1, keepdim=True)).mean(0)
    prior = torch.tensor([2.0, 3.0]) * (1 + 0.05 * share)
    torch.testing.assert_close(prediction.raw_probabilities[3:], (prior / prior.sum()).expand(3, 2))


def test_no_precision_is_larger_than_that_of_ignorance(connected: Graph) -> None:
    method = fitted(connected, alpha=3.0, beta=0.6)
    assert method.precision.max() < 5.0
