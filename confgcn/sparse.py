"""A sparse matrix whose structure is fixed and whose values may change from step to step.

It serves both products of a graph network: features times weights (structure: the stored non-zeros of X)
and aggregation over neighbours (structure: the edges, grouped by target).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import scipy.sparse as sp
import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class SparseStructure:
    """Where the entries of a compressed sparse row matrix stand.

    Shapes: ``indptr`` (rows + 1), ``indices`` (entries), sorted and unique within a row.
    """

    indptr: Tensor
    indices: Tensor
    shape: tuple[int, int]

    @property
    def num_entries(self) -> int:
        return self.indices.size(0)

    @cached_property
    def rows(self) -> Tensor:
        """The row of each entry, (entries,)."""
        with torch.inference_mode(False):  # what is kept serves training too
            return self._rows()

    @cached_property
    def transposed(self) -> tuple[SparseStructure, Tensor]:
        """The structure of the transpose, and the order that carries values over to it."""
        numbered = SparseMatrix(self, torch.arange(self.num_entries)).to_scipy()
        columns = numbered.tocsc()  # which counts, and does not sort
        with torch.inference_mode(False):
            indptr, rows, order = (
                torch.from_numpy(part).long() for part in (columns.indptr, columns.indices, columns.data)
            )
        structure = SparseStructure(indptr, rows, (self.shape[1], self.shape[0]))
        return (self if structure.equals(self) else structure), order

    @cached_property
    def mirror(self) -> Tensor | None:
        """The position of entry (j, i) for every entry (i, j), where the structure is symmetric; else None."""
        structure, order = self.transposed
        return order if structure is self else None

    @cached_property
    def without_diagonal(self) -> tuple[SparseStructure, Tensor]:
        """The entries off the diagonal, and their positions among all."""
        with torch.inference_mode(False):
            rows = self._rows()
            entries = (rows != self.indices).nonzero().squeeze(1)
            counts = torch.bincount(rows[entries], minlength=self.shape[0])
            indptr = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
            return SparseStructure(indptr, self.indices[entries], self.shape), entries

    def _rows(self) -> Tensor:
        return torch.repeat_interleave(torch.arange(self.shape[0]), self.indptr.diff())

    def with_ones(self) -> SparseMatrix:
        """One at every entry, in double precision."""
        return SparseMatrix(self, torch.ones(self.num_entries, dtype=torch.double))

    def equals(self, other: SparseStructure) -> bool:
        """Have both the same entries?"""
        same_rows = self.shape == other.shape and torch.equal(self.indptr, other.indptr)
        return same_rows and torch.equal(self.indices, other.indices)

    def at_rows(self, rows: Tensor) -> tuple[SparseStructure, Tensor]:
        """The structure of these rows alone, and the positions of its entries among all."""
        starts, counts = self.indptr[rows], self.indptr[rows + 1] - self.indptr[rows]
        indptr = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
        entries = torch.arange(int(indptr[-1])) + torch.repeat_interleave(starts - indptr[:-1], counts)
        return SparseStructure(indptr, self.indices[entries], (len(rows), self.shape[1])), entries

    def at_columns(self, columns: Tensor) -> SparseStructure:
        """The structure over these columns alone, which are sorted and hold every entry."""
        number = torch.empty(self.shape[1], dtype=torch.long)
        number[columns] = torch.arange(len(columns))
        return SparseStructure(self.indptr, number[self.indices], (self.shape[0], len(columns)))


@dataclass(frozen=True, eq=False)
class SparseMatrix:
    """Sparse features: a structure and the value of each entry. Never made dense."""

    structure: SparseStructure
    values: Tensor

    @property
    def shape(self) -> tuple[int, int]:
        return self.structure.shape

    def with_values(self, values: Tensor) -> SparseMatrix:
        """The same structure with other values."""
        return SparseMatrix(self.structure, values)

    def to_scipy(self) -> sp.csr_array:
        """The same matrix for scipy's solvers."""
        places = self.structure.indices.numpy(), self.structure.indptr.numpy()
        return sp.csr_array((self.values.numpy(), *places), shape=self.shape)

    def at_rows(self, rows: Tensor) -> SparseMatrix:
        """These rows alone."""
        structure, entries = self.structure.at_rows(rows)
        return SparseMatrix(structure, self.values[entries])

    def row_sums(self) -> Tensor:
        """The sum of each row, (rows,)."""
        return self.values.new_zeros(self.shape[0]).index_add_(0, self.structure.rows, self.values)


def rows_of(features: Tensor | SparseMatrix, nodes: Tensor) -> Tensor | SparseMatrix:
    """The features of these nodes, which may be named more than once."""
    return features.at_rows(nodes) if isinstance(features, SparseMatrix) else features.index_select(0, nodes)
