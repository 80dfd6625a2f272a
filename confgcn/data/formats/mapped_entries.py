"""The entries of a sparse matrix whose arrays may be mapped, gone through before anything follows them blindly."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from confgcn.exceptions import CorruptFileError
from confgcn.io.blocks import blocks_of_entries, blocks_of_rows

Array = npt.NDArray[Any]


def entry_blocks(files: tuple[Path, Path], indptr: Array, indices: Array, width: int) -> Iterator[tuple[Array, Array]]:
    """The row and the column of every entry, a block at a time: columns below ``width``, in order, each once.

    ``files`` are those of the row pointers and of the column indices, for whoever is told what is wrong with them.
    """
    if indptr[0] != 0 or indptr[-1] != len(indices) or not _holds(np.less_equal, indptr):
        raise CorruptFileError(f"{files[0]}: corrupt, it does not describe {len(indices)} entries")
    for rows in blocks_of_entries(indptr):
        column = indices[indptr[rows.start] : indptr[rows.stop]]
        row = np.repeat(np.arange(rows.start, rows.stop), np.diff(indptr[rows.start : rows.stop + 1]))
        in_order = (row[1:] > row[:-1]) | (column[1:] > column[:-1])
        if (column < 0).any() or (column >= width).any() or not in_order.all():
            raise CorruptFileError(f"{files[1]}: corrupt, expected numbers from 0 to {width - 1}, sorted in each row")
        yield row, column


def check_ascending(file: Path, numbers: Array, limit: int) -> None:
    """Are these numbers from 0 on, below ``limit``, sorted, each once?"""
    if len(numbers) and (numbers[0] < 0 or numbers[-1] >= limit or not _holds(np.less, numbers)):
        raise CorruptFileError(f"{file}: corrupt, expected numbers from 0 to {limit - 1}, sorted, each once")


def _holds(comparison: np.ufunc, numbers: Array) -> bool:
    """Between every number and the next."""
    blocks = blocks_of_rows(len(numbers) - 1)
    return all(comparison(numbers[b.start : b.stop], numbers[b.start + 1 : b.stop + 1]).all() for b in blocks)
