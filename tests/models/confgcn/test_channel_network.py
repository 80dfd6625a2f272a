"""The classifier of several channels against the equation in its docstring."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor

from confgcn.models.confgcn.channel_network import ChannelNetwork, Normalise
from confgcn.sparse import SparseMatrix, SparseStructure

WIDTHS = (3, 2)


def network(**options: Any) -> ChannelNetwork:
    defaults: dict[str, Any] = {"hidden_dim": 4, "num_layers": 1, "normalise": "none", "dropout": 0.0}
    return ChannelNetwork(WIDTHS, 2, **{**defaults, **options}).double().eval()


def channels(num_rows: int = 7) -> list[Tensor]:
    return [torch.randn(num_rows, width, dtype=torch.double) for width in WIDTHS]


def sparse(dense: Tensor) -> SparseMatrix:
    matrix = sp.csr_array(dense.numpy())
    indptr, indices = (torch.from_numpy(array).long() for array in (matrix.indptr, matrix.indices))
    return SparseMatrix(SparseStructure(indptr, indices, dense.shape), torch.from_numpy(matrix.data))


def parts(net: ChannelNetwork, given: list[Tensor]) -> list[Tensor]:
    """z_1 .. z_J without normalisation."""
    return [x @ layer.weight + layer.bias for x, layer in zip(given, net.first, strict=True)]


def test_one_layer_sums_the_channels() -> None:
    net, given = network(), channels()
    torch.testing.assert_close(net(given), sum(parts(net, given)))


def test_two_layers_join_them_after_the_first() -> None:
    net, given = network(num_layers=2), channels()
    last = net.layers[0]
    torch.testing.assert_close(net(given), torch.cat(parts(net, given), 1).relu() @ last.weight + last.bias)


def test_more_layers_are_preceded_by_layer_normalisation() -> None:
    net, given = network(num_layers=3), channels()
    values = torch.cat(parts(net, given), 1)
    for layer in net.layers:
        values = values.relu()
        centred = values - values.mean(1, keepdim=True)
        values = centred / (centred.square().mean(1, keepdim=True) + 1e-5).sqrt() @ layer.weight + layer.bias
    torch.testing.assert_close(net(given), values)


@pytest.mark.parametrize("normalise", ["columns", "gains"])
def test_columns_are_centred_and_scaled_by_what_was_measured(normalise: Normalise) -> None:
    net, measured, given = network(normalise=normalise), channels(50), channels()
    net.measure_columns(measured)
    for gain in net.gains:
        gain.data.uniform_(0.5, 2.0)
    gains = list(net.gains) or [1.0, 1.0]
    scaled = [
        gain * (x - torch.from_numpy(seen.numpy().mean(0))) / torch.from_numpy(seen.numpy().std(0))
        for gain, x, seen in zip(gains, given, measured, strict=True)
    ]
    torch.testing.assert_close(net(given), sum(parts(net, scaled)))


def test_gains_are_trained_only_where_they_are_used() -> None:
    assert [len(network(normalise=how).gains) for how in ("none", "columns", "gains")] == [0, 0, 2]
    assert all(torch.equal(gain, torch.ones_like(gain)) for gain in network(normalise="gains").gains)


def test_sparse_columns_are_scaled_and_not_centred() -> None:
    net, given = network(normalise="gains"), [x.clamp(min=0.0) for x in channels()]
    net.measure_columns([sparse(x) for x in given])
    deviations = [torch.from_numpy(x.numpy().std(0)) for x in given]
    scaled = [x / deviation for x, deviation in zip(given, deviations, strict=True)]
    torch.testing.assert_close(net([sparse(x) for x in given]), sum(parts(net, scaled)))


def test_constant_columns_become_zero_and_small_units_do_not_matter() -> None:
    net = network(normalise="columns")
    first, second = channels(40)
    first[:, 0], first[:, 1] = 1e30, 0.0
    second[:, 0] *= 1e-9
    net.measure_columns([first, second])
    changed = [first.clone(), second]
    assert torch.isfinite(net([first, second])).all()
    changed[0][:, :2] = 0.0
    net.mean_0[:2] = 0.0
    torch.testing.assert_close(net([first * torch.tensor([0.0, 1, 1]), second]), net(changed))
    assert float(net.deviation_1[0]) == pytest.approx(float(second[:, 0].std(correction=0)))


def test_moments_of_large_float32_numbers_do_not_overflow() -> None:
    net = network(normalise="columns").float()
    given = [(1e30 * x).float() for x in channels(40)]
    net.measure_columns(given)
    assert all(torch.isfinite(value).all() for value in net.state_dict().values())
    assert torch.isfinite(net(given)).all()
    np.testing.assert_allclose(net.deviation_0 / 1e30, (given[0] / 1e30).numpy().std(0), rtol=1e-5)


def test_dropout_acts_in_training_only() -> None:
    net, given = network(dropout=0.5, num_layers=2), channels()
    assert torch.equal(net(given), net(given))
    net.train()
    assert not torch.equal(net(given), net(given))


def test_what_was_measured_is_part_of_the_weights() -> None:
    net, twin, given = network(normalise="columns"), network(normalise="columns"), channels()
    net.measure_columns(channels(30))
    twin.load_state_dict(net.state_dict())
    assert torch.equal(net(given), twin(given))
