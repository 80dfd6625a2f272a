"""Large sparse linear systems, solved by scipy's conjugate gradients: memory grows with the entries only."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.sparse.linalg import LinearOperator, cg

from confgcn.exceptions import DivergedError

FloatArray = npt.NDArray[np.float64]

TOLERANCE = 1e-10  # of the residual, relative to the right side


def solve(operator: LinearOperator, right: FloatArray, *, diagonal: FloatArray) -> FloatArray:
    """x with A x = b for every column b of ``right``; A is symmetric and positive definite.

    Shapes: A (n, n); ``diagonal`` (n,) of A, the preconditioner; ``right`` (n, columns) -> the same.
    """
    scaling = LinearOperator(operator.shape, matvec=lambda x: x / diagonal)
    columns = []
    for column in right.T:
        with np.errstate(all="ignore"):  # a singular system raises an error below
            x, failed = cg(operator, column, rtol=TOLERANCE, maxiter=10 * len(column) + 100, M=scaling)
        if failed:
            raise DivergedError(
                "the linear system of this method on this graph could not be solved: it is too ill-conditioned; "
                "try another method"
            )
        columns.append(x)
    return np.stack(columns, axis=1)
