"""Arrays that may be larger than memory are gone through some rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

BLOCK = 2**21  # values that are looked at together: 16 MB in double precision, a dozen times while they are sorted


def blocks_of_rows(num_rows: int, width: int = 1) -> Iterator[slice]:
    """Rows of so many values each, as many together as make a block."""
    step = max(1, BLOCK // max(1, width))
    for first in range(0, num_rows, step):
        yield slice(first, min(first + step, num_rows))


def blocks_of_entries(indptr: npt.NDArray[Any]) -> Iterator[slice]:
    """Rows of a compressed sparse row matrix whose entries make a block together; no row is cut."""
    first, num_rows = 0, len(indptr) - 1
    while first < num_rows:
        fitting = int(np.searchsorted(indptr, indptr[first] + BLOCK, side="right")) - 1
        last = min(max(fitting, first + 1), num_rows)
        yield slice(first, last)
        first = last
