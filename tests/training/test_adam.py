"""Adam against torch's own, with either kernels, and training continued from a saved state with the same bits."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from confgcn.training.adam import Adam

pytestmark = pytest.mark.usefixtures("each_kernels")

SHAPES = [(5, 3), (7,), ()]
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}


def some_weights(dtype: torch.dtype = torch.float64) -> list[nn.Parameter]:
    generator = torch.Generator().manual_seed(1)
    return [nn.Parameter(torch.randn(shape, generator=generator, dtype=dtype)) for shape in SHAPES]


def groups_of(weights: list[nn.Parameter], decay: float) -> list[dict[str, object]]:
    """The first weight decays, the others do not."""
    return [{"params": weights[:1], "weight_decay": decay}, {"params": weights[1:]}]


def set_gradients(weights: list[nn.Parameter], step: int) -> None:
    """Gradients of sizes from 1e-6 to 1e3, the same for every call with this step."""
    generator = torch.Generator().manual_seed(step)
    for weight in weights:
        noise = torch.randn(weight.shape, generator=generator, dtype=torch.float64)
        weight.grad = (noise * 10.0 ** (step % 10 - 6)).to(weight.dtype)


def descend(weights: list[nn.Parameter], optimiser: Adam | torch.optim.Adam, steps: range) -> list[Tensor]:
    for step in steps:
        set_gradients(weights, step)
        optimiser.step()
    return [weight.detach().clone() for weight in weights]


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_twenty_steps_equal_those_of_torch(dtype: torch.dtype, decay: float) -> None:
    ours, theirs = some_weights(dtype), some_weights(dtype)
    result = descend(ours, Adam(groups_of(ours, decay), learning_rate=0.05), range(20))
    expected = descend(theirs, torch.optim.Adam(groups_of(theirs, decay), lr=0.05), range(20))
    torch.testing.assert_close(result, expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


def test_a_group_may_have_a_learning_rate_of_its_own() -> None:
    ours, theirs = some_weights(), some_weights()
    own = [{"params": ours[:1], "learning_rate": 0.2, "weight_decay": 0.1}, {"params": ours[1:]}]
    reference = [{"params": theirs[:1], "lr": 0.2, "weight_decay": 0.1}, {"params": theirs[1:]}]
    result = descend(ours, Adam(own, learning_rate=0.05), range(20))
    expected = descend(theirs, torch.optim.Adam(reference, lr=0.05), range(20))
    torch.testing.assert_close(result, expected, rtol=1e-12, atol=1e-12)
    plain = some_weights()
    descend(plain, Adam(groups_of(plain, 0.1), learning_rate=0.05), range(20))
    assert not torch.allclose(plain[0], result[0])
    assert all(map(torch.equal, plain[1:], result[1:]))


def test_weight_decay_may_be_a_function_of_the_squared_norm() -> None:
    ours, theirs = some_weights(), some_weights()
    optimiser = Adam([{"params": ours, "weight_decay": lambda norm: 0.1 * norm}], learning_rate=0.05)
    reference = torch.optim.Adam(theirs, lr=0.05)
    for step in range(20):
        set_gradients(ours, step)
        set_gradients(theirs, step)
        for weight in theirs:
            weight.grad += 0.1 * weight.detach().square().sum() * weight.detach()
        optimiser.step()
        reference.step()
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)


def test_training_continues_from_a_saved_state_with_the_same_bits() -> None:
    first = some_weights()
    optimiser = Adam(groups_of(first, 0.1), learning_rate=0.05)
    descend(first, optimiser, range(10))
    state = {name: value.clone() for name, value in optimiser.state().items()}
    second = [nn.Parameter(weight.detach().clone()) for weight in first]
    resumed = Adam(groups_of(second, 0.1), learning_rate=0.05)
    resumed.load_state(state)
    expected = descend(first, optimiser, range(10, 20))
    assert all(map(torch.equal, descend(second, resumed, range(10, 20)), expected))


def test_a_weight_without_gradient_decays_as_one_with_a_gradient_of_zero() -> None:
    without, zero = some_weights(), some_weights()
    before = without[0].detach().clone()
    for weights in (without, zero):
        set_gradients(weights, 0)
    without[0].grad, zero[0].grad = None, torch.zeros_like(zero[0])
    for weights in (without, zero):
        Adam(groups_of(weights, 0.1), learning_rate=0.05).step()
    assert all(map(torch.equal, without, zero))
    assert not torch.equal(without[0], before)


def test_a_gradient_may_lie_apart() -> None:
    ours, theirs = some_weights(), some_weights()
    for weights in (ours, theirs):
        set_gradients(weights, 3)
    ours[0].grad = ours[0].grad.T.contiguous().T
    assert not ours[0].grad.is_contiguous()
    for weights in (ours, theirs):
        Adam(groups_of(weights, 0.1), learning_rate=0.05).step()
    assert torch.equal(ours[0], theirs[0])


def test_a_frozen_weight_does_not_move() -> None:
    weights = some_weights()
    weights[0].requires_grad_(False)
    before = weights[0].clone()
    set_gradients(weights[1:], 0)
    Adam(groups_of(weights, 0.1), learning_rate=0.05).step()
    assert torch.equal(weights[0], before)


def test_beside_a_frozen_weight_the_others_keep_their_rate_and_decay() -> None:
    ours, theirs = some_weights(), some_weights()
    ours[0].requires_grad_(False)
    groups = [{"params": [weights[0]], "learning_rate": 0.5, "weight_decay": 0.9} for weights in (ours, theirs)]
    for weights, group in zip((ours, theirs), groups, strict=True):
        set_gradients(theirs, 0)
        for weight, twin in zip(weights[1:], theirs[1:], strict=True):
            weight.grad = twin.grad.clone()
        others = {"params": weights[1:], "learning_rate": 0.2, "weight_decay": 0.1}
        Adam([group, others], learning_rate=0.05).step()
    assert all(map(torch.equal, ours[1:], theirs[1:]))


def test_of_a_sparse_gradient_only_its_rows_and_their_moments_change() -> None:
    ours, dense = some_weights()[:1], some_weights()[:1]
    before, rows = ours[0].detach().clone(), torch.tensor([3, 1])
    optimisers = [Adam([{"params": weights, "weight_decay": 0.1}], learning_rate=0.05) for weights in (ours, dense)]
    for step in range(3):
        set_gradients(dense, step)
        values = dense[0].grad[rows]
        ours[0].grad = torch.sparse_coo_tensor(rows[None], values, ours[0].shape, check_invariants=False)
        for optimiser in optimisers:
            optimiser.step()
    assert torch.equal(ours[0][rows], dense[0][rows])
    others = torch.tensor([0, 2, 4])
    assert torch.equal(ours[0][others], before[others])
    _, mean, square = optimisers[0].moments[0]
    assert not mean[others].any()
    assert not square[others].any()
    assert mean[rows].all()
