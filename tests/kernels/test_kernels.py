"""The two kernels against each other: every function, on structures of every kind, at every width with code of its own.

That both are right and not only alike is tested with the operators, against loops.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from confgcn.io.threads import computing_with
from confgcn.kernels import Kernels, compiled, library, pure
from confgcn.sparse import SparseStructure

pytestmark = pytest.mark.skipif(not library.available(), reason=library.why_not())

WIDTHS = [*range(1, 10), 16, 17, 32, 33, 40, 64]
HEADS = [(), (1,), (3,)]  # () is (E,) with (N, width), the others are (E, heads) with (N, heads, width)
TOLERANCE = {torch.float32: 32 * torch.finfo(torch.float32).eps, torch.float64: 1e-12}

every_dtype = pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
every_width = pytest.mark.parametrize("width", WIDTHS)
every_core = pytest.mark.parametrize("core", [pure, compiled], ids=["pure", "compiled"])
every_heads = pytest.mark.parametrize("heads", HEADS, ids=str)


def assert_alike(call: Callable[[Kernels], Any]) -> None:
    """Both give the same up to the rounding of their largest number."""
    for ours, theirs in zip(*(_as_list(call(core)) for core in (compiled, pure)), strict=True):
        assert ours.dtype == theirs.dtype
        if not theirs.is_floating_point():
            assert torch.equal(ours, theirs)
            continue
        bound = TOLERANCE[theirs.dtype] * max(1.0, float(theirs.abs().max())) if theirs.numel() else 0.0
        torch.testing.assert_close(ours, theirs, rtol=0.0, atol=bound)


def _as_list(result: Tensor | tuple[Tensor, ...]) -> list[Tensor]:
    return [result] if isinstance(result, Tensor) else list(result)


@every_dtype
@every_width
def test_edge_distance_and_its_gradient(adjacency: SparseStructure, dtype: torch.dtype, width: int) -> None:
    mu, precision = torch.randn(2, adjacency.shape[0], width, dtype=dtype)
    gradient = torch.randn(adjacency.num_entries, dtype=dtype)
    assert_alike(lambda core: core.edge_distance(adjacency, mu, precision))
    assert_alike(lambda core: core.edge_distance_gradient(adjacency, mu, precision, gradient))


@every_dtype
@every_heads
def test_row_functions(structure: SparseStructure, dtype: torch.dtype, heads: tuple[int, ...]) -> None:
    scores, gradient = 5 * torch.randn(2, structure.num_entries, *heads, dtype=dtype)
    weights = pure.softmax(structure, scores)
    assert_alike(lambda core: core.softmax(structure, scores))
    assert_alike(lambda core: core.softmax_gradient(structure, weights, gradient))
    assert_alike(lambda core: core.sum_rows(structure, scores))


@every_dtype
@every_width
def test_dense_softmax_and_its_gradient(dtype: torch.dtype, width: int) -> None:
    scores, gradient = 5 * torch.randn(2, 13, width, dtype=dtype)
    weights = pure.dense_softmax(scores)
    assert_alike(lambda core: core.dense_softmax(scores))
    assert_alike(lambda core: core.dense_softmax_gradient(weights, gradient))


@every_dtype
@every_width
@every_heads
def test_products(structure: SparseStructure, dtype: torch.dtype, width: int, heads: tuple[int, ...]) -> None:
    rows, columns = structure.shape
    values = torch.randn(structure.num_entries, *heads, dtype=dtype)
    left, right = (torch.randn(size, *heads, width, dtype=dtype) for size in (rows, columns))
    assert_alike(lambda core: core.multiply(structure, values, right))
    assert_alike(lambda core: core.multiply_transposed(structure, values, left))
    assert_alike(lambda core: core.entry_products(structure, left, right))


@every_dtype
@pytest.mark.parametrize("without_self", [False, True])
@pytest.mark.parametrize(("width", "kept"), [(1, 1), (3, 2), (4, 100), (100, 4)])
def test_propagation_rows(
    adjacency: SparseStructure, dtype: torch.dtype, without_self: bool, width: int, kept: int
) -> None:
    values, nodes = torch.rand(adjacency.num_entries, dtype=dtype), range(adjacency.shape[0])
    options = {"width": width, "kept": kept, "without_self": without_self}
    assert_alike(lambda core: core.propagation_rows(adjacency, values, [0.5, 0.0, 0.25, 0.25], nodes, **options))
    assert_alike(lambda core: core.propagation_rows(adjacency, torch.ones_like(values), [0.5, 1.0], nodes, **options))
    some = range(min(1, len(nodes)), max(1, len(nodes)) - 1)
    assert_alike(lambda core: core.propagation_rows(adjacency, values, [0.0, 1.0], some, **options))


@every_dtype
@pytest.mark.parametrize("unit_length", [False, True])
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (7, 4), (5, 0)], ids=str)
def test_sums_of_feature_rows(
    structure: SparseStructure, dtype: torch.dtype, unit_length: bool, shape: tuple[int, int]
) -> None:
    if not structure.shape[0]:
        return
    values, weights = torch.randn(structure.num_entries, dtype=dtype), torch.randn(shape, dtype=dtype)
    weights[:, ::2] = 0
    nodes = torch.randint(structure.shape[0], shape, dtype=torch.int32)
    assert_alike(lambda core: core.sum_feature_rows(structure, values, nodes, weights, unit_length=unit_length))


@every_dtype
@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 255, 256, 257, 100_003])
def test_drop_keeps_the_same_values(dtype: torch.dtype, count: int) -> None:
    values = torch.randn(count, dtype=dtype)
    for seed in (0, 1, -1, 2**63 - 1, -(2**63)):
        for threshold in (1, 13_107, 2**15, 2**16 - 1):
            ours, theirs = (core.drop(values, seed, 0, threshold, 2**16 / threshold) for core in (compiled, pure))
            assert torch.equal(ours, theirs), (seed, threshold)


@every_core
@pytest.mark.parametrize("start", [4, 256, 260, 1000])
def test_a_part_is_dropped_as_it_is_in_the_whole(core: Kernels, start: int) -> None:
    values = torch.ones(1001)
    whole, part = core.drop(values, 5, 0, 2**15, 2.0), core.drop(values[start:], 5, start, 2**15, 2.0)
    assert torch.equal(part, whole[start:])


@every_dtype
@every_core
def test_drop_at_the_highest_threshold_keeps_everything(core: Kernels, dtype: torch.dtype) -> None:
    values = torch.randn(1001, dtype=dtype)
    assert torch.equal(core.drop(values, 5, 0, 2**16, 1.0), values)


@every_core
def test_a_dropped_value_is_zero_whatever_it_was(core: Kernels) -> None:
    dropped = core.drop(torch.full((1001,), float("inf")), 5, 0, 2**15, 2.0)
    assert set(dropped.tolist()) == {0.0, float("inf")}


@every_dtype
@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_adam_step(dtype: torch.dtype, weight_decay: float) -> None:
    weight, gradient, mean, square = torch.randn(4, 37, dtype=dtype)

    def stepped(core: Kernels) -> tuple[Tensor, ...]:
        changed = weight.clone(), mean.clone(), square.abs()
        core.adam_step(changed[0], gradient, *changed[1:], (0.9, 0.999, 0.05, 0.3, 1e-8, weight_decay))
        return changed

    assert_alike(stepped)


@every_dtype
@every_core
@pytest.mark.parametrize("bad", [float("inf"), -float("inf"), float("nan")])
def test_one_number_that_is_not_finite_is_found(core: Kernels, dtype: torch.dtype, bad: float) -> None:
    values = torch.zeros(37, dtype=dtype)
    assert core.all_finite(values)
    assert core.all_finite(values[:0])
    for place in (0, 20, 36):
        assert not core.all_finite(values.index_fill(0, torch.tensor([place]), bad))
    assert not core.all_finite(torch.tensor([bad, -bad], dtype=dtype))


@every_dtype
@every_core
def test_finite_numbers_are_finite_though_their_sum_is_not(core: Kernels, dtype: torch.dtype) -> None:
    assert core.all_finite(torch.full((37,), torch.finfo(dtype).max, dtype=dtype))


def test_softmax_of_float32_is_exact_to_the_last_bits_over_the_whole_range() -> None:
    scores = torch.linspace(-86.0, 0.0, 5001)
    structure = SparseStructure(torch.arange(0, 10_003, 2), torch.zeros(10_002, dtype=torch.long), (5001, 1))
    pairs = torch.stack([scores, torch.zeros(5001)], dim=1).flatten()
    exact = pairs.double().view(-1, 2).softmax(-1).flatten()
    error = (compiled.softmax(structure, pairs).double() - exact) / exact
    assert error.abs().max() < 4 * torch.finfo(torch.float32).eps


@pytest.fixture(scope="module")
def large() -> SparseStructure:
    """Entries and rows enough that even the cheapest function is shared out between two threads."""
    source = Path(compiled.__file__).with_name("kernels.cpp").read_text()
    work = 2 * int(re.search(r"kWorkPerThread = (\d+)", source).group(1))
    counts = torch.randint(0, 8, (work // 3,), generator=torch.Generator().manual_seed(0))
    counts[5] = work // 8
    indptr = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    indices = torch.randint(0, len(counts), (int(indptr[-1]),), generator=torch.Generator().manual_seed(1))
    assert len(indices) >= work
    return SparseStructure(indptr, indices, (len(counts), len(counts)))


@every_dtype
def test_bits_do_not_depend_on_the_number_of_threads(large: SparseStructure, dtype: torch.dtype) -> None:
    nodes, edges = large.shape[0], large.num_entries
    mu, precision = torch.randn(2, nodes, 3, dtype=dtype)
    scores, gradient = torch.randn(2, edges, dtype=dtype)
    numbers = (0.9, 0.999, 0.05, 0.3, 1e-8, 0.1)

    def everything() -> dict[str, Tensor]:
        weight, mean, square = scores.clone(), gradient.clone(), gradient.square()
        compiled.adam_step(weight, gradient, mean, square, numbers)
        to_mu, to_precision = compiled.edge_distance_gradient(large, mu, precision, gradient)
        return {
            "edge_distance": compiled.edge_distance(large, mu, precision),
            "edge_distance_gradient in mu": to_mu,
            "edge_distance_gradient in precision": to_precision,
            "softmax": compiled.softmax(large, scores),
            "softmax_gradient": compiled.softmax_gradient(large, scores, gradient),
            "dense_softmax": compiled.dense_softmax(mu),
            "dense_softmax_gradient": compiled.dense_softmax_gradient(mu, precision),
            "sum_rows": compiled.sum_rows(large, scores),
            "multiply": compiled.multiply(large, scores, mu),
            "multiply_transposed": compiled.multiply_transposed(large, scores, mu),
            "entry_products": compiled.entry_products(large, mu, precision),
            "drop": compiled.drop(scores, 7, 0, 30_000, 2.0),
            "adam_step": weight,
        }

    with computing_with(1):
        alone = everything()
    with computing_with(2):
        shared = everything()
    assert [name for name in alone if not torch.equal(alone[name], shared[name])] == []


def test_bits_of_a_symmetric_distance_do_not_depend_on_the_number_of_threads() -> None:
    count = 200_000
    ring = torch.arange(count)
    mask = torch.stack([(ring - 1) % count, ring, (ring + 1) % count], dim=1).sort(dim=1).values
    structure = SparseStructure(torch.arange(0, 3 * count + 1, 3), mask.flatten(), (count, count))
    assert structure.mirror is not None
    mu, precision = torch.randn(2, count, 3)
    gradient = torch.randn(3 * count)
    results = []
    for threads in (1, 2):
        with computing_with(threads):
            distance = compiled.edge_distance(structure, mu, precision)
            results.append((distance, *compiled.edge_distance_gradient(structure, mu, precision, gradient)))
    assert all(torch.equal(alone, shared) for alone, shared in zip(*results, strict=True))


@every_dtype
def test_bits_of_rows_do_not_depend_on_the_number_of_threads(dtype: torch.dtype) -> None:
    count, degree = 20_000, 8
    indices = torch.randint(count, (count, degree), generator=torch.Generator().manual_seed(0)).sort(1).values.flatten()
    structure = SparseStructure(torch.arange(0, len(indices) + 1, degree), indices, (count, count))
    values = torch.rand(len(indices), dtype=dtype)
    results = []
    for threads in (1, 2):
        with computing_with(threads):
            rows = compiled.propagation_rows(structure, values, [0.5, 0.25, 0.25], range(count), width=16, kept=40)
            results.append((*rows, *compiled.sum_feature_rows(structure, values, *rows, unit_length=True)))
    assert all(torch.equal(alone, shared) for alone, shared in zip(*results, strict=True))


def test_softmax_of_no_columns_is_empty() -> None:
    assert compiled.dense_softmax(torch.zeros(3, 0)).shape == (3, 0)
