"""How label scores and precisions come from their parameters."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from confgcn.models.confgcn.label_distribution import LabelDistribution

EVERYBODY = slice(0, 4)


def drawn(**forms: object) -> LabelDistribution:
    distribution = LabelDistribution(4, 3, **{"mu_form": "softmax", "precision_form": "sigmoid", **forms}).double()
    for parameter in distribution.parameters():
        torch.nn.init.normal_(parameter, 0.0, 2.0)
    return distribution


@pytest.mark.parametrize("form", ["free", "elu", "sigmoid"])
def test_precision_forms(form: str) -> None:
    distribution = drawn(precision_form=form)
    raw = distribution.raw_precision.detach()
    expected = {"free": raw, "elu": functional.elu(raw), "sigmoid": 1 / (1 + torch.exp(-raw))}[form]
    precision = distribution(EVERYBODY)[1]
    torch.testing.assert_close(precision.detach(), expected)
    assert bool((precision > 0).all() and (precision < 1).all()) is (form == "sigmoid")


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_mu_is_the_consensus_to_a_power(temperature: float) -> None:
    distribution = drawn(temperature=temperature)
    consensus, mu = distribution.consensus(EVERYBODY), distribution(EVERYBODY)[0]
    powers = consensus ** (1 / temperature)
    torch.testing.assert_close(mu, powers / powers.sum(1, keepdim=True))
    torch.testing.assert_close(consensus, distribution.raw_mu.softmax(1))
    sharper = mu.max(1).values - consensus.max(1).values
    assert torch.equal(sharper.sign(), torch.full((4,), float((temperature < 1) - (temperature > 1))).double())


def test_rows_may_be_in_any_order() -> None:
    distribution = drawn(temperature=0.5)
    rows = torch.tensor([3, 1])
    for some, everybody in zip(distribution(rows), distribution(EVERYBODY), strict=True):
        assert torch.equal(some, everybody[rows])
    assert torch.equal(distribution.consensus(rows), distribution.consensus(EVERYBODY)[rows])


def test_gradients_are_those_of_torch() -> None:
    distribution = drawn(temperature=0.5)
    mu, precision = distribution(EVERYBODY)
    mix = torch.randn(4, 3, dtype=torch.float64)
    raw_mu, raw_precision = distribution.parameters()
    expected = (raw_mu / 0.5).softmax(1), torch.sigmoid(raw_precision), raw_mu.softmax(1)
    for ours, theirs in zip((mu, precision, distribution.consensus(EVERYBODY)), expected, strict=True):
        variable = raw_precision if ours is precision else raw_mu
        gradients = [torch.autograd.grad((x * mix).sum(), variable)[0] for x in (ours, theirs)]
        torch.testing.assert_close(*gradients, rtol=1e-10, atol=1e-12)


def test_a_row_is_given_the_mean_of_those_it_hears_and_one_that_hears_none_is_left() -> None:
    distribution = drawn(mu_form="free", precision_form="free")
    before = {name: value.detach().clone() for name, value in distribution.named_parameters()}
    distribution.set_mean(torch.tensor([0, 1]), torch.tensor([2, 3]), torch.tensor([1, 1]))
    weight = before["raw_precision"][2:].clamp(min=1e-2)
    mean = (weight * before["raw_mu"][2:]).sum(0) / weight.sum(0)
    torch.testing.assert_close(distribution.raw_mu[1].detach(), mean)
    torch.testing.assert_close(distribution.raw_precision[1].detach(), before["raw_precision"][2:].mean(0))
    for name, value in distribution.named_parameters():
        assert torch.equal(value[[0, 2, 3]].detach(), before[name][[0, 2, 3]])
