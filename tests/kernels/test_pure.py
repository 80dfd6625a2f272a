"""The pure kernels on devices without sparse products give the same results as on the CPU."""

from __future__ import annotations

import pytest
import torch

from confgcn.kernels import pure
from confgcn.sparse import SparseStructure


@pytest.fixture
def gathering(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages are gathered and added up, as on a device without sparse products."""
    monkeypatch.setattr(pure, "_WITH_SPARSE_PRODUCTS", ())


@pytest.mark.parametrize("heads", [(), (3,)], ids=str)
def test_gathered_products_are_sparse_products(
    structure: SparseStructure, heads: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, columns = structure.shape
    values = torch.randn(structure.num_entries, *heads, dtype=torch.float64)
    left, right = (torch.randn(size, *heads, 5, dtype=torch.float64) for size in (rows, columns))

    def all_products() -> list[torch.Tensor]:
        products = pure.multiply(structure, values, right), pure.multiply_transposed(structure, values, left)
        return [*products, pure.entry_products(structure, left, right)]

    expected = all_products()
    monkeypatch.setattr(pure, "_WITH_SPARSE_PRODUCTS", ())
    torch.testing.assert_close(all_products(), expected, rtol=1e-12, atol=1e-12)


def test_results_stay_on_the_device_of_their_inputs(adjacency: SparseStructure, gathering: None) -> None:
    moved, size = adjacency.to("meta"), adjacency.shape[0]
    edges, nodes = torch.empty(adjacency.num_entries, device="meta"), torch.empty(size, 3, device="meta")
    results = [
        pure.edge_distance(moved, nodes, nodes),
        *pure.edge_distance_gradient(moved, nodes, nodes, edges),
        pure.softmax(moved, edges),
        pure.softmax_gradient(moved, edges, edges),
        pure.dense_softmax(nodes),
        pure.dense_softmax_gradient(nodes, nodes),
        pure.sum_rows(moved, edges),
        pure.multiply(moved, edges, nodes),
        pure.multiply_transposed(moved, edges, nodes),
        pure.entry_products(moved, nodes, nodes),
        pure.drop(nodes, 1, 0, 2**15, 2.0),
    ]
    assert {result.device.type for result in results} == {"meta"}


def test_the_generator_is_split_mix_64() -> None:
    """The first numbers of seed 1234567, as published with the generator's reference implementation."""
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    found = pure._split_mix(1234567, 0, 3, torch.device("cpu"))
    assert [number % 2**64 for number in found.tolist()] == published
