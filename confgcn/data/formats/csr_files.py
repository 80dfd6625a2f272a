"""Compressed sparse row arrays in files that may be larger than memory: written from a stream of edges, and checked.

Writing reads the edges twice. The first pass counts the entries of every row, which decides how many rows form a block.
The second pass writes every entry to a temporary file, at the place of its block. The entries of each block are then
sorted and their duplicates dropped. Memory holds a few numbers per node and about twelve arrays of one block.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from confgcn.data.formats.array_files import npy_writer, write_npy
from confgcn.data.input_files import naming
from confgcn.exceptions import CorruptFileError
from confgcn.graph import EdgeCounts, distinct
from confgcn.graph.validation import IntArray
from confgcn.io.blocks import BLOCK, blocks_of_entries, blocks_of_rows

Array = npt.NDArray[Any]
ENTRY_BYTES = 8
Edges = Callable[[], Iterator[IntArray]]


def write_adjacency(folder: Path, edges: Edges, num_nodes: int) -> EdgeCounts:
    """Write ``indptr.npy`` and ``indices.npy``, equal to :func:`confgcn.graph.symmetric_adjacency`; count the edges."""
    listed, ends = 0, np.zeros(num_nodes + 1, dtype=np.int64)
    for pairs in edges():
        listed += len(pairs)
        ends[1:] += np.bincount(pairs.ravel(), minlength=num_nodes)
    np.cumsum(ends, out=ends)
    with naming(folder), tempfile.TemporaryFile(dir=folder) as temporary:
        blocks = _write_by_block(temporary, edges, ends)
        sizes, indptr = _write_indices(folder / "indices.npy", temporary, blocks, num_nodes)
    write_npy(folder / "indptr.npy", indptr)
    return EdgeCounts(
        listed=listed,
        duplicates=listed - sizes["forward"] - sizes["loops"],
        loops=sizes["loops"],
        one_way=sizes["both"] - sizes["forward"],
        unique=sizes["both"] // 2,
    )


@dataclass
class _Block:
    """Rows whose entries are sorted together, and the place of these entries in the temporary file."""

    rows: slice
    start: int
    end: int


def _write_by_block(temporary: IO[bytes], edges: Edges, ends: IntArray) -> list[_Block]:
    """Write every entry to the place of its block. ``ends``: the largest number of entries up to each row, (N + 1,)."""
    num_nodes = len(ends) - 1
    blocks = [_Block(rows, int(ends[rows.start]), int(ends[rows.start])) for rows in blocks_of_entries(ends)]
    firsts = np.array([block.rows.start for block in blocks]) * (2 * num_nodes)
    for pairs in edges():
        keys = distinct(_keys(pairs, num_nodes))
        bounds = [*np.searchsorted(keys, firsts).tolist(), len(keys)]
        for block, (first, last) in zip(blocks, pairwise(bounds), strict=True):
            temporary.seek(block.end * ENTRY_BYTES)
            temporary.write(keys[first:last].data)
            block.end += last - first
    return blocks


def _keys(pairs: IntArray, num_nodes: int) -> IntArray:
    """Both entries of every edge as numbers ordered by target and source; odd ones are the direction not listed."""
    source, target = pairs[:, 0], pairs[:, 1]
    forward = 2 * (target * num_nodes + source)
    backward = 2 * (source * num_nodes + target) + 1
    return np.concatenate([forward, backward[source != target]])


def _write_indices(
    path: Path, temporary: IO[bytes], blocks: list[_Block], num_nodes: int
) -> tuple[Counter[str], IntArray]:
    """Write the sources of every row; returns counts of entries and the row pointers."""
    sizes: Counter[str] = Counter()
    indptr = np.zeros(num_nodes + 1, dtype=np.int64)
    with npy_writer(path, np.int64) as append:
        for block in blocks:
            keys = _read_block(temporary, block)
            is_loop = (keys >> 1) // num_nodes == (keys >> 1) % num_nodes
            both = distinct(keys[~is_loop] >> 1)
            rows = np.arange(block.rows.start, block.rows.stop)
            entries = np.sort(np.concatenate([both, rows * (num_nodes + 1)]))
            append(entries % num_nodes)
            indptr[rows + 1] = np.bincount(entries // num_nodes - rows[0], minlength=len(rows))
            forward = int((keys[~is_loop] & 1 == 0).sum())
            sizes.update(loops=int(is_loop.sum()), forward=forward, both=len(both))
    return sizes, np.cumsum(indptr)


def _read_block(temporary: IO[bytes], block: _Block) -> IntArray:
    """The distinct entries of a block; a single row may be larger than a block and is merged in steps."""
    found: Any = np.empty(0, dtype=np.int64)
    temporary.seek(block.start * ENTRY_BYTES)
    for start in range(block.start, block.end, BLOCK):
        content = temporary.read(min(BLOCK, block.end - start) * ENTRY_BYTES)
        found = distinct(np.concatenate([found, np.frombuffer(content, dtype=np.int64)]))
    return np.asarray(found)


def checked_entries(
    files: tuple[Path, Path], indptr: Array, indices: Array, width: int
) -> Iterator[tuple[Array, Array]]:
    """The row and the column of every entry, block by block, after checking order and range.

    ``files`` are those of the row pointers and of the column indices, for error messages. Columns must be below
    ``width``, sorted in each row, each once.
    """
    if indptr[0] != 0 or indptr[-1] != len(indices) or not _all_consecutive(np.less_equal, indptr):
        raise CorruptFileError(f"{files[0]}: corrupt, it does not describe {len(indices)} entries")
    for rows in blocks_of_entries(indptr):
        column = indices[indptr[rows.start] : indptr[rows.stop]]
        row = np.repeat(np.arange(rows.start, rows.stop), np.diff(indptr[rows.start : rows.stop + 1]))
        in_order = (row[1:] > row[:-1]) | (column[1:] > column[:-1])
        if (column < 0).any() or (column >= width).any() or not in_order.all():
            raise CorruptFileError(f"{files[1]}: corrupt, expected numbers from 0 to {width - 1}, sorted in each row")
        yield row, column


def check_ascending(file: Path, numbers: Array, limit: int) -> None:
    """Check that the numbers are sorted, distinct, at least 0 and below ``limit``."""
    if len(numbers) and (numbers[0] < 0 or numbers[-1] >= limit or not _all_consecutive(np.less, numbers)):
        raise CorruptFileError(f"{file}: corrupt, expected numbers from 0 to {limit - 1}, sorted, each once")


def _all_consecutive(comparison: np.ufunc, numbers: Array) -> bool:
    """Compare every number with the next one."""
    blocks = blocks_of_rows(len(numbers) - 1)
    return all(comparison(numbers[b.start : b.stop], numbers[b.start + 1 : b.stop + 1]).all() for b in blocks)
