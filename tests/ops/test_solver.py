"""Conjugate gradients against a dense solve, and that a system without an answer is not answered."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from scipy.sparse.linalg import aslinearoperator

from confgcn.exceptions import DivergedError
from confgcn.ops.solver import solve

FloatArray = npt.NDArray[np.float64]


def positive_definite(size: int, *, condition: float) -> FloatArray:
    random = np.random.default_rng(size)
    basis, _ = np.linalg.qr(random.normal(size=(size, size)))
    return basis @ np.diag(np.geomspace(1.0, condition, size)) @ basis.T


@pytest.mark.parametrize(("size", "condition"), [(1, 1.0), (6, 10.0), (40, 1e4)])
def test_solutions_are_those_of_a_dense_solve(size: int, condition: float) -> None:
    matrix = positive_definite(size, condition=condition)
    right = np.random.default_rng(1).normal(size=(size, 3))
    right[:, 1] = 0.0
    x = solve(aslinearoperator(matrix), right, diagonal=matrix.diagonal())
    np.testing.assert_allclose(x, np.linalg.solve(matrix, right), rtol=1e-5, atol=1e-7)
    assert x.shape == (size, 3)
    assert not x[:, 1].any()


def test_columns_of_very_different_sizes_are_solved_alike() -> None:
    matrix = positive_definite(10, condition=100.0)
    right = np.random.default_rng(1).normal(size=(10, 2)) * [1e-8, 1e8]
    x = solve(aslinearoperator(matrix), right, diagonal=matrix.diagonal())
    np.testing.assert_allclose(x / [1e-8, 1e8], np.linalg.solve(matrix, right) / [1e-8, 1e8], rtol=1e-6, atol=1e-7)


def test_scales_far_apart_are_evened_out_by_the_diagonal() -> None:
    scale = np.geomspace(1e-4, 1e4, 30)
    matrix = scale[:, None] * positive_definite(30, condition=5.0) * scale
    expected = np.random.default_rng(1).normal(size=(30, 1)) / scale[:, None]
    x = solve(aslinearoperator(matrix), matrix @ expected, diagonal=matrix.diagonal())
    np.testing.assert_allclose(x * scale[:, None], expected * scale[:, None], rtol=1e-4, atol=1e-4)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numpy's, of the division that has no answer
@pytest.mark.parametrize(
    "matrix",
    [
        [[1.0, -1, 0], [-1, 2, -1], [0, -1, 1]],  # a Laplacian: its rows sum to zero, the right side does not
        [[1.0, 1, 1], [1, 1, 1], [1, 1, 1]],
    ],
    ids=["laplacian", "ones"],
)
def test_a_system_without_a_solution_is_an_error(matrix: list[list[float]]) -> None:
    array = np.array(matrix)
    with pytest.raises(DivergedError, match="could not be solved"):
        solve(aslinearoperator(array), np.array([[1.0], [2.0], [3.0]]), diagonal=array.diagonal())


def test_a_system_that_takes_too_many_steps_is_an_error() -> None:
    matrix = positive_definite(60, condition=1e14)
    right = np.random.default_rng(1).normal(size=(60, 1))
    with pytest.raises(DivergedError, match="ill-conditioned"):
        solve(aslinearoperator(matrix), right, diagonal=matrix.diagonal())
