"""The pure versions of ``propagation_rows`` and ``sum_feature_rows``: sorting in place of the loops in ``rows.h``."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from confgcn.io.blocks import BLOCK
from confgcn.sparse import SparseStructure

_32_BITS = 2**32 - 1


def propagation_rows(
    structure: SparseStructure,
    values: Tensor,
    coefficients: Sequence[float],
    nodes: range,
    *,
    width: int,
    kept: int,
    without_self: bool = False,
) -> tuple[Tensor, Tensor]:
    matrix = structure, values.double()
    step = _rows_at_once(structure, kept)
    blocks = []
    for first in range(nodes.start, nodes.stop, step):
        block = torch.arange(first, min(first + step, nodes.stop), device=values.device)
        total = _sum_of_powers(matrix, coefficients, block, kept)
        blocks.append(_largest_entries(total, block, width, without_self=without_self))
    if not blocks:
        empty = values.new_empty(0, width)
        return empty.int(), empty
    indices, weights = (torch.cat(tensors) for tensors in zip(*blocks, strict=True))
    return indices, weights.to(values.dtype)


def sum_feature_rows(
    structure: SparseStructure, values: Tensor, nodes: Tensor, weights: Tensor, *, unit_length: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    rows, used = (weights != 0).nonzero(as_tuple=True)
    entries, of_node = _entries_of(structure, nodes[rows, used].long())
    share = weights[rows, used].index_select(0, of_node) * values.index_select(0, entries)
    sums = _added(rows.index_select(0, of_node), structure.indices.index_select(0, entries), share, structure.shape[1])
    rows, columns, total = sums
    if unit_length:
        squares = total.new_zeros(len(nodes), dtype=torch.double).index_add_(0, rows, total.double().square())
        total = total * squares.masked_fill_(squares == 0, 1.0).rsqrt_().index_select(0, rows).to(total.dtype)
    counts = torch.bincount(rows, minlength=len(nodes))
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)]), columns, total


def _rows_at_once(structure: SparseStructure, kept: int) -> int:
    """How many rows to compute together, so that a step reaches about a block of entries."""
    degrees = structure.indptr.diff().double()
    of_neighbours = float(degrees.square().sum() / degrees.sum().clamp(min=1))
    return max(1, int(BLOCK / (4 * kept * max(1.0, of_neighbours))))


Entries = tuple[Tensor, Tensor, Tensor]  # row (from 0 in the block), column, weight; sorted by row and column


def _sum_of_powers(
    matrix: tuple[SparseStructure, Tensor], coefficients: Sequence[float], nodes: Tensor, kept: int
) -> Entries:
    """The entries of sum_k c_k R^k in the rows ``nodes``."""
    structure, values = matrix
    rows, columns, weights = torch.arange(len(nodes), device=nodes.device), nodes, values.new_ones(len(nodes))
    powers = [(rows, columns, coefficients[0] * weights)]
    for coefficient in coefficients[1:]:
        entries, of_walk = _entries_of(structure, columns)
        share = weights.index_select(0, of_walk) * values.index_select(0, entries)
        reached = structure.indices.index_select(0, entries)
        rows, columns, weights = _added(rows.index_select(0, of_walk), reached, share, structure.shape[1])
        largest, _ = _largest(rows, _rank(weights, nodes[rows], columns), kept)
        largest = largest[weights[largest] > 0]
        rows, columns, weights = rows[largest], columns[largest], weights[largest]
        powers.append((rows, columns, coefficient * weights))
    rows, columns, weights = (torch.cat(tensors) for tensors in zip(*powers, strict=True))
    return _added(rows, columns, weights, structure.shape[1])


def _largest_entries(total: Entries, nodes: Tensor, width: int, *, without_self: bool) -> tuple[Tensor, Tensor]:
    """The columns and weights of the largest entries of every row, (nodes, ``width``) each."""
    rows, columns, weights = total
    is_wanted = weights > 0
    if without_self:
        is_wanted &= columns != nodes[rows]
    rows, columns, weights = rows[is_wanted], columns[is_wanted], weights[is_wanted]
    largest, place = _largest(rows, _rank(weights, nodes[rows], columns), width)
    indices = nodes.int().unsqueeze(1).repeat(1, width)
    indices[rows[largest], place] = columns[largest].int()
    filled = weights.new_zeros(len(nodes), width)
    filled[rows[largest], place] = weights[largest]
    return indices, filled


def _entries_of(structure: SparseStructure, nodes: Tensor) -> tuple[Tensor, Tensor]:
    """The entries in the rows ``nodes`` of the structure, and the position in ``nodes`` of the row of each."""
    starts = structure.indptr.index_select(0, nodes)
    counts = structure.indptr.index_select(0, nodes + 1) - starts
    of_node = torch.repeat_interleave(torch.arange(len(nodes), device=nodes.device), counts)
    shifts = starts - (counts.cumsum(0) - counts)
    return shifts.index_select(0, of_node).add_(torch.arange(len(of_node), device=nodes.device)), of_node


def _added(rows: Tensor, columns: Tensor, weights: Tensor, num_columns: int) -> Entries:
    """The entries with those at one place added up."""
    places, order = (rows * num_columns + columns).sort(stable=True)
    places, counts = places.unique_consecutive(return_counts=True)
    ends = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    total = torch.segment_reduce(weights.index_select(0, order), "sum", offsets=ends, axis=0)
    return places // num_columns, places % num_columns, total


def _rank(weights: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """As ``ranked`` in rows.h: the first bits of the weight, then those of a hash."""
    rounded = (weights.view(torch.long) + 2**31) >> 32
    return (rounded << 32) | _mixed(columns ^ _mixed((rows + 0x9E3779B9) & _32_BITS))


def _mixed(x: Tensor) -> Tensor:
    """As ``mixed`` in rows.h: a permutation of the numbers of 32 bits (lowbias32, Wellons 2018)."""
    x = ((x ^ (x >> 16)) * 0x7FEB352D) & _32_BITS
    x = ((x ^ (x >> 15)) * 0x846CA68B) & _32_BITS
    return x ^ (x >> 16)


def _largest(rows: Tensor, rank: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The positions of the ``count`` entries of highest rank in every row, and the place of each in its row.

    ``rows`` is sorted.
    """
    order = rank.argsort(descending=True)
    order = order[rows[order].argsort(stable=True)]
    place = torch.arange(len(rows), device=rows.device) - torch.searchsorted(rows, rows)
    is_largest = place < count
    return order[is_largest], place[is_largest]
