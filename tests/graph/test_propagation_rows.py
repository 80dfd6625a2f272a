"""Propagation rows against dense powers of a matrix, on graphs that can be checked by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor

from confgcn import kernels
from confgcn.exceptions import CorruptFileError, UsageError
from confgcn.graph.propagation_rows import PropagationRows, with_bounded_rows
from confgcn.io import blocks
from confgcn.kernels import library, pure_propagation
from confgcn.sparse import SparseMatrix, SparseStructure

HALVES = (0.5, 0.25, 0.25)  # c_0 .. c_2

every_core = pytest.mark.parametrize(
    "core", ["pure", pytest.param("compiled", marks=pytest.mark.skipif(not library.available(), reason="no library"))]
)


def path_of_four() -> tuple[SparseStructure, Tensor]:
    """0 - 1 - 2 - 3 with self loops; every row divides one among a node and its neighbours."""
    indptr, indices = torch.tensor([0, 2, 5, 8, 10]), torch.tensor([0, 1, 0, 1, 2, 1, 2, 3, 2, 3])
    structure = SparseStructure(indptr, indices, (4, 4))
    return structure, (1 / indptr.diff().float())[structure.rows]


def random_walk(num_nodes: int, num_edges: int) -> tuple[SparseStructure, Tensor]:
    ends = np.random.default_rng(0).integers(num_nodes, size=(2, num_edges))
    matrix = sp.csr_array((np.ones(num_edges), tuple(ends)), shape=(num_nodes, num_nodes))
    matrix = sp.csr_array(matrix + matrix.T + sp.eye_array(num_nodes))
    matrix.sort_indices()
    indptr, indices = (torch.from_numpy(array).long() for array in (matrix.indptr, matrix.indices))
    structure = SparseStructure(indptr, indices, (num_nodes, num_nodes))
    return structure, (1 / indptr.diff().float())[structure.rows]


def dense(structure: SparseStructure, values: Tensor) -> Tensor:
    return torch.from_numpy(SparseMatrix(structure, values).to_scipy().toarray()).double()


def sum_of_powers(matrix: Tensor, coefficients: tuple[float, ...]) -> Tensor:
    return sum(c * torch.linalg.matrix_power(matrix, k) for k, c in enumerate(coefficients))


def as_matrix(rows: PropagationRows, num_columns: int) -> Tensor:
    matrix = torch.zeros(len(rows.indices), num_columns, dtype=torch.double)
    return matrix.scatter_add_(1, rows.indices.long(), rows.weights.double())


@every_core
def test_rows_of_a_path_are_those_worked_out_by_hand(core: Any) -> None:
    with kernels.using(core):
        rows = PropagationRows.build(*path_of_four(), (0.0, 1.0), width=3)
    assert rows.indices.dtype == torch.int32
    assert rows.indices[0].sort().values.tolist() == [0, 0, 1]  # filled with the node itself
    assert rows.weights.tolist() == [
        pytest.approx(row) for row in ([0.5, 0.5, 0], [1 / 3] * 3, [1 / 3] * 3, [0.5, 0.5, 0])
    ]
    with kernels.using(core):
        second = PropagationRows.build(*path_of_four(), (0.0, 0.0, 1.0), width=2)
    assert sorted(second.indices[0].tolist()) == [0, 1]  # 1/2 1/2 + 1/2 1/3 each; 1/6 for node 2
    assert second.weights[0].tolist() == pytest.approx([5 / 12, 5 / 12])


@every_core
@pytest.mark.parametrize("without_self", [False, True])
def test_rows_wide_enough_are_the_sum_of_powers(core: Any, without_self: bool) -> None:
    structure, values = random_walk(40, 80)
    with kernels.using(core):
        rows = PropagationRows.build(structure, values, HALVES, width=40, kept=40, without_self=without_self)
    expected = sum_of_powers(dense(structure, values), HALVES)
    if without_self:
        expected.fill_diagonal_(0)
    torch.testing.assert_close(as_matrix(rows, 40), expected, rtol=1e-6, atol=1e-7)
    assert (rows.weights.diff() <= 1e-6).all()
    padding = rows.weights == 0
    assert torch.equal(rows.indices[padding], torch.arange(40).repeat_interleave(padding.sum(1)).int())


@every_core
def test_the_largest_entries_are_kept(core: Any) -> None:
    structure, values = random_walk(40, 80)
    with kernels.using(core):
        rows = PropagationRows.build(structure, values, HALVES, width=5, kept=40)
    expected = sum_of_powers(dense(structure, values), HALVES).topk(5).values
    torch.testing.assert_close(rows.weights.double(), expected, rtol=1e-6, atol=0)


@every_core
def test_after_a_step_only_the_largest_entries_are_carried_on(core: Any) -> None:
    """From node 0 a step leads to 1, 2 and 3 with weights 3, 2 and 1; node k leads on to 3 + k."""
    indptr = torch.tensor([0, 3, 4, 5, 6, 6, 6, 6])
    structure = SparseStructure(indptr, torch.tensor([1, 2, 3, 4, 5, 6]), (7, 7))
    values = torch.tensor([3.0, 2.0, 1.0, 1.0, 1.0, 10.0])
    with kernels.using(core):
        rows = PropagationRows.build(structure, values, (0.0, 0.0, 1.0), width=3, kept=2)
    assert rows.indices[0].tolist() == [4, 5, 0]
    assert rows.weights[0].tolist() == [3.0, 2.0, 0.0]


@every_core
def test_a_random_choice_among_equal_weights_differs_between_rows_and_is_reproducible(core: Any) -> None:
    """In a complete graph all weights of a row are equal."""
    count = 50
    indptr, indices = torch.arange(0, count * count + 1, count), torch.arange(count).repeat(count)
    structure, values = SparseStructure(indptr, indices, (count, count)), torch.full((count * count,), 1 / count)
    with kernels.using(core):
        first, again = (PropagationRows.build(structure, values, (0.0, 0.0, 1.0), width=10) for _ in range(2))
    assert torch.equal(first.indices, again.indices)
    assert len({tuple(row) for row in first.indices.tolist()}) == count
    times = torch.bincount(first.indices.flatten(), minlength=count)
    assert times.min() >= 1
    assert times.max() <= 25  # 10 expected, standard deviation 2.8


@pytest.mark.skipif(not library.available(), reason=library.why_not())
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("without_self", [False, True])
def test_pure_and_compiled_rows_are_alike(dtype: torch.dtype, without_self: bool) -> None:
    structure, values = random_walk(300, 900)
    tables = []
    for core in ("pure", "compiled"):
        with kernels.using(core):  # type: ignore[arg-type]
            options = {"width": 12, "kept": 20, "without_self": without_self}
            tables.append(PropagationRows.build(structure, values.to(dtype), (0.1, 0.2, 0.3, 0.4), **options))
    assert torch.equal(tables[0].indices, tables[1].indices)
    assert tables[0].weights.dtype == dtype
    torch.testing.assert_close(tables[0].weights, tables[1].weights, rtol=4 * torch.finfo(dtype).eps, atol=0)


@every_core
@pytest.mark.parametrize("in_files", [False, True])
def test_rows_do_not_depend_on_blocks(
    core: Any, in_files: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    structure, values = random_walk(100, 200)
    with kernels.using(core):
        whole = PropagationRows.build(structure, values, HALVES, width=8, kept=16)
        for module in (blocks, pure_propagation):
            monkeypatch.setattr(module, "BLOCK", 16 * 7)
        folder = tmp_path / "rows" if in_files else None
        rows = PropagationRows.build(structure, values, HALVES, width=8, kept=16, folder=folder)
    assert torch.equal(rows.indices, whole.indices)
    assert torch.equal(rows.weights, whole.weights)


def some_rows() -> PropagationRows:
    return PropagationRows(
        torch.tensor([[1, 0], [2, 1], [2, 2]], dtype=torch.int32), torch.tensor([[3.0, 1], [2, 2], [0, 0]])
    )


def test_rows_of_some_nodes() -> None:
    rows = some_rows().of(torch.tensor([1, 1, 0]))
    assert rows.indices.tolist() == [[2, 1], [2, 1], [1, 0]]
    assert rows.weights.tolist() == [[2, 2], [2, 2], [3, 1]]


def test_normalised_rows_sum_to_one_and_rows_of_zeros_stay_zero() -> None:
    rows = some_rows()
    assert rows.normalised().weights.tolist() == [[0.75, 0.25], [0.5, 0.5], [0, 0]]
    assert rows.weights.tolist() == [[3, 1], [2, 2], [0, 0]]


def test_a_view_has_nodes_of_the_row_at_equal_weights() -> None:
    view = some_rows().view(5)
    assert view.indices.shape == view.weights.shape == (3, 5)
    assert view.indices.dtype == torch.int32
    assert set(view.indices[0].tolist()) <= {0, 1}
    assert set(view.indices[1].tolist()) <= {1, 2}
    torch.testing.assert_close(view.weights, torch.tensor([[0.2] * 5, [0.2] * 5, [0.0] * 5]))


def test_the_mean_of_views_is_the_normalised_row() -> None:
    torch.manual_seed(0)
    copies = 4000
    row = PropagationRows(torch.tensor([[3, 0, 2, 1]], dtype=torch.int32), torch.tensor([[5.0, 3.0, 2.0, 0.0]]))
    views = as_matrix(row.of(torch.zeros(copies, dtype=torch.long)).view(3), 4)
    assert views.mean(0).tolist() == pytest.approx([0.3, 0.0, 0.2, 0.5], abs=0.02)  # standard deviation 0.005
    assert views.var(0)[3] == pytest.approx(0.5 * 0.5 / 3, rel=0.1)  # three independent draws


def test_a_view_of_rows_of_zeros_is_zero() -> None:
    rows = PropagationRows(torch.tensor([[2, 2, 2]], dtype=torch.int32), torch.zeros(1, 3))
    assert rows.view(2).weights.tolist() == [[0, 0]]
    assert rows.view(2).features(torch.ones(3, 2)).tolist() == [[0, 0]]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("number", [0.0, 0.5, 1.0], ids=["lowest", "middle", "highest"])
def test_a_view_never_has_an_entry_of_weight_zero(
    number: float, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also for the lowest and the highest random number; entries of weight zero are at both ends and between."""

    def draw(*shape: int, dtype: torch.dtype) -> Tensor:
        return torch.full(shape, min(number, 1.0 - torch.finfo(dtype).eps / 2), dtype=dtype)

    monkeypatch.setattr(torch, "rand", draw)
    totals = torch.linspace(0.1, 7.0, 500, dtype=dtype)[:, None]
    weights = totals * torch.tensor([0.0, 0.3, 0.0, 0.5, 0.2, 0.0], dtype=dtype)
    rows = PropagationRows(torch.arange(6, dtype=torch.int32).repeat(500, 1), weights)
    expected = {0.0: 1, 0.5: 3, 1.0: 4}[number]
    assert (rows.view(4).indices == expected).all()


def test_views_of_one_seed_are_equal_and_of_others_not() -> None:
    rows = PropagationRows(torch.arange(4, dtype=torch.int32).repeat(50, 1), torch.ones(50, 4))
    torch.manual_seed(0)
    first, second = rows.view(8), rows.view(8)
    torch.manual_seed(0)
    assert torch.equal(rows.view(8).indices, first.indices)
    assert not torch.equal(second.indices, first.indices)


def test_a_view_of_double_precision_has_weights_of_double_precision() -> None:
    rows = PropagationRows(torch.zeros(1, 2, dtype=torch.int32), torch.ones(1, 2, dtype=torch.double))
    assert rows.view(3).weights.tolist() == [[1 / 3] * 3]


FEATURES = torch.tensor([[1.0, 0, 0], [0, 2, 0], [4, 3, 0]])
SPARSE_FEATURES = SparseMatrix(
    SparseStructure(torch.tensor([0, 1, 2, 4]), torch.tensor([0, 1, 0, 1]), (3, 3)), torch.tensor([1.0, 2, 4, 3])
)


@every_core
@pytest.mark.parametrize("features", [FEATURES, SPARSE_FEATURES], ids=["dense", "sparse"])
def test_propagated_features_are_the_weighted_sums(core: Any, features: Tensor | SparseMatrix) -> None:
    with kernels.using(core):
        sums = some_rows().features(features)
        units = some_rows().features(features, unit_length=True)
    assert isinstance(sums, SparseMatrix) == isinstance(features, SparseMatrix)
    sums, units = (x.to_scipy().toarray() if isinstance(x, SparseMatrix) else x.numpy() for x in (sums, units))
    assert sums.tolist() == [[1, 6, 0], [8, 10, 0], [0, 0, 0]]
    assert units[1] == pytest.approx(sums[1] / 164**0.5)
    assert units[2].tolist() == [0, 0, 0]


@every_core
def test_propagated_sparse_features_are_those_of_dense_ones(core: Any) -> None:
    structure, values = random_walk(100, 200)
    with kernels.using(core):
        rows = PropagationRows.build(structure, values, HALVES, width=8).view(4)
        matrix = sp.random_array((100, 130), density=0.1, rng=np.random.default_rng(0), format="csr")
        matrix.sort_indices()
        indptr, indices = (torch.from_numpy(array).long() for array in (matrix.indptr, matrix.indices))
        sparse = SparseMatrix(SparseStructure(indptr, indices, matrix.shape), torch.from_numpy(matrix.data))
        for unit_length in (False, True):
            ours = rows.features(sparse, unit_length=unit_length)
            theirs = rows.features(torch.from_numpy(matrix.toarray()), unit_length=unit_length)
            assert isinstance(ours, SparseMatrix)
            torch.testing.assert_close(dense(ours.structure, ours.values), theirs)
            starts = torch.zeros(ours.structure.num_entries, dtype=torch.bool)
            starts[ours.structure.indptr[:-1][ours.structure.indptr.diff() > 0]] = True
            assert (ours.structure.indices.diff() > 0).logical_or(starts[1:]).all()  # sorted and unique within rows


def test_written_rows_are_read_again(tmp_path: Path) -> None:
    some_rows().write(tmp_path / "rows")
    some_rows().write(tmp_path / "rows")  # replaces them
    rows = PropagationRows.read(tmp_path / "rows")
    assert torch.equal(rows.indices, some_rows().indices)
    assert torch.equal(rows.weights, some_rows().weights)


@pytest.mark.parametrize("name", ["indices.npy", "weights.npy", "arrays.json"])
def test_a_damaged_file_is_named(tmp_path: Path, name: str) -> None:
    some_rows().write(tmp_path)
    content = bytearray((tmp_path / name).read_bytes())
    content[-5] ^= 1
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CorruptFileError, match=name):
        PropagationRows.read(tmp_path)


def test_arrays_that_are_no_rows_are_refused(tmp_path: Path) -> None:
    PropagationRows(torch.zeros(3, 2), torch.zeros(3, 2)).write(tmp_path)
    with pytest.raises(CorruptFileError, match=r"expected int32 indices.*found indices float32 \(3, 2\)"):
        PropagationRows.read(tmp_path)


@pytest.mark.parametrize(
    ("indices", "weights", "message"),
    [
        ([[0, 3]], [[1.0, 1.0]], "expected nodes from 0 to 0"),
        ([[0, -1]], [[1.0, 1.0]], "expected nodes from 0 to 0"),
        ([[0, 0]], [[1.0, -1.0]], "expected finite weights"),
        ([[0, 0]], [[1.0, float("nan")]], "expected finite weights"),
    ],
)
def test_numbers_that_no_rows_have_are_refused(
    tmp_path: Path, indices: list[list[int]], weights: list[list[float]], message: str
) -> None:
    PropagationRows(torch.tensor(indices, dtype=torch.int32), torch.tensor(weights)).write(tmp_path)
    with pytest.raises(CorruptFileError, match=message):
        PropagationRows.read(tmp_path)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no coefficients": ({"coefficients": ()}, "non-negative coefficients"),
    "a negative coefficient": ({"coefficients": (1.0, -0.5)}, r"non-negative coefficients, got \[1.0, -0.5\]"),
    "negative values": ({"values": -torch.ones(10)}, "at least 0, got -1.0 to -1.0"),
    "a value that is not finite": ({"values": torch.full((10,), float("nan"))}, "finite values"),
    "a value too few": ({"values": torch.ones(9)}, r"each of its 10 entries, got \(4, 4\) and \(9,\)"),
    "no width": ({"width": 0}, "at least 1, got 0 and 128"),
    "nothing kept": ({"kept": 0}, "at least 1, got 32 and 0"),
}


@pytest.mark.parametrize(("changed", "message"), WRONG.values(), ids=WRONG.keys())
def test_a_matrix_that_cannot_be_used_is_refused(changed: dict[str, Any], message: str) -> None:
    structure, values = path_of_four()
    with pytest.raises(UsageError, match=message):
        PropagationRows.build(**{"structure": structure, "values": values, "coefficients": HALVES, **changed})


def test_long_rows_keep_their_largest_entries_and_their_sum() -> None:
    structure = SparseStructure(torch.tensor([0, 4, 6]), torch.tensor([0, 1, 2, 3, 1, 3]), (2, 4))
    bounded, values = with_bounded_rows(structure, torch.tensor([0.4, 0.1, 0.3, 0.2, 0.5, 0.5]), 2)
    assert bounded.indptr.tolist() == [0, 2, 4]
    assert bounded.indices.tolist() == [0, 2, 1, 3]
    assert values.tolist() == pytest.approx([0.4 / 0.7, 0.3 / 0.7, 0.5, 0.5])


def test_equal_entries_of_a_long_row_are_chosen_at_random_and_always_the_same() -> None:
    structure = SparseStructure(torch.tensor([0, 100]), torch.arange(100), (1, 100))
    (first, values), (second, _) = (with_bounded_rows(structure, torch.ones(100), 10) for _ in range(2))
    assert torch.equal(first.indices, second.indices)
    assert first.indices.tolist() != list(range(10))
    assert values.tolist() == pytest.approx([10.0] * 10)


def test_rows_within_the_bound_are_not_copied() -> None:
    structure, values = random_walk(20, 40)
    bounded, same = with_bounded_rows(structure, values, 40)
    assert bounded is structure
    assert same is values
