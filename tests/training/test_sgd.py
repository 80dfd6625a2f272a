"""Plain gradient descent by hand and against torch's own."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from confgcn.training.sgd import SGD

SHAPES = [(5, 3), (7,), ()]


def some_weights() -> list[nn.Parameter]:
    generator = torch.Generator().manual_seed(1)
    return [nn.Parameter(torch.randn(shape, generator=generator, dtype=torch.float64)) for shape in SHAPES]


def groups_of(weights: list[nn.Parameter], decay: float) -> list[dict[str, object]]:
    """The first weight decays, the others do not."""
    return [{"params": weights[:1], "weight_decay": decay}, {"params": weights[1:]}]


def set_gradients(weights: list[nn.Parameter], step: int) -> None:
    generator = torch.Generator().manual_seed(step)
    for weight in weights:
        weight.grad = torch.randn(weight.shape, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize(("decay", "expected"), [(0.0, [2.0 - 0.1 * 3]), (0.5, [2.0 - 0.1 * (3 + 0.5 * 2)])])
def test_a_step_by_hand(decay: float, expected: list[float]) -> None:
    weight = nn.Parameter(torch.tensor([2.0], dtype=torch.float64))
    weight.grad = torch.tensor([3.0], dtype=torch.float64)
    SGD([{"params": [weight], "weight_decay": decay}], learning_rate=0.1).step()
    assert weight.tolist() == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_twenty_steps_equal_those_of_torch(decay: float) -> None:
    ours, theirs = some_weights(), some_weights()
    optimisers = SGD(groups_of(ours, decay), learning_rate=0.05), torch.optim.SGD(groups_of(theirs, decay), lr=0.05)
    for step in range(20):
        for weights, optimiser in zip((ours, theirs), optimisers, strict=True):
            set_gradients(weights, step)
            optimiser.step()
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)
    assert not torch.equal(ours[0], some_weights()[0])


def test_a_group_may_have_a_learning_rate_of_its_own() -> None:
    ours, theirs = some_weights(), some_weights()
    own = [{"params": ours[:1], "learning_rate": 0.2, "weight_decay": 0.1}, {"params": ours[1:]}]
    reference = [{"params": theirs[:1], "lr": 0.2, "weight_decay": 0.1}, {"params": theirs[1:]}]
    optimisers = SGD(own, learning_rate=0.05), torch.optim.SGD(reference, lr=0.05)
    for step in range(20):
        for weights, optimiser in zip((ours, theirs), optimisers, strict=True):
            set_gradients(weights, step)
            optimiser.step()
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)


def test_gradients_are_left_as_they_are() -> None:
    weights = some_weights()
    set_gradients(weights, 0)
    before = [weight.grad.clone() for weight in weights]
    SGD(groups_of(weights, 0.1), learning_rate=0.05).step()
    assert all(torch.equal(weight.grad, gradient) for weight, gradient in zip(weights, before, strict=True))


def test_a_weight_without_gradient_stays_and_does_not_decay() -> None:
    weights = some_weights()
    before = [weight.detach().clone() for weight in weights]
    SGD(groups_of(weights, 0.1), learning_rate=0.05).step()
    assert all(torch.equal(weight, value) for weight, value in zip(weights, before, strict=True))


def test_a_frozen_weight_does_not_move() -> None:
    weights = some_weights()
    weights[0].requires_grad_(False)
    before = weights[0].clone()
    set_gradients(weights[1:], 0)
    SGD(groups_of(weights, 0.1), learning_rate=0.05).step()
    assert torch.equal(weights[0], before)


def test_there_is_no_state_to_save() -> None:
    weights = some_weights()
    optimiser = SGD(groups_of(weights, 0.1), learning_rate=0.05)
    set_gradients(weights, 0)
    optimiser.step()
    assert optimiser.state() == {}
    optimiser.load_state({})


def test_a_decay_may_depend_on_the_norm() -> None:
    weight = nn.Parameter(torch.tensor([3.0, 4.0]))
    weight.grad = torch.zeros(2)
    SGD([{"params": [weight], "weight_decay": lambda squared_norm: squared_norm / 100}], learning_rate=0.1).step()
    torch.testing.assert_close(weight.detach(), torch.tensor([3.0, 4.0]) * (1 - 0.1 * 0.25))


def test_of_a_sparse_gradient_only_its_rows_change() -> None:
    ours, dense = some_weights()[:1], some_weights()[:1]
    before, rows = ours[0].detach().clone(), torch.tensor([3, 1])
    set_gradients(dense, 0)
    values = dense[0].grad[rows]
    ours[0].grad = torch.sparse_coo_tensor(rows[None], values, ours[0].shape, check_invariants=False)
    for weights in (ours, dense):
        SGD([{"params": weights, "weight_decay": 0.1}], learning_rate=0.05).step()
    assert torch.equal(ours[0][rows], dense[0][rows])
    assert torch.equal(ours[0][[0, 2, 4]], before[[0, 2, 4]])
