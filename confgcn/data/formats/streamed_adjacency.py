"""The adjacency of more edges than memory holds: what ``confgcn.graph.symmetric_adjacency`` gives, written to files.

Edges are read twice. First the entries of every row are counted, which says how many rows together make a block. Then
every entry is written to a scratch file, at the place of its block; entries of one block are sorted and repetitions
dropped. So there are never more than a few arrays of one number per node in memory, and a dozen of a block.
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

from confgcn.data.formats.npy import growing_npy, write_npy
from confgcn.data.input_files import naming
from confgcn.graph import EdgeCounts, distinct
from confgcn.graph.validation import IntArray
from confgcn.io.blocks import BLOCK, blocks_of_entries

ITEM = 8  # bytes of an entry
Edges = Callable[[], Iterator[IntArray]]


def write_adjacency(folder: Path, edges: Edges, num_nodes: int) -> EdgeCounts:
    """``indptr.npy`` and ``indices.npy`` of these edges, and what the list of them held."""
    listed, ends = 0, np.zeros(num_nodes + 1, dtype=np.int64)
    for pairs in edges():
        listed += len(pairs)
        ends[1:] += np.bincount(pairs.ravel(), minlength=num_nodes)
    np.cumsum(ends, out=ends)
    with naming(folder), tempfile.TemporaryFile(dir=folder) as scratch:
        blocks = _scattered(scratch, edges, ends)
        sizes, indptr = _written(folder / "indices.npy", scratch, blocks, num_nodes)
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
    """Rows whose entries are sorted together, and where these are in the scratch file."""

    rows: slice
    start: int
    end: int


def _scattered(scratch: IO[bytes], edges: Edges, ends: IntArray) -> list[_Block]:
    """Put every entry where those of its block are. ``ends`` says how many there may be before each row."""
    num_nodes = len(ends) - 1
    blocks = [_Block(rows, int(ends[rows.start]), int(ends[rows.start])) for rows in blocks_of_entries(ends)]
    firsts = np.array([block.rows.start for block in blocks]) * (2 * num_nodes)
    for pairs in edges():
        keys = distinct(_keys(pairs, num_nodes))
        cuts = [*np.searchsorted(keys, firsts).tolist(), len(keys)]
        for block, (first, last) in zip(blocks, pairwise(cuts), strict=True):
            scratch.seek(block.end * ITEM)
            scratch.write(keys[first:last].data)
            block.end += last - first
    return blocks


def _keys(pairs: IntArray, num_nodes: int) -> IntArray:
    """Both entries of every edge, by target and source; an odd one is of the direction that was not listed."""
    source, target = pairs[:, 0], pairs[:, 1]
    forward = 2 * (target * num_nodes + source)
    backward = 2 * (source * num_nodes + target) + 1
    return np.concatenate([forward, backward[source != target]])


def _written(path: Path, scratch: IO[bytes], blocks: list[_Block], num_nodes: int) -> tuple[Counter[str], IntArray]:
    """The sources of every row, to a file; counts of entries, and where the entries of every row begin."""
    sizes: Counter[str] = Counter()
    indptr = np.zeros(num_nodes + 1, dtype=np.int64)
    with growing_npy(path, np.int64) as append:
        for block in blocks:
            keys = _read(scratch, block)
            is_loop = (keys >> 1) // num_nodes == (keys >> 1) % num_nodes
            both = distinct(keys[~is_loop] >> 1)
            rows = np.arange(block.rows.start, block.rows.stop)
            entries = np.sort(np.concatenate([both, rows * (num_nodes + 1)]))
            append(entries % num_nodes)
            indptr[rows + 1] = np.bincount(entries // num_nodes - rows[0], minlength=len(rows))
            forward = int((keys[~is_loop] & 1 == 0).sum())
            sizes.update(loops=int(is_loop.sum()), forward=forward, both=len(both))
    return sizes, np.cumsum(indptr)


def _read(scratch: IO[bytes], block: _Block) -> IntArray:
    """The entries of a block, each once; a row of more than a block is merged part by part."""
    found: Any = np.empty(0, dtype=np.int64)
    scratch.seek(block.start * ITEM)
    for start in range(block.start, block.end, BLOCK):
        content = scratch.read(min(BLOCK, block.end - start) * ITEM)
        found = distinct(np.concatenate([found, np.frombuffer(content, dtype=np.int64)]))
    return np.asarray(found)
