"""For every node the nodes with the largest influence on it: the rows of a sum of powers of a propagation matrix.

Propagated features are sums over these few nodes, so that a training step costs the same on a graph of any size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from confgcn.exceptions import CorruptFileError, UsageError
from confgcn.io.blocks import blocks_of_rows
from confgcn.io.mapped_arrays import map_arrays, write_arrays
from confgcn.kernels import kernels_for
from confgcn.sparse import SparseMatrix, SparseStructure

ARRAYS = ("indices", "weights")
WEIGHT_TYPES = (np.float32, np.float64)

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class PropagationRows:
    """The largest entries of the rows of Pi = sum_k c_k R^k.

    Shapes: ``indices`` (N, width), int32: node u of each entry of row v; ``weights`` (N, width): Pi_vu, in descending
    order. A row with fewer entries is filled with v itself at weight 0.
    """

    indices: Tensor
    weights: Tensor

    @classmethod
    def build(
        cls,
        structure: SparseStructure,
        values: Tensor,
        coefficients: Sequence[float],
        *,
        width: int = 32,
        kept: int = 128,
        without_self: bool = False,
        folder: Path | None = None,
    ) -> PropagationRows:
        """Compute the rows from the matrix R (N, N) of these non-negative values.

        Args:
            coefficients: c_0 .. c_K, not negative.
            width: the number of entries of a row, the largest.
            kept: the most entries of a row of R^k that are carried on to R^(k+1), the largest. Weights that agree in
                20 bits count as equal; a hash of row and column decides between them.
            without_self: leave the diagonal of the sum out; the powers of R include it.
            folder: write the rows there block by block and map them, for tables that do not fit in memory.
        """
        _check_matrix(structure, values, coefficients, width, kept)
        kernels, count = kernels_for(values), structure.shape[0]

        def blocks() -> Iterator[tuple[slice, Tensor, Tensor]]:
            for rows in blocks_of_rows(count, max(width, kept)):
                nodes = range(rows.start, rows.stop)
                indices, weights = kernels.propagation_rows(
                    structure, values, coefficients, nodes, width=width, kept=kept, without_self=without_self
                )
                yield rows, indices, weights

        if folder is not None:
            pairs = ((indices.cpu().numpy(), weights.cpu().numpy()) for _, indices, weights in blocks())
            write_arrays(folder, count, (dict(zip(ARRAYS, pair, strict=True)) for pair in pairs))
            return cls.read(folder)
        table = cls(values.new_empty(count, width, dtype=torch.int32), values.new_empty(count, width))
        for rows, indices, weights in blocks():
            table.indices[rows], table.weights[rows] = indices, weights
        return table

    def of(self, nodes: Tensor) -> PropagationRows:
        """The rows of these nodes, which may occur more than once."""
        return PropagationRows(self.indices.index_select(0, nodes), self.weights.index_select(0, nodes))

    def view(self, size: int) -> PropagationRows:
        """Random rows: ``size`` nodes of each row, drawn with probabilities in proportion to the weights.

        A node that is drawn several times has several entries of weight 1 / ``size``; a row of zeros stays zero. The
        mean of a view is the normalised row.
        """
        cumulative = self.weights.cumsum(1)
        total = cumulative[:, -1:].contiguous()
        drawn = total * torch.rand(len(total), size, dtype=total.dtype).to(total.device)
        entries = torch.searchsorted(cumulative, drawn, right=True).clamp_(max=cumulative.shape[1] - 1)
        weights = ((total > 0).to(total.dtype) / size).expand(-1, size)
        return PropagationRows(self.indices.gather(1, entries), weights)

    def normalised(self) -> PropagationRows:
        """Rows divided by their sums; a row of zeros stays zero."""
        sums = self.weights.sum(1, keepdim=True)
        return PropagationRows(self.indices, self.weights / sums.masked_fill_(sums == 0, 1.0))

    def features(self, features: Tensor | SparseMatrix, *, unit_length: bool = False) -> Tensor | SparseMatrix:
        """The propagated features sum_u Pi_vu x_u, (N, F), sparse if ``features`` are.

        ``unit_length``: rows are scaled to Euclidean length one; a row of zeros stays zero.
        """
        if not isinstance(features, SparseMatrix):
            weights = self.weights.to(features.dtype)
            sums = functional.embedding_bag(self.indices, features, per_sample_weights=weights, mode="sum")
            return functional.normalize(sums, eps=torch.finfo(sums.dtype).tiny) if unit_length else sums
        weights = self.weights.to(features.values.dtype)
        indptr, indices, values = kernels_for(weights).sum_feature_rows(
            features.structure, features.values, self.indices, weights, unit_length=unit_length
        )
        return SparseMatrix(SparseStructure(indptr, indices, (len(weights), features.shape[1])), values)

    def write(self, folder: Path) -> None:
        """Write the rows into a folder, completely or not at all, with checksums."""
        count, width = self.indices.shape
        tensors = self.indices.cpu(), self.weights.cpu()
        blocks = (
            {name: tensor[rows].numpy() for name, tensor in zip(ARRAYS, tensors, strict=True)}
            for rows in blocks_of_rows(count, width)
        )
        write_arrays(folder, count, blocks)

    @classmethod
    def read(cls, folder: Path) -> PropagationRows:
        """Verify and map what :meth:`write` or :meth:`build` wrote; a page is loaded when it is used."""
        arrays = map_arrays(folder, ARRAYS)
        _check_arrays(folder, **arrays)
        return cls(*(torch.from_numpy(arrays[name]) for name in ARRAYS))


def with_bounded_rows(structure: SparseStructure, values: Tensor, most: int) -> tuple[SparseStructure, Tensor]:
    """The matrix with at most so many entries in a row, the largest; equal ones are chosen at random, always the same.

    A shortened row is scaled to its former sum. Without it, every row near a node of very many neighbours would visit
    all of them. Shapes: ``values`` (E,).
    """
    counts = structure.indptr.diff()
    long_rows = (counts > most).nonzero().squeeze(1).tolist()
    if not long_rows:
        return structure, values
    is_kept, scaled = torch.ones(len(values), dtype=torch.bool, device=values.device), values.clone()
    generator = torch.Generator().manual_seed(0)
    for row in long_rows:
        first, last = int(structure.indptr[row]), int(structure.indptr[row + 1])
        shuffled = torch.randperm(last - first, generator=generator).to(values.device)
        order = shuffled[values[first:last][shuffled].argsort(descending=True, stable=True)][:most]
        total, kept = values[first:last].sum(), values[first:last][order]
        is_kept[first:last] = False
        is_kept[first + order] = True
        scaled[first + order] = kept * (total / kept.sum().clamp(min=torch.finfo(values.dtype).tiny))
    counts = counts.clamp(max=most)
    indptr = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    return SparseStructure(indptr, structure.indices[is_kept], structure.shape), scaled[is_kept]


def _check_arrays(folder: Path, indices: Array, weights: Array) -> None:
    """Check what was read: a node outside of the table would be read from other memory."""
    is_table = indices.ndim == 2 and indices.size > 0 and indices.dtype == np.int32 and weights.dtype in WEIGHT_TYPES
    if not is_table or indices.shape != weights.shape:
        found = f"indices {indices.dtype} {indices.shape}, weights {weights.dtype} {weights.shape}"
        raise CorruptFileError(f"{folder}: expected int32 indices and weights of one shape, found {found}")
    if indices.min() < 0 or indices.max() >= len(indices):
        raise CorruptFileError(f"{folder}: expected nodes from 0 to {len(indices) - 1}, found others")
    if not (weights.min() >= 0 and weights.max() < math.inf):  # also for numbers that are none
        raise CorruptFileError(f"{folder}: expected finite weights of at least 0, found others")


def _check_matrix(
    structure: SparseStructure, values: Tensor, coefficients: Sequence[float], width: int, kept: int
) -> None:
    rows, columns = structure.shape
    if rows != columns or values.shape != (structure.num_entries,):
        expected = f"a square matrix with one value for each of its {structure.num_entries} entries"
        raise UsageError(f"propagation rows: expected {expected}, got {structure.shape} and {tuple(values.shape)}")
    if width < 1 or kept < 1:
        raise UsageError(f"propagation rows: expected width and kept of at least 1, got {width} and {kept}")
    if not len(coefficients) or not all(0 <= number < math.inf for number in coefficients):
        raise UsageError(f"propagation rows: expected non-negative coefficients, got {list(coefficients)}")
    if values.numel() and not (values.min() >= 0 and values.max() < math.inf):
        lowest, highest = float(values.min()), float(values.max())
        raise UsageError(f"propagation rows: expected finite values of at least 0, got {lowest} to {highest}")
