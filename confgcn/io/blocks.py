"""Go through arrays that may be larger than memory, some rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

BLOCK = 2**21  # values processed together: 16 MB in double precision, about twelve times that while they are sorted


def blocks_of_rows(num_rows: int, width: int = 1) -> Iterator[slice]:
    """Slices of rows of ``width`` values each, with at most a block of values."""
    step = max(1, BLOCK // max(1, width))
    for first in range(0, num_rows, step):
        yield slice(first, min(first + step, num_rows))


def blocks_of_entries(indptr: npt.NDArray[Any]) -> Iterator[slice]:
    """Slices of rows of a compressed sparse row matrix, with at most a block of entries or one longer row."""
    first, num_rows = 0, len(indptr) - 1
    while first < num_rows:
        fitting = int(np.searchsorted(indptr, indptr[first] + BLOCK, side="right")) - 1
        last = min(max(fitting, first + 1), num_rows)
        yield slice(first, last)
        first = last
